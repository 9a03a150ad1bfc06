"""PDF → text by pypdf. Pages are separated by form feeds; headings are not recognised."""

import io
import logging
import struct
import zlib

import pypdf
from pypdf.errors import DependencyError, PyPdfError

from stackroom.errors import InputError
from stackroom.sources.extract import Extracted

FAULTS = (
    *(PyPdfError, DependencyError, zlib.error, struct.error, OSError, RuntimeError, AssertionError),
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
)
"""Exceptions that pypdf raises for damaged files."""

_MACHINE_TITLES = ("microsoft word", "untitled")


def read_pdf(content: bytes) -> Extracted:
    """Return the text of a PDF; refuse a damaged or encrypted one, and one with images only."""
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about every deviation in files that it reads well
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        is_locked = reader.is_encrypted and not reader.decrypt("")
        pages = [] if is_locked else [_page_text(page) for page in reader.pages]
        title = "" if is_locked else _title(reader)
    except FAULTS as error:
        raise InputError(
            f"not a readable PDF ({error or type(error).__name__}); save it again, or as plain text"
        ) from error
    if is_locked:
        raise InputError("the PDF is encrypted; save it without a password")
    if not any(page.strip() for page in pages):
        raise InputError("the PDF has images and no text; run OCR on it first")
    return Extracted(text="\n\f".join(pages), title=title)


def _page_text(page: pypdf.PageObject) -> str:
    return page.extract_text().replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\0", "")


def _title(reader: pypdf.PdfReader) -> str:
    """Return the title in the file's metadata, unless a program generated it."""
    stated = reader.metadata.title if reader.metadata else None
    title = " ".join(str(stated or "").split())
    return "" if title.lower().startswith(_MACHINE_TITLES) else title
