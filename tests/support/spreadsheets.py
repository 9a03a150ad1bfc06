"""Spreadsheet files for tests: `.xlsx` by openpyxl, and `.ods` by hand."""

import re
import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from openpyxl import Workbook

Sheets = Mapping[str, Sequence[Sequence[Any]]]

NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "table", "text")
)


def write_xlsx(
    path: Path,
    sheets: Sheets,
    *,
    merged: Mapping[str, Sequence[str]] | None = None,
    hidden: Sequence[str] = (),
    formats: Mapping[str, str] | None = None,
) -> Path:
    """Write a workbook; `formats` has the number format of cells of the first sheet, such as
    `B2`.
    """
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        for cells in (merged or {}).get(name, ()):
            sheet.merge_cells(cells)
        if name in hidden:
            sheet.sheet_state = "hidden"
    for cell, number_format in (formats or {}).items():
        book.worksheets[0][cell].number_format = number_format
    book.save(path)
    return path


def with_cached_values(path: Path, values: Mapping[str, str]) -> Path:
    """Write the results of formulas into the first sheet, as a spreadsheet program does when it
    saves a workbook.
    """
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    sheet = members["xl/worksheets/sheet1.xml"].decode()
    for cell, value in values.items():
        sheet = re.sub(
            rf'(<c r="{cell}"[^>]*>)(<f>.*?</f>)<v ?/?>(</v>)?', rf"\1\2<v>{value}</v>", sheet
        )
    members["xl/worksheets/sheet1.xml"] = sheet.encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def write_ods(path: Path, sheets: Sheets) -> Path:
    """Write an OpenDocument spreadsheet; a cell may be raw XML, given as bytes."""
    tables = "".join(_table(name, rows) for name, rows in sheets.items())
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMESPACES}>'
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", "<manifest/>")
        file.writestr("content.xml", content)
    return path


def _table(name: str, rows: Sequence[Sequence[Any]]) -> str:
    lines = "".join(
        f"<table:table-row>{''.join(map(_cell, row))}</table:table-row>" for row in rows
    )
    return f"<table:table table:name={quoteattr(name)}>{lines}</table:table>"


def _cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, bool):
        return _typed("boolean", f'office:boolean-value="{str(value).lower()}"', str(value).upper())
    if isinstance(value, int | float):
        return _typed("float", f'office:value="{value!r}"', str(value))
    if isinstance(value, datetime | date):
        return _typed("date", f'office:date-value="{value.isoformat()}"', value.isoformat())
    if isinstance(value, time):
        return _typed(
            "time", f'office:time-value="{value.strftime("PT%HH%MM%SS")}"', value.isoformat()
        )
    return _typed("string", "", str(value))


def _typed(kind: str, attribute: str, text: str) -> str:
    return (
        f'<table:table-cell office:value-type="{kind}"'
        f" {attribute}><text:p>{escape(text)}</text:p></table:table-cell>"
    )


SECTOR = 512
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def write_xls(path: Path, sheets: Sheets, *, stream: str = "Workbook") -> Path:
    """Write texts and numbers as a workbook of before 2007: BIFF8 in a compound file."""
    parts = [_biff_sheet(rows) for rows in sheets.values()]
    names = [name.encode("utf-16-le") for name in sheets]
    header = _biff(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 6))
    begin = len(header) + sum(4 + 8 + len(name) for name in names) + 4
    bounds = b""
    for name, part in zip(names, parts, strict=True):
        bounds += _biff(0x0085, struct.pack("<IHBB", begin, 0, len(name) // 2, 1) + name)
        begin += len(part)
    content = header + bounds + _biff(0x000A, b"") + b"".join(parts)
    path.write_bytes(_compound(stream, content.ljust(8 * SECTOR, b"\0")))
    return path


def _biff(kind: int, content: bytes) -> bytes:
    return struct.pack("<HH", kind, len(content)) + content


def _biff_sheet(rows: Sequence[Sequence[Any]]) -> bytes:
    content = _biff(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 6))
    for place, row in enumerate(rows):
        for column, cell in enumerate(row):
            at = struct.pack("<HHH", place, column, 0)
            if isinstance(cell, str):
                content += _biff(
                    0x0204, at + struct.pack("<HB", len(cell), 1) + cell.encode("utf-16-le")
                )
            elif cell is not None:
                content += _biff(0x0203, at + struct.pack("<d", cell))
    return content + _biff(0x000A, b"")


def _compound(stream: str, content: bytes) -> bytes:
    """Return a compound file with one stream, of sectors after that of the allocation table and
    that of the names.
    """
    content = content.ljust(-(-len(content) // SECTOR) * SECTOR, b"\0")
    count = len(content) // SECTOR
    table = [FAT, END, *range(3, count + 2), END]
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII",
        bytes.fromhex("d0cf11e0a1b11ae1"),
        0x3E,
        3,
        0xFFFE,
        9,
        6,
        0,
        1,
        1,
        0,
        4096,
        END,
        0,
        END,
        0,
    )
    difat = struct.pack("<109I", 0, *[FREE] * 108)
    entries = _entry("Root Entry", 5, END, 0, child=1) + _entry(
        stream, 2, 2, len(content), child=FREE
    )
    fat = struct.pack(f"<{len(table)}I", *table).ljust(SECTOR, b"\xff")
    return header + difat + fat + entries.ljust(SECTOR, b"\0") + content


def _entry(name: str, kind: int, begin: int, size: int, *, child: int) -> bytes:
    text = name.encode("utf-16-le")
    return text.ljust(64, b"\0") + struct.pack(
        "<HBBIII16xI16xIQ", len(text) + 2, kind, 1, FREE, FREE, child, 0, begin, size
    )
