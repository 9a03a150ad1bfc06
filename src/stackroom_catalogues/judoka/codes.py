"""Card codes: `JDKN-7Q2M-X4WE-RTYC`.

The alphabet has 32 letters, without I, O, 0 and 1, which are taken for each other. A card that comes with a code keeps
it, whatever its form. One that comes without gets four blocks of four:

- `JDKN`, by which such a code is known;
- eleven letters of the SHA-256 of the card's id, first name and surname, so that a card keeps its code when its stats
  change, and the same file gives the same codes everywhere;
- a check letter: the sum of the fifteen letters before it, each times an odd number (1, 3, 5, …), modulo 32. Any one
  wrong letter changes it, and so do nearly all swaps of two neighbours.

Case, dashes and blanks do not matter when a code is read.
"""

import hashlib
import re
from dataclasses import dataclass

ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
PREFIX = "JDKN"
DIGEST_LETTERS = 11
CODE_LETTERS = len(PREFIX) + DIGEST_LETTERS + 1
BLOCK = 4
MAX_LETTERS = 128
_SEPARATORS = re.compile(r"[\s\-‐‑‒–—_.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeForm:
    """The check of a code by its letters alone. `has_right_check` is None where it has no check letter."""

    is_well_formed: bool
    has_right_check: bool | None
    problem: str | None


def code_key(code: str) -> str:
    """Return a code's letters and digits in upper case, the form for comparison."""
    return _SEPARATORS.sub("", code).upper()


def build_code(identity: str) -> str:
    """Return a generated code for a card without one."""
    number = int.from_bytes(hashlib.sha256(identity.encode("utf-8", "replace")).digest(), "big")
    digest = "".join(ALPHABET[(number >> (5 * place)) % len(ALPHABET)] for place in range(DIGEST_LETTERS))
    return in_blocks(with_check(PREFIX + digest))


def with_check(letters: str) -> str:
    """Return the letters with their check letter."""
    total = sum((2 * place + 1) * ALPHABET.index(letter) for place, letter in enumerate(letters))
    return letters + ALPHABET[total % len(ALPHABET)]


def in_blocks(letters: str) -> str:
    """Return the letters in blocks of four."""
    return "-".join(letters[start : start + BLOCK] for start in range(0, len(letters), BLOCK))


def check_code(code: str) -> CodeForm:
    """Say whether a code has the form of one, and whether its check letter is right where it has one."""
    letters = code_key(code)
    if not letters or len(letters) > MAX_LETTERS:
        return _malformed(f"a code has 1 to {MAX_LETTERS} letters")
    strange = sorted(set(letters) - set(ALPHABET))
    if strange:
        return _malformed(f"a code has no {' '.join(strange)}; its letters are {ALPHABET}")
    if not letters.startswith(PREFIX):
        return CodeForm(is_well_formed=True, has_right_check=None, problem=None)
    if len(letters) != CODE_LETTERS:
        return _malformed(f"a code that begins with {PREFIX} has {CODE_LETTERS} letters, not {len(letters)}")
    is_right = with_check(letters[:-1]) == letters
    problem = None if is_right else "its last letter does not fit the others; a letter is wrong"
    return CodeForm(is_well_formed=True, has_right_check=is_right, problem=problem)


def _malformed(problem: str) -> CodeForm:
    return CodeForm(is_well_formed=False, has_right_check=None, problem=problem)
