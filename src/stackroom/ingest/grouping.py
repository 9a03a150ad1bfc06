"""Rows that are one record together, as the ingredients of a recipe are: rows with the same value
in a column.

Such rows need not follow one another, so all rows are kept in a temporary file until the source was
read. A record has the place of every row, the first value of most fields, and the values of all
rows where a field is a list.
"""

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import Any

import apsw

from stackroom.catalogue.spec import LIST_TYPES, CatalogueSpec
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.ingest.mapping import ReadRow, RowMapping, UnreadCell, build_mapping
from stackroom.ingest.values import value_at
from stackroom.model.record import Record, Value
from stackroom.sources.port import SourceRow
from stackroom.text.cells.values import is_nothing, text_of

SCHEMA = (
    "CREATE TABLE parts (number INTEGER PRIMARY KEY, key BLOB NOT NULL, place TEXT NOT NULL, row"
    " BLOB NOT NULL)"
)
NUMBERED = re.compile(r"(\D*)(\d+)")  # a place with a number, as `line 12`


@frozen
class GroupedRow(SourceRow):
    """Several rows of a source that are one record; `values` are those of the first."""

    parts: Sequence[SourceRow]


def iter_grouped(rows: Iterable[SourceRow], path: str) -> Iterator[SourceRow]:
    """Yield the rows without a value at a path, then one for every distinct value, in the order of
    their first rows.
    """
    with closing(apsw.Connection("")) as file:  # a temporary file of its own, which SQLite removes
        file.execute(SCHEMA)
        with file:
            for row in rows:
                key = value_at(row.values, path)
                if row.problem or is_nothing(key):
                    yield row
                    continue
                packed = pickle.dumps({"values": dict(row.values), "digest": row.digest})
                kept = (text_of(key).encode(errors="surrogatepass"), row.place, packed)
                file.execute("INSERT INTO parts (key, place, row) VALUES (?, ?, ?)", kept)
            file.execute("CREATE INDEX by_key ON parts (key, number)")
        for (key,) in file.execute("SELECT key FROM parts GROUP BY key ORDER BY min(number)"):
            parts = file.execute(
                "SELECT place, row FROM parts WHERE key = ? ORDER BY number", (key,)
            )
            yield _grouped(
                [SourceRow(place=str(place), **pickle.loads(packed)) for place, packed in parts]
            )


def _grouped(parts: Sequence[SourceRow]) -> GroupedRow:
    digests = sha256("".join(f"{part.place}\0{part.digest}\0" for part in parts).encode())
    digest = digests.hexdigest() if all(part.digest for part in parts) else ""
    place = joined_places([part.place for part in parts])
    return GroupedRow(place=place, values=parts[0].values, digest=digest, parts=parts)


def joined_places(places: Sequence[str]) -> str:
    """Return the places of several rows as one, as in `lines 3–5, 9`."""
    if len(places) == 1:
        return places[0]
    numbered = [NUMBERED.fullmatch(place) for place in places]
    words = {one[1] for one in numbered if one is not None}
    if None in numbered or len(words) != 1:
        return ", ".join(places)
    numbers = sorted(int(one[2]) for one in numbered if one is not None)
    word = words.pop()
    return f"{word.rstrip()}s {_runs(numbers)}" if word.strip() else _runs(numbers)


def _runs(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text, with those that follow one another as a range."""
    runs = []
    for _, run in groupby(enumerate(numbers), key=lambda one: one[1] - one[0]):
        members = [number for _, number in run]
        runs.append(f"{members[0]}–{members[-1]}" if len(members) > 1 else str(members[0]))
    return ", ".join(runs)


def read_group(
    row: GroupedRow, spec: CatalogueSpec, read_row: Callable[[Mapping[str, Any]], ReadRow]
) -> ReadRow:
    """Return the record of a group: lists collect the values of all rows, other fields have the
    first value.
    """
    collected: dict[str, dict[Any, None]] = {}
    fields: dict[str, Value] = {}
    unread: list[UnreadCell] = []
    written: dict[str, str] = {}
    first: Record | None = None
    for part in row.parts:
        try:
            (record,), cells, texts = read_row(part.values)
        except InputError as error:
            raise InputError(f"{part.place}: {error.message}") from error
        unread += [cell._replace(place=part.place) for cell in cells]
        first = first or record
        for name, value in record.fields.items():
            if spec.fields[name].type in LIST_TYPES and isinstance(value, tuple):
                collected.setdefault(name, {}).update(dict.fromkeys(value))
            elif name not in fields:
                fields[name] = value
                written |= {name: texts[name]} if name in texts else {}
            elif fields[name] != value:
                reason = (
                    f"'{name}' is {str(value)[:60]!r}; the record has {str(fields[name])[:60]!r} of"
                    " an earlier row"
                )
                unread.append(UnreadCell(name, reason, part.place))
    if first is None or not (fields or collected):
        raise InputError("empty row: no field has a value; a record needs one")
    whole = replace(first, fields=fields | {name: tuple(all_) for name, all_ in collected.items()})
    return ReadRow((whole,), tuple(unread), written)


def iter_records(rows: Iterable[Mapping[str, Any]], spec: CatalogueSpec) -> Iterator[Record]:
    """Yield the records that a spec makes of rows, those of a group as one; rows that make none are
    passed over.
    """
    mapping = build_mapping(spec)
    placed = (
        SourceRow(place=f"row {number}", values=row) for number, row in enumerate(rows, start=1)
    )
    for row in iter_grouped(placed, spec.group_path) if spec.group_path else placed:
        with suppress(InputError):
            yield from read_source_row(row, spec, mapping).records


def read_source_row(row: SourceRow, spec: CatalogueSpec, mapping: RowMapping) -> ReadRow:
    """Return the records of a row or a group of rows, and the cells that could not be read."""
    if mapping.read_row is None:
        return ReadRow(tuple(mapping.records_of(row.values)))
    return (
        read_group(row, spec, mapping.read_row)
        if isinstance(row, GroupedRow)
        else mapping.read_row(row.values)
    )
