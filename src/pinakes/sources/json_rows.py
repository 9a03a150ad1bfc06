"""Rows from JSON and JSON Lines files, plain or compressed (`.zst`, `.gz`)."""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from pinakes.errors import InputError
from pinakes.sources.compressed import open_decompressed, require_file, without_compression
from pinakes.sources.location import SourceLocation
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import SourceRow

ROW_LISTS = ("data", "rows", "items", "records")
"""Keys under which a JSON object may hold its rows."""
LINES_ENDINGS = (".jsonl", ".ndjson")
LINES = re.compile(rb"\s*\{.*\}\r?\n\{", re.DOTALL)
"""The beginning of a JSON Lines file."""


class JsonRows:
    """Implements `RowSource` for a file of JSON (a list, or an object with a list) or JSON Lines."""

    def __init__(self, path: Path, *, records: str | None = None) -> None:
        self._path = require_file(path)
        self._records = records

    @property
    def name(self) -> str:
        """The absolute path, with the path of the records that was given."""
        return SourceLocation(location=str(self._path.resolve()), options=ReadOptions(records=self._records)).name

    def count_rows(self) -> int | None:
        """Return the number of lines of a JSON Lines file; None for JSON, which must be parsed to be counted."""
        with self._opened() as file:
            return sum(1 for line in file if line.strip()) if _is_lines(self._path, file) else None

    @property
    def is_whole(self) -> bool:
        """Always true: a row that is missing was deleted."""
        return True

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; JSON Lines is recognised by the suffix, or by the beginning of the file."""
        with self._opened() as file:
            rows = self._iter_lines(file) if _is_lines(self._path, file) else self._iter_list(file.read())
            yield from islice(rows, start, None)

    @contextmanager
    def _opened(self) -> Iterator[io.BufferedReader]:
        """Open the file and skip a UTF-8 BOM."""
        with open_decompressed(self._path) as file:
            if file.peek(1).startswith(codecs.BOM_UTF8):
                file.read(len(codecs.BOM_UTF8))
            yield file

    def _iter_lines(self, file: io.BufferedReader) -> Iterator[SourceRow]:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _row(line, f"line {number}")

    def _iter_list(self, text: bytes) -> Iterator[SourceRow]:
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{self._path}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
            ) from error
        rows = _rows_in(document)
        if rows is None:
            raise InputError(
                f"{self._path}: no list of rows; expected a list or an object with {' or '.join(ROW_LISTS)}"
            )
        for number, values in enumerate(rows, start=1):
            yield _checked(values, f"row {number}")


def _row(line: bytes, place: str) -> SourceRow:
    try:
        return _checked(orjson.loads(line), place)
    except orjson.JSONDecodeError as error:
        return SourceRow(place=place, values={}, problem=f"not valid JSON: {error.msg}")


def _checked(values: Any, place: str) -> SourceRow:
    if isinstance(values, dict):
        return SourceRow(place=place, values=values)
    return SourceRow(place=place, values={}, problem=f"a {type(values).__name__}, not an object")


def _rows_in(document: Any) -> list[Any] | None:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        named = next((document[key] for key in ROW_LISTS if isinstance(document.get(key), list)), None)
        lists = [
            value for value in document.values() if isinstance(value, list) and value and isinstance(value[0], dict)
        ]
        return named if named is not None or len(lists) != 1 else lists[0]
    return None


def _is_lines(path: Path, file: io.BufferedReader) -> bool:
    return without_compression(path).suffix.lower() in LINES_ENDINGS or LINES.match(file.peek(1)) is not None
