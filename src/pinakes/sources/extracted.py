"""What is got out of a file: its text, and what it says of itself."""

import codecs
import re
from dataclasses import dataclass

from pinakes.errors import InputError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BROKEN = re.compile(r"[\x00\ud800-\udfff]")
_BINARY_LOOKED_AT = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The text of a file, with headings as Markdown has them, and its title and tags where the file states them."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


def decode(content: bytes, *, declared: str = "") -> str:
    """Return bytes as text with plain line ends: by its mark, as UTF-8, as declared, else as Windows wrote it."""
    marked = next((encoding for bom, encoding in _BOMS if content.startswith(bom)), None)
    if marked is None and b"\0" in content[:_BINARY_LOOKED_AT]:
        raise InputError("it is not a text: there are zero bytes in it")
    text = content.decode(marked, errors="replace") if marked else _decoded(content, declared)
    return _BROKEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _decoded(content: bytes, declared: str) -> str:
    for encoding in filter(None, ("utf-8", declared)):
        try:
            return content.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return content.decode("cp1252", errors="replace")
