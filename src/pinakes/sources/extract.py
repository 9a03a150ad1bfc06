"""Files → text: which formats are read, and by what."""

import importlib
from dataclasses import dataclass
from pathlib import PurePath

from pinakes.errors import InputError

FORMATS = {
    "markdown": (
        "pinakes.sources.markdown_text",
        "read_markdown",
        (".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd"),
    ),
    "mdx": ("pinakes.sources.markup_text", "read_mdx", (".mdx",)),
    "text": ("pinakes.sources.markdown_text", "read_text", (".txt", ".text")),
    "rst": ("pinakes.sources.markup_text", "read_rst", (".rst", ".rest")),
    "org": ("pinakes.sources.markup_text", "read_org", (".org",)),
    "asciidoc": ("pinakes.sources.markup_text", "read_asciidoc", (".adoc", ".asciidoc")),
    "latex": ("pinakes.sources.tex_text", "read_tex", (".tex", ".latex")),
    "rtf": ("pinakes.sources.rtf_text", "read_rtf", (".rtf",)),
    "html": ("pinakes.sources.html_text", "read_html", (".html", ".htm", ".xhtml")),
    "pdf": ("pinakes.sources.pdf_text", "read_pdf", (".pdf",)),
    "docx": ("pinakes.sources.docx_text", "read_docx", (".docx",)),
}
"""Format → the module and function that read it, and its file suffixes; a module is loaded on first use."""

_FORMAT_OF = {suffix: name for name, (_, _, suffixes) in FORMATS.items() for suffix in suffixes}
KINDS = ", ".join(_FORMAT_OF)
"""The supported suffixes, for messages."""
NAMES = frozenset({"readme", "changelog", "changes", "contributing", "history", "install", "news", "notes", "todo"})
"""Names of files that are text although they have no suffix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The text of a file, with Markdown headings, and the title and tags that the file states."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


def find_format(path: PurePath) -> str | None:
    """Return the format of a file by its suffix, or by its name without one; None where it is not supported."""
    if not path.suffix and path.name.lower() in NAMES:
        return "text"
    return _FORMAT_OF.get(path.suffix.lower())


def extract(content: bytes, file_format: str) -> Extracted:
    """Return the text of a file; refuse a damaged file and one without text."""
    module, function, _ = FORMATS[file_format]
    extracted: Extracted = getattr(importlib.import_module(module), function)(content)
    if not extracted.text.strip():
        raise InputError("the file has no text")
    return extracted
