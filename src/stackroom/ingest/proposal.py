"""A proposal: the spec that is inferred from a source's rows, and the first records that it makes
of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.infer.columns import catalogue_name, catalogue_title
from stackroom.catalogue.infer.declare import NO_CHOICES, Choices, Inferred, infer_declaration
from stackroom.catalogue.profile import ColumnProfile, profile_columns
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.ingest.grouping import iter_records
from stackroom.ingest.ledger import SHOWN
from stackroom.ingest.values import READ_AS, flattened_rows, is_converted
from stackroom.model.record import Record
from stackroom.sources.location import stem_of
from stackroom.sources.port import CellChange, Note, RowSource, describe_notes

# the number of cells up to which a table is read whole to infer its spec, in one to two seconds
WHOLE_CELLS = 400_000
SAMPLE_HEAD = 2000
# rows of a larger table: the first ones, which are all kept, and the last row looked at
SAMPLE_READ = 200_000
SHOWN_RECORDS = 10
MOST_COLUMNS = 5_000


@frozen
class Proposal:
    """A spec inferred from a source's rows, and the first records that it makes of them."""

    inferred: Inferred
    loaded: LoadedSpec
    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()


@frozen
class ProfiledTable:
    """A source's rows, as far as they were read, and the profiles of its columns."""

    source: str
    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[ColumnProfile]
    id_column: str | None  # the primary key that the source declares, if it does
    # the columns that the source joins from other tables, and where each is from
    origins: Mapping[str, str]
    notes: tuple[Note, ...] = ()

    def propose(self, *, name: str, choices: Choices = NO_CHOICES) -> Proposal:
        """Infer a spec with the user's choices; its name is the nearest valid one to `name`, its
        title made of it.
        """
        try:
            inferred = infer_declaration(
                self.columns,
                name=catalogue_name(name),
                title=catalogue_title(name),
                id_column=self.id_column,
                choices=choices,
                origins=self.origins,
            )
        except InputError as error:
            raise InputError(f"{self.source}: {error.message}") from error
        loaded = LoadedSpec.of(inferred.declaration, origin="the inferred spec")
        records = tuple(islice(iter_records(self.rows, loaded.spec), SHOWN_RECORDS))
        notes = describe_notes([*self.notes, *self._iter_conversions(loaded.spec)])
        return Proposal(inferred=inferred, loaded=loaded, records=records, notes=tuple(notes))

    def _iter_conversions(self, spec: CatalogueSpec) -> Iterator[CellChange]:
        """Yield the fields with texts that say more than their values, as the ledger has them after
        the build.
        """
        columns = {column.name: column for column in self.columns}
        for field in spec.fields.values():
            column = columns.get(field.source_path) if field.type in READ_AS else None
            texts = column.texts if column else ()
            written = [place for place, text in enumerate(texts) if is_converted(text, field)]
            if column and written:
                count = int(np.isin(column.codes, written).sum())
                example = f"'{texts[written[0]][:SHOWN]}'"
                sample = f" in a sample of {column.rows:,} rows" if column.is_sample else ""
                kind = f"{READ_AS[field.type]}{sample}"
                yield CellChange(kind=kind, column=field.name, example=example, count=count)


def profile_table(source: RowSource) -> ProfiledTable:
    """Profile the columns of a source: by all rows, or of many the first ones and an even spread of
    the rest.
    """
    sample = _Rows()
    problems: list[str] = []
    for row in islice(source.iter_rows(), SAMPLE_READ if source.is_whole else SAMPLE_HEAD):
        if row.problem:
            problems.append(f"{row.place}: {row.problem}")
        elif len(row.values) > MOST_COLUMNS:
            raise InputError(
                f"{source.name}: it has {len(row.values):,} columns, and a spec is proposed for at"
                f" most {MOST_COLUMNS:,}; leave some out, or make a row of each (in pandas: melt),"
                " and add it again"
            )
        else:
            sample.add(row.values)
    if problems and not sample.head:
        raise InputError(f"{source.name}: no row can be read; {problems[0]}")
    notes: list[Note] = [*source.notes]
    if source.other_tables:
        notes.append(
            f"other tables: {', '.join(source.other_tables)}; choose with {source.table_option}"
        )
    if problems:
        count = "1 row" if len(problems) == 1 else f"{len(problems):,} rows"
        notes.append(f"{count} cannot be read and would be left out, as {problems[0]}")
    is_whole = source.is_whole and sample.step == 1 and sample.count < SAMPLE_READ
    rows = flattened_rows(sample.head + sample.spread)
    return ProfiledTable(
        source=source.name,
        rows=rows,
        columns=profile_columns(rows, is_sample=not is_whole),
        id_column=source.id_column,
        origins=source.origins,
        notes=tuple(notes),
    )


class _Rows:
    """The rows of a table: all while their cells are within the budget, then every second, every
    fourth and so on.
    """

    def __init__(self) -> None:
        self.head: list[Mapping[str, Any]] = []
        self.spread: list[Mapping[str, Any]] = []
        self.count = 0
        self.step = 1
        self._cells = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep a row, if it is among those to keep."""
        self.count += 1
        if len(self.head) < SAMPLE_HEAD:
            self.head.append(row)
            self._cells += len(row)
        elif self.count % self.step == 0:
            self.spread.append(row)
            self._cells += len(row)
        while self._cells > WHOLE_CELLS and len(self.spread) > 1:
            self.spread, self.step = self.spread[::2], 2 * self.step
            self._cells = sum(map(len, self.head)) + sum(map(len, self.spread))


def name_of(location: str, *, table: str | None = None) -> str:
    """Return the default name of a catalogue built from a location."""
    stem = stem_of(location)
    return catalogue_name(f"{stem} {table}" if table else stem)
