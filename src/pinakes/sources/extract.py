"""Files → text: which kinds are read, and by what."""

import importlib
from pathlib import PurePath

from pinakes.errors import InputError
from pinakes.sources.extracted import Extracted

FORMATS = {
    "markdown": ("pinakes.sources.markdown_text", "read_markdown", (".md", ".markdown", ".mdown", ".mkd")),
    "text": ("pinakes.sources.markdown_text", "read_text", (".txt", ".text")),
    "html": ("pinakes.sources.html_text", "read_html", (".html", ".htm", ".xhtml")),
    "pdf": ("pinakes.sources.pdf_text", "read_pdf", (".pdf",)),
    "docx": ("pinakes.sources.docx_text", "read_docx", (".docx",)),
}
"""Format → the module and function that read it, and the endings of its files; a module is loaded when it is needed."""

_FORMAT_OF = {suffix: name for name, (_, _, suffixes) in FORMATS.items() for suffix in suffixes}
KINDS = ", ".join(_FORMAT_OF)
"""The endings that are read, for messages."""


def find_format(path: PurePath) -> str | None:
    """Return the format of a file by its ending; None where it is not one that is read."""
    return _FORMAT_OF.get(path.suffix.lower())


def extract(content: bytes, file_format: str) -> Extracted:
    """Return the text of a file, or refuse one that is damaged or has none."""
    module, function, _ = FORMATS[file_format]
    extracted: Extracted = getattr(importlib.import_module(module), function)(content)
    if not extracted.text.strip():
        raise InputError("there is no text in it")
    return extracted
