"""The spec that is proposed for a source, inferred from its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pinakes.catalogue.infer.declare import Inferred, catalogue_name, infer_declaration
from pinakes.catalogue.loader import LoadedSpec, compile_text
from pinakes.catalogue.profile import profile_columns
from pinakes.errors import InputError
from pinakes.ingest.mapping import build_mapping
from pinakes.ingest.paths import flattened
from pinakes.model.record import Record
from pinakes.sources.port import RowSource
from pinakes.sources.sqlite_rows import SqliteRows

SAMPLE_HEAD = 2000
SAMPLE_SPREAD = 500
SAMPLE_READ = 200_000
"""Rows read to infer a spec: the first ones, those spread over the rest, and the last row looked at."""
SHOWN_RECORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A spec inferred from a source's rows, and the first records that it makes of them."""

    inferred: Inferred
    loaded: LoadedSpec
    records: tuple[Record, ...]


def propose(source: RowSource, *, name: str) -> Proposal:
    """Infer a spec from a sample of the source's rows; its name is the nearest valid one to `name`."""
    rows = [flattened(row) for row in sample_rows(source)]
    id_column = source.id_column if isinstance(source, SqliteRows) else None
    try:
        inferred = infer_declaration(profile_columns(rows), name=catalogue_name(name), id_column=id_column)
    except InputError as error:
        raise InputError(f"{source.name}: {error.message}") from error
    loaded = LoadedSpec(
        spec=compile_text(inferred.declaration, origin="the inferred spec"), declaration=inferred.declaration
    )
    records_of = build_mapping(loaded.spec).records_of
    records = tuple(record for row in rows[:SHOWN_RECORDS] for record in records_of(row))
    return Proposal(inferred=inferred, loaded=loaded, records=records)


def sample_rows(source: RowSource) -> list[Mapping[str, Any]]:
    """Return the rows that a spec is inferred from: the first ones, and an even spread of those after them.

    A provider is asked for the first rows only.
    """
    read = SAMPLE_READ if source.is_whole else SAMPLE_HEAD
    head: list[Mapping[str, Any]] = []
    spread: list[Mapping[str, Any]] = []
    problem, step = "", 1
    for number, row in enumerate(islice(source.iter_rows(), read)):
        if row.problem:
            problem = problem or f"{row.place}: {row.problem}"
        elif len(head) < SAMPLE_HEAD:
            head.append(row.values)
        elif number % step == 0:
            spread.append(row.values)
            if len(spread) == 2 * SAMPLE_SPREAD:
                spread, step = spread[::2], 2 * step
    if problem and not head:
        raise InputError(f"{source.name}: no row can be read; {problem}")
    return head + spread
