"""The columns of an `.xlsx` file whose numbers are shown as percentages: the file has 0.25 where people see 25 %."""

import html
import re
import zipfile
from collections import Counter

BUILT_IN_PERCENT = frozenset({b"9", b"10"})
"""The numbers of the formats `0%` and `0.00%`."""
FORMAT = re.compile(rb'<numFmt [^>]*?numFmtId="(\d+)"[^>]*?formatCode="([^"]*)"')
STYLES = re.compile(rb"<cellXfs.*?</cellXfs>", re.DOTALL)
STYLE = re.compile(rb'<xf [^>]*?numFmtId="(\d+)"')
SHEET = re.compile(rb'<sheet [^>]*?name="([^"]*)"[^>]*?r:id="([^"]*)"')
RELATION = re.compile(rb"<Relationship [^>]*>")
ATTRIBUTE = re.compile(rb'\b(Id|Target)="([^"]*)"')
CELL = re.compile(rb'<c r="([A-Z]{1,3})\d+"(?: s="(\d+)")?')
LEAST_SHARE = 0.5


def find_percent_columns(file: zipfile.ZipFile) -> dict[str, frozenset[int]]:
    """Return the columns of percentages by the name of their sheet, counted from 0; sheets without any are left out."""
    members = set(file.namelist())
    styles = _percent_styles(file.read("xl/styles.xml")) if "xl/styles.xml" in members else frozenset()
    if not styles or not {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"} <= members:
        return {}
    found = {}
    for name, member in _sheets(file).items():
        if member in members and (columns := _columns(file.read(member), styles)):
            found[name] = columns
    return found


def _percent_styles(text: bytes) -> frozenset[bytes]:
    """Return the numbers of the styles of cells with a format of percentages."""
    formats = BUILT_IN_PERCENT | {number for number, code in FORMAT.findall(text) if b"%" in code}
    section = STYLES.search(text)
    numbers = STYLE.findall(section[0]) if section else []
    return frozenset(str(place).encode() for place, number in enumerate(numbers) if number in formats)


def _sheets(file: zipfile.ZipFile) -> dict[str, str]:
    """Return the member of each sheet by its name."""
    relations = [dict(ATTRIBUTE.findall(one)) for one in RELATION.findall(file.read("xl/_rels/workbook.xml.rels"))]
    targets = {one[b"Id"]: one[b"Target"].decode(errors="replace") for one in relations if len(one) == 2}
    return {
        html.unescape(name.decode(errors="replace")): _member(targets[relation])
        for name, relation in SHEET.findall(file.read("xl/workbook.xml"))
        if relation in targets
    }


def _member(target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _columns(text: bytes, styles: frozenset[bytes]) -> frozenset[int]:
    """Return the columns most of whose cells have one of these styles."""
    cells, percentages = Counter[bytes](), Counter[bytes]()
    for column, style in CELL.findall(text):
        cells[column] += 1
        percentages[column] += style in styles
    shares = {column: percentages[column] / count for column, count in cells.items()}
    return frozenset(_number(column) for column, share in shares.items() if share >= LEAST_SHARE)


def _number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number - 1
