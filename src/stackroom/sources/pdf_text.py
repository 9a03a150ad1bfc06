"""PDF → text by pypdf. Pages are separated by form feeds; headings are not recognised."""

import io
import logging
import re

import pypdf

from stackroom.errors import InputError

_LINE_END = re.compile(r"\r\n|[\r\f]")
_MACHINE_TITLES = ("microsoft word", "untitled")


def read_pdf(content: bytes) -> tuple[str, str]:
    """Return the text and the title of a PDF; refuse a damaged or encrypted one, and one with
    images only.
    """
    # it warns about every deviation in files that it reads well
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError("the PDF is encrypted; save it without a password")
        pages = [
            _LINE_END.sub("\n", page.extract_text()).replace("\0", "") for page in reader.pages
        ]
        stated = reader.metadata.title if reader.metadata else None
    except InputError:
        raise
    except Exception as error:  # pypdf raises nearly any for damaged files
        raise InputError(
            f"not a readable PDF ({error or type(error).__name__}); save it again, or as plain text"
        ) from error
    if not any(page.strip() for page in pages):
        raise InputError("the PDF has images and no text; run OCR on it first")
    title = " ".join(str(stated or "").split())
    is_made_up = title.lower().startswith(_MACHINE_TITLES)  # by a program
    return "\n\f".join(pages), "" if is_made_up else title
