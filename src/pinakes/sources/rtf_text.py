"""RTF → text: paragraphs, without fonts, colours, pictures and other destinations that are not read."""

import re

from pinakes.errors import InputError
from pinakes.sources.extract import Extracted

_TOKEN = re.compile(
    rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.IGNORECASE
)
_SILENT = frozenset(
    {
        *(b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pict", b"object", b"header", b"footer", b"footnote"),
        *(b"headerl", b"headerr", b"footerl", b"footerr", b"fldinst", b"listtable", b"listoverridetable", b"themedata"),
        *(b"generator", b"datastore", b"latentstyles", b"xmlnstbl", b"rsidtbl"),
    }
)
"""Destinations whose text is not part of what the document says."""

_SIGNS = {
    **{b"par": "\n\n", b"sect": "\n\n", b"page": "\n\n", b"line": "\n", b"row": "\n", b"cell": " | ", b"tab": "\t"},
    **{b"emdash": "—", b"endash": "–", b"bullet": "•", b"lquote": "‘", b"rquote": "’"},
    **{b"ldblquote": "“", b"rdblquote": "”", b"emspace": " ", b"enspace": " "},
}
_ESCAPED = {b"~": "\u00a0", b"_": "-", b"\n": "\n\n", b"\r": "\n\n"}
_CODEPAGES = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_BLANK_LINES = re.compile(r"\n{3,}")


def read_rtf(content: bytes) -> Extracted:
    """Return the text of a document; refuse what is no RTF."""
    if not content.lstrip().startswith(b"{\\rtf"):
        raise InputError("not an RTF file: it does not begin with {\\rtf")
    reader = _Reader()
    for token in _TOKEN.finditer(content):
        reader.read(token)
    return Extracted(text=_BLANK_LINES.sub("\n\n", reader.text()).strip() + "\n")


class _Reader:
    """Collects text; `_groups` has the state to return to at the end of each open group."""

    def __init__(self) -> None:
        self._groups: list[tuple[bool, int]] = []
        self._is_silent = False
        self._fallback_chars = 1
        self._skip = 0
        self._codepage = "cp1252"
        self._parts: list[str] = []
        self._bytes = bytearray()

    def text(self) -> str:
        """Return what was collected."""
        self._flush()
        return "".join(self._parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def read(self, token: re.Match[bytes]) -> None:
        """Take a control word, a character, a brace, or plain text."""
        word, number, code, escaped, brace, plain = token.groups()
        if brace is not None:
            self._read_brace(brace)
        elif word is not None:
            self._read_word(word, None if number is None else int(number))
        elif code is not None:
            self._add_bytes(bytes([int(code, 16)]))
        elif escaped == b"*":
            self._is_silent = True
        elif escaped is not None:
            self._add(_ESCAPED.get(escaped, escaped.decode("latin-1") if escaped in b"{}\\" else ""))
        elif plain is not None:
            self._add_bytes(plain)

    def _read_brace(self, brace: bytes) -> None:
        if brace == b"{":
            self._groups.append((self._is_silent, self._fallback_chars))
        elif self._groups:
            self._is_silent, self._fallback_chars = self._groups.pop()
        self._skip = 0

    def _read_word(self, word: bytes, number: int | None) -> None:
        if word == b"u" and number is not None:
            self._add(chr(number % 0x10000))
            self._skip = self._fallback_chars
        elif word == b"uc" and number is not None:
            self._fallback_chars = max(number, 0)
        elif word == b"ansicpg" and number:
            self._codepage = f"cp{number}"
        elif word in _CODEPAGES:
            self._codepage = _CODEPAGES[word]
        elif word in _SILENT:
            self._is_silent = True
        elif word in _SIGNS:
            self._add(_SIGNS[word])

    def _add_bytes(self, content: bytes) -> None:
        skipped = min(self._skip, len(content))
        self._skip -= skipped
        if not self._is_silent:
            self._bytes += content[skipped:]

    def _add(self, text: str) -> None:
        if not self._is_silent:
            self._flush()
            self._parts.append(text)

    def _flush(self) -> None:
        try:
            self._parts.append(self._bytes.decode(self._codepage, errors="replace"))
        except LookupError:
            self._parts.append(self._bytes.decode("cp1252", errors="replace"))
        self._bytes.clear()
