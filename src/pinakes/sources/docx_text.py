"""DOCX → Markdown-like text with headings, lists and tables, read from the XML in the archive."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pinakes.errors import InputError
from pinakes.sources.extract import Extracted

MOST_UNPACKED_BYTES = 200_000_000
"""The largest decompressed size of a part; larger ones are refused as decompression bombs."""

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""A fallback copy of the content for older programs."""

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_SPACES = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_DEEPEST = 6
_AROUND = frozenset({f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"})
"""Wrapper elements such as content controls; their children are read."""


def read_docx(content: bytes) -> Extracted:
    """Return the text and title of a document; refuse a damaged or password-protected file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            document = _part(archive, "word/document.xml")
            levels = _heading_levels(_part(archive, "word/styles.xml"))
            title = _part(archive, "docProps/core.xml").findtext(f".//{DC_TITLE}") or ""
        return Extracted(text=_text_of(document, levels), title=" ".join(title.split()))
    except RecursionError as error:
        raise InputError("not a readable DOCX: its elements are nested too deeply") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise InputError(f"not a readable DOCX, or protected by a password: {error}") from error
    except ElementTree.ParseError as error:
        raise InputError(f"not a readable DOCX: {error}") from error


def _part(archive: zipfile.ZipFile, name: str) -> Element:
    """Return a part of the archive; an empty element where it is missing."""
    if name not in archive.namelist():
        return Element("missing")
    if archive.getinfo(name).file_size > MOST_UNPACKED_BYTES:
        raise InputError(f"'{name}' in it decompresses to more than {MOST_UNPACKED_BYTES // 1_000_000} MB")
    return ElementTree.fromstring(archive.read(name))


def _heading_levels(styles: Element) -> dict[str, int]:
    """Return heading levels by style id: ids are localised, names are English."""
    levels: dict[str, int] = {}
    for style in styles.iter(f"{W}style"):
        name = style.find(f"{W}name")
        level = _level_of("" if name is None else name.get(f"{W}val", ""))
        if level:
            levels[style.get(f"{W}styleId", "")] = level
    return levels


def _level_of(style: str) -> int:
    heading = _HEADING.fullmatch(style.strip())
    if heading:
        return min(int(heading[1]), _DEEPEST)
    return 1 if style.strip().lower() == "title" else 0


def _text_of(document: Element, levels: Mapping[str, int]) -> str:
    body = document.find(f"{W}body")
    if body is None:
        raise InputError("not a DOCX: the archive has no document")
    return "\n\n".join(_blocks(body, levels)) + "\n"


def _blocks(parent: Element, levels: Mapping[str, int]) -> Iterator[str]:
    """Yield the paragraphs and tables; consecutive items of a list are one block."""
    items: list[str] = []
    for element in _within(parent, f"{W}p", f"{W}tbl"):
        block, is_item = _block(element, levels)
        if items and not is_item:
            yield "\n".join(items)
            items = []
        if is_item:
            items += [block] if block else []
        elif block:
            yield block
    if items:
        yield "\n".join(items)


def _within(parent: Element, *tags: str) -> Iterator[Element]:
    """Yield the elements with these tags in document order, also inside wrappers, but not nested in one another."""
    for element in parent:
        if element.tag in tags:
            yield element
        elif element.tag in _AROUND:
            yield from _within(element, *tags)


def _block(element: Element, levels: Mapping[str, int]) -> tuple[str, bool]:
    """Return the text of a paragraph or table, and whether it is a list item."""
    if element.tag == f"{W}tbl":
        return "\n".join(_row(row) for row in _within(element, f"{W}tr")), False
    text = _text(element).strip()
    style = element.find(f"{W}pPr/{W}pStyle")
    style_id = "" if style is None else style.get(f"{W}val", "")
    level = levels.get(style_id) or _level_of(style_id)
    if level:
        return f"{'#' * level} {' '.join(text.split())}" if text else "", False
    is_item = element.find(f"{W}pPr/{W}numPr") is not None
    return f"- {' '.join(text.split())}" if text and is_item else text, is_item


def _row(row: Element) -> str:
    cells = (" ".join(_text(cell).split()) for cell in _within(row, f"{W}tc"))
    return f"| {' | '.join(cells)} |"


def _text(element: Element) -> str:
    return "".join(_runs(element))


def _runs(element: Element) -> Iterator[str]:
    for child in element:
        if child.tag == f"{W}t":
            yield child.text or ""
        elif child.tag in _SPACES:
            yield _SPACES[child.tag]
        elif child.tag != FALLBACK:
            yield from _runs(child)
            if child.tag == f"{W}p":
                yield "\n"
