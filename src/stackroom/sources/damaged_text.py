"""Text that was damaged before it came here, by a program that read it in another encoding: `cafÃ©`, `â€™`, `√©`.

It is remarked and kept as it is: what it was cannot be told with certainty.
"""

import re
from collections.abc import Iterable
from typing import Any

DAMAGED = "text that was damaged before, kept as it is"
"""What the ledger calls such cells."""
AROUND = 20


def _read_as(encoding: str, first: int, last: int) -> str:
    """Return the characters that these bytes are in an encoding."""
    return re.escape(bytes(range(first, last + 1)).decode(encoding, errors="ignore"))


WESTERN = f"\x80-\x9f¡-¬®-¿{_read_as('cp1252', 0x80, 0x9F)}"
QUOTES = "‘’“”–—…"
MAC = _read_as("mac_roman", 0x80, 0xBF)
PATTERN = re.compile(
    rf"[ÂÃ](?:(?![{QUOTES}])[{WESTERN}]|[{QUOTES}](?=\w))"  # UTF-8 as Windows-1252
    rf"|â(?:€|\x80)[{WESTERN}]"
    rf"|(?<=[a-zA-Z])√[{MAC}]|√[{MAC}](?=[a-zA-Z])|‚Ä[{MAC}]"  # UTF-8 as MacRoman
    r"|\bÒ\w[^ÒÓ]{0,200}Ó(?!\w)|(?<=[a-z])Õ(?=(?:s|t|re|ll|ve|d|m)\b)"  # MacRoman as Windows-1252
)
FIRST = re.compile("[ÂÃâ√‚ÒÕ]")


def may_be_damaged(cells: Iterable[Any]) -> bool:
    """Tell, of all cells of a row at once, whether one has a character that damage begins with."""
    text = "\n".join([cell for cell in cells if type(cell) is str])
    return not text.isascii() and FIRST.search(text) is not None


def find_damage(text: str) -> str:
    """Return a damaged part of a text, with a few characters around it; empty if there is none."""
    found = PATTERN.search(text)
    return text[max(0, found.start() - AROUND) : found.start() + AROUND].strip() if found else ""
