"""Disguises of letters, removed: case, accents, styled letters, letters of other scripts, invisible characters.

For comparison with known phrases alone; it is neither shown nor stored.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple


class Undisguised(NamedTuple):
    """A text in plain letters, and the same before marks and invisible characters were left out of it."""

    text: str
    full: str

    def places(self) -> Sequence[int]:
        """Return where each character of the text is in the original."""
        if len(self.text) == len(self.full):
            return range(len(self.full))
        return [place for place, one in enumerate(self.full) if one not in _LEFT_OUT]


def undisguise(text: str) -> Undisguised:
    """Return a text in lower case and plain letters, with blanks for line ends, quotes and dashes."""
    lowered = text.replace("\u0130", "I").lower().replace("\n", " ").replace("\t", " ").replace("'", " ")
    if lowered.isascii():
        return Undisguised(lowered, lowered)
    # By the few different characters beyond ASCII: much faster than an expression over the whole text.
    rare = set(lowered.encode("utf-8", "ignore").translate(None, _ASCII).decode())
    for one in rare & _plain_letters().keys():
        lowered = lowered.replace(one, _plain_letters()[one])
    if not rare.isdisjoint(_LOOK_ALIKE_SET) and _MIXED.search(lowered):
        lowered = _WORD.sub(_in_one_script, lowered)
    shown = lowered
    for one in rare & _LEFT_OUT:
        shown = shown.replace(one, "")
    return Undisguised(shown, lowered)


class Squeezed(NamedTuple):
    """The ASCII letters of a text, with letters for the digits and signs that look like them."""

    text: str
    full: str

    def places(self) -> Sequence[int]:
        """Return where each letter is in the text."""
        return [place for place, one in enumerate(self.full) if one.isascii() and ord(one) not in _SIGN_SET]


def squeeze(text: str) -> Squeezed:
    """Return the letters of an undisguised text without what separates them; NUL stays."""
    return Squeezed(text.encode("ascii", "ignore").translate(_LEET, _SIGNS).decode(), text)


def _in_one_script(word: re.Match[str]) -> str:
    return word[0].translate(_LOOK_ALIKES) if _MIXED.search(word[0]) else word[0]


@cache
def _plain_letters() -> Mapping[str, str]:
    """Return the plain form of each accented or styled letter, where it is one character, and a blank for quotes."""
    decomposed = {chr(one): _bare(chr(one)) for some in _STYLED for one in some}
    plain = {**decomposed, **_SQUARED, **_SMALL_CAPITALS, **dict.fromkeys(_QUOTES, " ")}
    return {styled: letter for styled, letter in plain.items() if len(letter) == 1 and letter != styled}


def _bare(letter: str) -> str:
    decomposed = unicodedata.normalize("NFKD", letter)
    return "".join(one for one in decomposed if not unicodedata.combining(one)).lower()


_ASCII = bytes(range(128))
_STYLED = (
    range(0xC0, 0x250),  # accented Latin letters
    range(0x1E00, 0x1F00),
    (0x401, 0x451),
    range(0x2B0, 0x2B9),  # raised, circled, full-width and mathematical letters
    range(0x1D2C, 0x1D6B),
    range(0x2070, 0x20A0),
    range(0x2100, 0x2150),
    range(0x24B6, 0x24EA),
    range(0xFF01, 0xFF5F),
    range(0x1D400, 0x1D800),
)
_SQUARED = {
    chr(first + place): chr(ord("a") + place) for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6) for place in range(26)
}
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True))
_QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u2013\u2014\u2026\u00a0\u00bf\u00a1\u3000"
_LEFT_OUT_RANGES = (
    (0xAD, 0xFEFF),
    range(0x300, 0x370),
    range(0x1AB0, 0x1B00),
    range(0x200B, 0x2010),
    range(0x2060, 0x2065),
    range(0x20D0, 0x2100),
    range(0xFE00, 0xFE10),
)
_LEFT_OUT = frozenset(chr(one) for some in _LEFT_OUT_RANGES for one in some)
"""Marks over letters, and invisible characters."""
_LOOK_ALIKES = str.maketrans("аеорсухіїјѕԁԛԝгпкмтвнһӏαβεικνορτυχγω", "aeopcyxiijsdqwrnkmtbhhlabeiknoptuxyw")
"""Cyrillic and Greek letters that look like Latin ones; replaced in words that have Latin letters too."""
_LOOK_ALIKE_SET = frozenset(map(chr, _LOOK_ALIKES))
_MIXED = re.compile(r"[a-z][\u0370-\u03ff\u0400-\u052f]|[\u0370-\u03ff\u0400-\u052f][a-z]")
_WORD = re.compile(r"\w+")

_LEET = bytes.maketrans(b"0134578@$|", b"oieastbasi")
_SIGNS = bytes(one for one in range(1, 128) if not chr(one).isalnum() and chr(one) not in "@$|")
_SIGN_SET = frozenset(_SIGNS)
