"""Rows from JSON and JSON Lines files, plain or compressed."""

import codecs
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import orjson

from stackroom.errors import InputError, did_you_mean
from stackroom.frozen import frozen
from stackroom.sources.compressed import open_decompressed, without_compression
from stackroom.sources.file_rows import FileRows
from stackroom.sources.port import SourceRow
from stackroom.sources.text_lines import is_utf8, iter_lines

# keys under which a JSON object usually has its rows
ROW_LISTS = ("data", "rows", "items", "records")
KEY_COLUMN = "key"  # the column with the key under which a record was found
DEEPEST = 8
FEWEST_KEYED = 2
LEAST_ALIKE = 0.5
"""The share of its keys that each of several objects must have in common with the first for them to
be records.
"""
MANY_TIMES = 3
"""Objects of any keys are records, too, where there are so many times as many of them as of
different keys.
"""
SAMPLE = 50
FEATURE = "Feature"


@frozen
class JsonTable:
    """The rows found in a document, the path to them, and the paths of other lists of objects."""

    rows: Sequence[Any]
    path: str = ""
    others: tuple[str, ...] = ()


def find_table(document: Any) -> JsonTable | None:
    """Return the table of a document: the document itself, its usual list, or the longest list of
    objects in it.
    """
    if isinstance(document, list):
        return JsonTable(rows=_as_objects(document))
    if not isinstance(document, dict):
        return None
    candidates = dict(_iter_candidates(document, (), 0))
    path = next((name for name in ROW_LISTS if isinstance(document.get(name), list)), None)
    if path is None and not candidates:
        return None
    if path is not None:
        rows = _with_names(document.get("columns"), document[path])
    else:
        path = max(candidates, key=lambda path: (len(candidates[path]), -path.count(".")))
        rows = candidates[path]
    return JsonTable(
        rows=rows, path=path, others=tuple(other for other in candidates if other != path)
    )


def get_table(document: Any, path: str) -> JsonTable | None:
    """Return the table at a path such as `data.items`, through lists on the way; None where there
    is none.
    """
    found = [document]
    for step in filter(None, path.removesuffix("[]").replace("[]", "").split(".")):
        spread = [item for one in found for item in (one if isinstance(one, list) else [one])]
        found = [one[step] for one in spread if isinstance(one, dict) and step in one]
    rows: list[Any] = []
    for one in found:
        if isinstance(one, list):
            rows += _as_objects(one)
        elif isinstance(one, dict):
            rows += _keyed(one) or [one]
    return JsonTable(rows=rows, path=path) if rows else None


def as_row(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object as a row; the properties of a feature of GeoJSON are its columns, and a
    point has two more.
    """
    properties, geometry = values.get("properties"), values.get("geometry")
    if values.get("type") != FEATURE or not isinstance(properties, dict):
        return values
    row = {"id": values["id"], **properties} if "id" in values else dict(properties)
    place = (
        geometry.get("coordinates")
        if isinstance(geometry, dict) and geometry.get("type") == "Point"
        else None
    )
    if isinstance(place, list) and len(place) >= 2:
        row.setdefault("longitude", place[0])
        row.setdefault("latitude", place[1])
    return row


def _iter_candidates(
    value: dict[str, Any], path: tuple[str, ...], depth: int
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the paths of lists of objects, and of objects whose values are records, outermost
    first.
    """
    if (keyed := _keyed(value)) is not None:
        yield ".".join(path), keyed
        return
    for name, inner in value.items():
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            yield ".".join((*path, name)), inner
        elif isinstance(inner, dict) and depth < DEEPEST:
            yield from _iter_candidates(inner, (*path, name), depth + 1)


def _keyed(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records of an object that has them under their keys, or as columns; None for any
    other object.
    """
    if len(value) < FEWEST_KEYED or not all(isinstance(one, dict) for one in value.values()):
        return None
    places = next(iter(value.values()))
    numbers = [str(number) for number in range(len(places))]
    # columns, as pandas writes them
    if numbers and all(list(column) == numbers for column in value.values()):
        return [{name: column.get(place) for name, column in value.items()} for place in places]
    sample = [set(record) for record in islice(value.values(), SAMPLE)]
    first, known = sample[0], set().union(*sample)
    is_alike = bool(first) and all(
        len(first & one) >= LEAST_ALIKE * len(first | one) for one in sample
    )
    if not is_alike and not 0 < MANY_TIMES * len(known) <= len(sample):
        return None
    return [
        {**({} if KEY_COLUMN in one else {KEY_COLUMN: key}), **one} for key, one in value.items()
    ]


def _as_objects(rows: list[Any]) -> Sequence[Any]:
    """Return rows as objects where they are lists below a list of names."""
    is_grid = len(rows) > 1 and all(isinstance(row, list) for row in rows) and _are_names(rows[0])
    return _with_names(rows[0], rows[1:]) if is_grid and rows[0] else rows


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _with_names(names: Any, rows: list[Any]) -> Sequence[Any]:
    if not _are_names(names):
        return _as_objects(rows)
    return [
        dict(zip(names, row, strict=True))
        if isinstance(row, list) and len(row) == len(names)
        else row
        for row in rows
    ]


LINES_ENDINGS = (".jsonl", ".ndjson")
# the beginning of a JSON Lines file
LINES = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{.*\}\r?\n\{", re.DOTALL)
SHOWN_PATHS = 8
NOT_A_NUMBER = re.compile(rb"\b(NaN|Infinity)\b")


class JsonRows(FileRows):
    """Implements `RowSource` for a file of JSON (a list of objects anywhere in it) or JSON
    Lines.
    """

    takes = frozenset({"records", "encoding"})
    table_option = "--records"
    # the paths of other lists of objects, once the file was read
    other_tables: tuple[str, ...] = ()

    def _iter_table(self) -> Iterator[SourceRow]:
        """Yield the rows; JSON Lines is recognised by the suffix, or by the beginning of the
        file.
        """
        with open_decompressed(self._path) as file:
            if without_compression(self._path).suffix.lower() in LINES_ENDINGS or LINES.match(
                file.peek(1)
            ):
                yield from self._iter_lines(self._decoded_lines(file))
            else:
                content, text = file.read(), None
                if self._options.encoding or b"\0" in content or not is_utf8(content):
                    text = "".join(self._decoded_lines(io.BufferedReader(io.BytesIO(content))))
                yield from self._iter_document(
                    content.removeprefix(codecs.BOM_UTF8) if text is None else text
                )

    def _decoded_lines(self, file: io.BufferedReader) -> Iterator[str]:
        return iter_lines(file, self._path, self._notes, self._options.encoding)

    def _iter_lines(self, lines: Iterator[str]) -> Iterator[SourceRow]:
        """Yield the rows of lines; with a path of records, each line may have several."""
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            place = f"line {number}"
            try:
                row = _checked(_loads(line), place)
            except orjson.JSONDecodeError as error:
                row = SourceRow(place=place, problem=f"not valid JSON: {error.msg}")
            if self._options.records is None or row.problem:
                yield row
            else:
                table = get_table(row.values, self._options.records)
                yield from (_checked(one, row.place) for one in (table.rows if table else ()))

    def _iter_document(self, content: bytes | str) -> Iterator[SourceRow]:
        try:
            document = _loads(content)
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{self._path}: not valid JSON at line {error.lineno}, column {error.colno}:"
                f" {error.msg}; mend it there, or export the file again"
            ) from error
        table = (
            find_table(document)
            if self._options.records is None
            else get_table(document, self._options.records)
        )
        if table is None:
            raise self._no_table(document)
        self.other_tables = table.others[:SHOWN_PATHS]
        if self._options.records is None and (table.others or "." in table.path):
            self._notes.add(f"the records are read from '{table.path}' ({len(table.rows):,})")
        for number, values in enumerate(table.rows, start=1):
            yield _checked(values, f"row {number}")

    def _no_table(self, document: Any) -> InputError:
        if self._options.records is None:
            return InputError(
                f"{self._path}: no list of rows; expected a list or an object with"
                f" {' or '.join(ROW_LISTS)}, or with a list of objects anywhere in it"
            )
        candidates = _iter_candidates(document, (), 0) if isinstance(document, dict) else ()
        paths = [path for path, _ in candidates if path]
        known = f"; lists of objects in it: {', '.join(paths[:SHOWN_PATHS])}" if paths else ""
        hint = did_you_mean(self._options.records, paths)
        return InputError(f"{self._path}: no records at '{self._options.records}'{hint}{known}")


def _loads(text: bytes | str) -> Any:
    """Parse JSON; `NaN` and `Infinity`, which Python and pandas write, become null."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if NOT_A_NUMBER.search(text.encode() if isinstance(text, str) else text):
            with suppress(ValueError, RecursionError):
                return json.loads(text, parse_constant=lambda _constant: None)
        raise


def _checked(values: Any, place: str) -> SourceRow:
    if isinstance(values, dict):
        return SourceRow(place=place, values=as_row(values))
    return SourceRow(place=place, problem=f"a {type(values).__name__}, not an object")
