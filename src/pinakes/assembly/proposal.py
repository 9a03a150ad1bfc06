"""The spec that is proposed for a source, inferred from its rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pinakes.catalogue.infer.choices import NO_CHOICES, Choices
from pinakes.catalogue.infer.declare import Inferred, catalogue_name, infer_declaration
from pinakes.catalogue.loader import LoadedSpec, compile_text
from pinakes.catalogue.profile import ColumnProfile, profile_columns
from pinakes.errors import InputError
from pinakes.ingest.mapping import RowMapping, build_mapping
from pinakes.ingest.paths import flattened
from pinakes.model.record import Record
from pinakes.sources.port import RowSource, TableSource, id_column_of, notes_of

SAMPLE_HEAD = 2000
SAMPLE_SPREAD = 500
SAMPLE_READ = 200_000
"""Rows read to infer a spec: the first ones, those spread over the rest, and the last row looked at."""
SHOWN_RECORDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A spec inferred from a source's rows, and the first records that it makes of them."""

    inferred: Inferred
    loaded: LoadedSpec
    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()
    """Remarks on the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledTable:
    """A source's rows, as far as they were read, and the profiles of its columns."""

    source: str
    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[ColumnProfile]
    id_column: str | None
    """The primary key that the source declares, if it does."""
    notes: tuple[str, ...] = ()
    """Remarks on the source."""

    def propose(self, *, name: str, choices: Choices = NO_CHOICES) -> Proposal:
        """Infer a spec with the user's choices; its name is the nearest valid one to `name`."""
        try:
            inferred = infer_declaration(
                self.columns, name=catalogue_name(name), id_column=self.id_column, choices=choices
            )
        except InputError as error:
            raise InputError(f"{self.source}: {error.message}") from error
        loaded = LoadedSpec(
            spec=compile_text(inferred.declaration, origin="the inferred spec"), declaration=inferred.declaration
        )
        records = tuple(islice(_records_in(self.rows, build_mapping(loaded.spec)), SHOWN_RECORDS))
        return Proposal(inferred=inferred, loaded=loaded, records=records, notes=self.notes)


def _records_in(rows: Iterable[Mapping[str, Any]], mapping: RowMapping) -> Iterator[Record]:
    """Yield the records of rows; rows that make none are passed over."""
    for row in rows:
        with suppress(InputError):
            yield from mapping.records_of(row)


def profile_table(source: RowSource) -> ProfiledTable:
    """Profile the columns of a source."""
    rows = [flattened(row) for row in sample_rows(source)]
    return ProfiledTable(
        source=source.name,
        rows=rows,
        columns=profile_columns(rows),
        id_column=id_column_of(source),
        notes=tuple(_notes_on(source)),
    )


def _notes_on(source: RowSource) -> Iterator[str]:
    yield from notes_of(source)
    if isinstance(source, TableSource) and source.other_tables:
        yield f"other tables: {', '.join(source.other_tables)}; choose with {source.table_option}"


def propose(source: RowSource, *, name: str, choices: Choices = NO_CHOICES) -> Proposal:
    """Infer a spec from a source's rows, with the user's choices."""
    return profile_table(source).propose(name=name, choices=choices)


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
