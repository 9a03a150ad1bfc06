"""Files → text: which formats are read and by what, and how bytes become text."""

import codecs
import importlib
import re
from dataclasses import dataclass
from pathlib import PurePath

from pinakes.errors import InputError

FORMATS = {
    "markdown": ("pinakes.sources.markdown_text", "read_markdown", (".md", ".markdown", ".mdown", ".mkd")),
    "text": ("pinakes.sources.markdown_text", "read_text", (".txt", ".text")),
    "html": ("pinakes.sources.html_text", "read_html", (".html", ".htm", ".xhtml")),
    "pdf": ("pinakes.sources.pdf_text", "read_pdf", (".pdf",)),
    "docx": ("pinakes.sources.docx_text", "read_docx", (".docx",)),
}
"""Format → the module and function that read it, and its file suffixes; a module is loaded on first use."""

_FORMAT_OF = {suffix: name for name, (_, _, suffixes) in FORMATS.items() for suffix in suffixes}
KINDS = ", ".join(_FORMAT_OF)
"""The supported suffixes, for messages."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BROKEN = re.compile(r"[\x00\ud800-\udfff]")
_BINARY_LOOKED_AT = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The text of a file, with Markdown headings, and the title and tags that the file states."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


def find_format(path: PurePath) -> str | None:
    """Return the format of a file by its suffix; None where it is not supported."""
    return _FORMAT_OF.get(path.suffix.lower())


def extract(content: bytes, file_format: str) -> Extracted:
    """Return the text of a file; refuse a damaged file and one without text."""
    module, function, _ = FORMATS[file_format]
    extracted: Extracted = getattr(importlib.import_module(module), function)(content)
    if not extracted.text.strip():
        raise InputError("the file has no text")
    return extracted


def decode(content: bytes, *, declared: str = "") -> str:
    """Decode bytes by their BOM, as UTF-8, as declared, or else as Windows-1252; line ends become newlines."""
    marked = next((encoding for bom, encoding in _BOMS if content.startswith(bom)), None)
    if marked is None and b"\0" in content[:_BINARY_LOOKED_AT]:
        raise InputError("not a text file: it has NUL bytes")
    text = content.decode(marked, errors="replace") if marked else _decoded(content, declared)
    return _BROKEN.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _decoded(content: bytes, declared: str) -> str:
    for encoding in filter(None, ("utf-8", declared)):
        try:
            return content.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return content.decode("cp1252", errors="replace")
