"""PDF → text, by pypdf. A page begins with a form feed; a PDF has no headings that could be relied on."""

import io
import logging
import struct
import zlib

import pypdf
from pypdf.errors import DependencyError, PyPdfError

from pinakes.errors import InputError
from pinakes.sources.extract import Extracted

FAULTS = (
    *(PyPdfError, DependencyError, zlib.error, struct.error, OSError, RuntimeError, AssertionError),
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
)
"""What the library raises over damaged files; all of it is the file's fault."""

_MACHINE_TITLES = ("microsoft word", "untitled")


def read_pdf(content: bytes) -> Extracted:
    """Return the text of a PDF, or refuse one that is damaged, locked, or has pictures only."""
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity of a file that it reads well
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        is_locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if is_locked else [_page_text(page) for page in reader.pages]
        title = "" if is_locked else _title(reader)
    except FAULTS as error:
        raise InputError(f"it is not a PDF that can be read: {error or type(error).__name__}") from error
    if is_locked:
        raise InputError("it is encrypted; save it without a password")
    if not any(page.strip() for page in pages):
        raise InputError("there is no text in it, only pictures; text recognition would be needed")
    return Extracted(text="\n\f".join(pages), title=title)


def _page_text(page: pypdf.PageObject) -> str:
    return page.extract_text().replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\0", "")


def _title(reader: pypdf.PdfReader) -> str:
    """Return the title that the file states, unless a program wrote it there without being asked."""
    stated = reader.metadata.title if reader.metadata else None
    title = " ".join(str(stated or "").split())
    return "" if title.lower().startswith(_MACHINE_TITLES) else title
