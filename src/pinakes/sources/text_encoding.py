"""Bytes → text: by a byte order mark, as UTF-8, as declared, as Japanese, or as Windows-1252; others are refused."""

import codecs
import re

from pinakes.errors import InputError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
JAPANESE = ("cp932", "euc_jp")
"""Shift-JIS as Windows writes it, and EUC-JP."""

LEAST_KANA = 0.2
"""The share of kana among the letters other than ASCII above which a text is Japanese."""

MOST_ACCENTED = 0.4
FEW_ACCENTED = 8
"""A text with more bytes above ASCII than this share, and than this number, is in no Western European language."""

_BROKEN = re.compile(r"[\x00\ud800-\udfff]")
_KANA = re.compile(r"[\u3041-\u30ff]")
_PRIVATE_USE = re.compile(r"[\ue000-\uf8ff]")
_ABOVE_ASCII = re.compile(r"[^\x00-\x7f]")
_BYTES_ABOVE_ASCII = re.compile(rb"[\x80-\xff]")
_BINARY_LOOKED_AT = 8_192
_ISO_2022_JP = b"\x1b$"


def decode(content: bytes, *, declared: str = "") -> str:
    """Decode bytes; line ends become newlines. Refuse what is no text, and text of an unknown encoding."""
    marked = next((encoding for bom, encoding in _BOMS if content.startswith(bom)), None)
    if marked is None and b"\0" in content[:_BINARY_LOOKED_AT]:
        raise InputError("not a text file: it has NUL bytes")
    text = content.decode(marked, errors="replace") if marked else _decoded(content, declared)
    return _BROKEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _decoded(content: bytes, declared: str) -> str:
    if _ISO_2022_JP in content and (text := _find_text(content, "iso2022_jp")) is not None:
        return text
    for encoding in filter(None, ("utf-8", declared)):
        if (text := _find_text(content, encoding)) is not None:
            return text
    for encoding in JAPANESE:
        text = _find_text(content, encoding)
        if text is not None and _is_japanese(text):
            return text
    _require_western(content)
    return content.decode("cp1252", errors="replace")


def _find_text(content: bytes, encoding: str) -> str | None:
    """Return the text in an encoding; None where the bytes are not of it, or where there is no such encoding."""
    try:
        return content.decode(encoding)
    except (UnicodeError, LookupError):
        return None


def _is_japanese(text: str) -> bool:
    letters = len(_ABOVE_ASCII.findall(text))
    return len(_KANA.findall(text)) > LEAST_KANA * letters and not _PRIVATE_USE.search(text)


def _require_western(content: bytes) -> None:
    """Refuse bytes that would be gibberish as Windows-1252: most of them are no ASCII."""
    above = len(_BYTES_ABOVE_ASCII.findall(content))
    if above > FEW_ACCENTED and above > MOST_ACCENTED * len(content.translate(None, b" \t\r\n")):
        raise InputError("the text is not UTF-8, and its encoding is not known; save it as UTF-8")
