"""Rows from JSON and JSON Lines files, plain or compressed."""

import codecs
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from pinakes.errors import InputError, did_you_mean
from pinakes.sources.compressed import open_decompressed, require_file, without_compression
from pinakes.sources.json_table import ROW_LISTS, JsonTable, as_row, find_table, get_table, list_paths
from pinakes.sources.location import SourceLocation
from pinakes.sources.notes import ReadingNotes
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import SourceRow

LINES_ENDINGS = (".jsonl", ".ndjson")
LINES = re.compile(rb"\s*\{.*\}\r?\n\{", re.DOTALL)
"""The beginning of a JSON Lines file."""
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SHOWN_PATHS = 8
NOT_A_NUMBER = re.compile(rb"\b(NaN|Infinity)\b")


class JsonRows:
    """Implements `RowSource` for a file of JSON (a list of objects anywhere in it) or JSON Lines."""

    table_option = "--records"
    """The option that chooses another list."""

    def __init__(self, path: Path, *, records: str | None = None, max_unpacked_mb: int | None = None) -> None:
        self._path = require_file(path)
        self._records = records
        self._max_unpacked_mb = max_unpacked_mb
        self._notes = ReadingNotes()
        self._others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The absolute path, with the path of the records that was given."""
        options = ReadOptions(records=self._records, max_unpacked_mb=self._max_unpacked_mb)
        return SourceLocation(location=str(self._path.resolve()), options=options).name

    @property
    def notes(self) -> tuple[str, ...]:
        """The decisions about where the records are, once they were read."""
        return self._notes.texts

    @property
    def other_tables(self) -> tuple[str, ...]:
        """The paths of other lists of objects, once the file was read."""
        return self._others[:SHOWN_PATHS]

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
        self._notes.clear()
        with self._opened() as file:
            rows = self._iter_lines(file) if _is_lines(self._path, file) else self._iter_table(file.read())
            yield from islice(rows, start, None)

    @contextmanager
    def _opened(self) -> Iterator[io.BufferedReader]:
        """Open the file and skip a UTF-8 BOM."""
        by_lines = without_compression(self._path).suffix.lower() in LINES_ENDINGS
        with open_decompressed(self._path, max_unpacked_mb=self._max_unpacked_mb, by_lines=by_lines) as file:
            if file.peek(1).startswith(codecs.BOM_UTF8):
                file.read(len(codecs.BOM_UTF8))
            yield file

    def _iter_lines(self, file: io.BufferedReader) -> Iterator[SourceRow]:
        """Yield the rows of lines; with a path of records, each line may have several."""
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            row = _row(line, f"line {number}")
            if self._records is None or row.problem:
                yield row
            else:
                table = get_table(row.values, self._records)
                yield from (_checked(one, row.place) for one in (table.rows if table else ()))

    def _iter_table(self, content: bytes) -> Iterator[SourceRow]:
        document = self._parse(content)
        table = find_table(document) if self._records is None else get_table(document, self._records)
        if table is None:
            raise self._no_table(document)
        self._note(table)
        for number, values in enumerate(table.rows, start=1):
            yield _checked(values, f"row {number}")

    def _parse(self, content: bytes) -> Any:
        try:
            return _loads(_as_utf8(content))
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{self._path}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}"
            ) from error

    def _note(self, table: JsonTable) -> None:
        self._others = table.others
        if self._records is None and (table.others or "." in table.path):
            self._notes.add(f"the records are read from '{table.path}' ({len(table.rows):,})")

    def _no_table(self, document: Any) -> InputError:
        if self._records is None:
            return InputError(
                f"{self._path}: no list of rows; expected a list or an object with {' or '.join(ROW_LISTS)}, or with a "
                "list of objects anywhere in it"
            )
        paths = list_paths(document)
        known = f"; lists of objects in it: {', '.join(paths[:SHOWN_PATHS])}" if paths else ""
        return InputError(f"{self._path}: no records at '{self._records}'{did_you_mean(self._records, paths)}{known}")


def _as_utf8(content: bytes) -> bytes:
    return content.decode("utf-16", errors="replace").encode() if content[:2] in UTF16_MARKS else content


def _loads(text: bytes) -> Any:
    """Parse JSON; `NaN` and `Infinity`, which Python and pandas write, become null."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if NOT_A_NUMBER.search(text):
            try:
                return json.loads(text, parse_constant=lambda _constant: None)
            except (ValueError, RecursionError):
                pass
        raise


def _row(line: bytes, place: str) -> SourceRow:
    try:
        return _checked(_loads(line), place)
    except orjson.JSONDecodeError as error:
        return SourceRow(place=place, values={}, problem=f"not valid JSON: {error.msg}")


def _checked(values: Any, place: str) -> SourceRow:
    if isinstance(values, dict):
        return SourceRow(place=place, values=as_row(values))
    return SourceRow(place=place, values={}, problem=f"a {type(values).__name__}, not an object")


def _is_lines(path: Path, file: io.BufferedReader) -> bool:
    return without_compression(path).suffix.lower() in LINES_ENDINGS or LINES.match(file.peek(1)) is not None
