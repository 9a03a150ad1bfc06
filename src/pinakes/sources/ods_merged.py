"""The merged cells of an `.ods` file, which the library that reads its values does not tell."""

import html
import re
import zipfile

CONTENT = "content.xml"
SPANNED = re.compile(rb'number-(?:rows|columns)-spanned="(?!1")')
TAG = re.compile(rb"<table:(table|table-row|table-cell|covered-table-cell)(?=[\s/>])([^>]*)>")
NAME = re.compile(rb'table:name="([^"]*)"')
NUMBER = re.compile(rb'table:number-(rows|columns)-(repeated|spanned)="(\d{1,7})"')

Range = tuple[tuple[int, int], tuple[int, int]]
"""The first and the last cell, each as row and column, counted from 0."""


def find_merged(file: zipfile.ZipFile) -> dict[str, list[Range]]:
    """Return the merged cells by the name of their sheet; empty for a file of another format."""
    text = file.read(CONTENT) if CONTENT in file.namelist() else b""
    if not SPANNED.search(text):
        return {}
    merged: dict[str, list[Range]] = {}
    ranges: list[Range] = []
    row = column = following = 0
    for kind, attributes in TAG.findall(text):
        numbers = {(what, how): int(number) for what, how, number in NUMBER.findall(attributes)}
        if kind == b"table":
            name = NAME.search(attributes)
            ranges = merged.setdefault(html.unescape(name[1].decode(errors="replace")) if name else "", [])
            following = 0
        elif kind == b"table-row":
            row, column = following, 0
            following += numbers.get((b"rows", b"repeated"), 1)
        else:
            down, right = (numbers.get((what, b"spanned"), 1) for what in (b"rows", b"columns"))
            if down > 1 or right > 1:
                ranges.append(((row, column), (row + down - 1, column + right - 1)))
            column += numbers.get((b"columns", b"repeated"), 1)
    return merged
