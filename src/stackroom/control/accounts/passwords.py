"""Rules for passwords, and their hashing by argon2id: a few at a time, and equally long for unknown
users.
"""

import importlib.resources
import re
import threading
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from stackroom.errors import InputError

SHORTEST = 8
LONGEST = 1024
HASHER = PasswordHasher(memory_cost=19_456, time_cost=2, parallelism=1)
# each hash takes 19 MiB and a core; more at once would make all of them slow
AT_ONCE = threading.BoundedSemaphore(4)
UNMATCHED_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$aVp8dp2BvvSkhIRfM6FQNQ"
    "$nzDJPYQBzUxt0eDJ4MU3vb0FWK/UhKwbFqoFYbvd/cs"
)
"""A hash that no known password matches; compared if a user does not exist or has no password."""
COMMON = "common_passwords.txt"
SERVICE = "stackroom"
BETTER = "choose another, such as a few words that do not belong together"
_ENDING = re.compile(r"[\W\d_]+$")


def require_good_password(text: str, *, user_name: str) -> None:
    """Refuse a password that is too short, too long, blank, common, or the name of the user or of
    this service.

    Digits and marks at the end make no difference. Nothing is asked about the kinds of characters
    (NIST SP 800-63B).
    """
    if not SHORTEST <= len(text) <= LONGEST or not text.strip():
        raise InputError(
            f"'password' must have {SHORTEST} to {LONGEST:,} characters, and not only spaces"
        )
    folded = _folded(text.strip())
    forms = frozenset({folded, _ENDING.sub("", folded)})
    if forms & {_folded(user_name), SERVICE}:
        raise InputError(f"'password' is a name that anybody would try first: {BETTER}")
    if forms & load_common_passwords() or len(set(text)) == 1:
        raise InputError(f"'password' is one of the most common passwords: {BETTER}")


@cache
def load_common_passwords() -> frozenset[str]:
    """Return the most common passwords of a possible length, in lower case."""
    text = (importlib.resources.files(__package__) / COMMON).read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("# "))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def hash_password(text: str) -> str:
    """Return the hash that is stored in place of a password."""
    with AT_ONCE:
        return HASHER.hash(_bytes(text))


def verify_password(stored: str | None, text: str) -> bool:
    """Tell whether a password matches a stored hash; takes the same time without a hash."""
    with AT_ONCE:
        try:
            HASHER.verify(stored or UNMATCHED_HASH, _bytes(text[:LONGEST]))
        except (VerificationError, InvalidHashError):
            return False
    return stored is not None and len(text) <= LONGEST


def _bytes(text: str) -> bytes:
    """Return the normalised bytes of a password, the same however its accents were typed."""
    return unicodedata.normalize("NFKC", text).encode("utf-8", "surrogatepass")
