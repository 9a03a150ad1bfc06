"""One catalogue of a library, to be asked and edited from Python, and its answers as values."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from html import escape
from typing import Any, NamedTuple, overload

from stackroom.catalogue.spec import FieldType
from stackroom.errors import InputError, NotFoundError
from stackroom.frozen import frozen
from stackroom.gate.gate import Gate
from stackroom.generic import tools
from stackroom.generic.explain import WhyParams
from stackroom.generic.export import (
    Column,
    ExportedTable,
    Row,
    cell_of,
    figures_table,
    list_columns,
    plain_values,
    to_arrow,
)
from stackroom.generic.recommend import RecommendParams
from stackroom.generic.record import url_of
from stackroom.generic.shapes import BrowseParams, SearchParams, ShownRecord, SimilarParams
from stackroom.model.record import Record as StoredRecord
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue
from stackroom.tools.edits import MutateParams, edit_operation
from stackroom.tools.filters import ADULT, BOUNDS
from stackroom.tools.operation import Call, operation
from stackroom.tools.reading import EVERY
from stackroom.tools.spec import GenericParams, validate_fields

SHOWN_ROWS = 20
SHOWN_CHARS = 80


@frozen
class Record:
    """A record: its id, kind and title, all of its values by field, and its place in an answer."""

    id: str
    catalogue: str
    kind: str
    title: str
    values: Mapping[str, Any]
    text: str = ""
    """The part of its text that answers the query best."""
    url: str = ""
    score: float | None = None
    relevance: str | None = None
    """How well it answers: IDENTICAL, HIGHLY_SIMILAR, SIMILAR, RELEVANT; None where it is only
    near, or was listed.
    """
    signals: Mapping[str, float] = field(default_factory=dict)
    """How much each signal speaks for it, of a recommendation."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a field, or the default where the record has none."""
        return self.values.get(name, default)


@frozen
class Table:
    """Rows with the names and types of their columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def to_arrow(self) -> Any:
        """Return an Arrow table, which pyarrow, polars, DuckDB and pandas take as it is."""
        return to_arrow(ExportedTable(columns=self.columns, rows=iter(self.rows)))

    def to_pandas(self) -> Any:
        """Return a DataFrame of pandas, which has to be installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise InputError(
                "pandas is not installed; to_dicts() and to_arrow() need nothing"
            ) from error
        return pandas.DataFrame(self.rows, columns=[column.name for column in self.columns])

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        head = "".join(f"<th>{escape(column.name)}</th>" for column in self.columns)
        lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows[:SHOWN_ROWS])
        left_out = len(self.rows) - SHOWN_ROWS
        note = f"<p>and {left_out:,} more</p>" if left_out > 0 else ""
        return f"<table><tr>{head}</tr>{lines}</table>{note}"


def _cell(value: Any) -> str:
    text = "" if value is None else str(cell_of(value))
    return f"<td>{escape(text if len(text) <= SHOWN_CHARS else f'{text[:SHOWN_CHARS]}…')}</td>"


@frozen
class Results(Table, Sequence[Record]):
    """Records in order, and as a table. `total` counts all that answer, or that have the
    filters.
    """

    records: Sequence[Record]
    total: int
    evidence: str | None = None
    """How well the best of them answer: strong, weak or none; None of a list."""
    understood: Sequence[str] = ()
    """The conditions that were read in the words of the query or of the wishes."""
    notes: Sequence[str] = ()

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        return self.records[place]

    def __len__(self) -> int:
        return len(self.records)


@frozen
class Change:
    """A change that was made: what it changed, field by field, and how to take it back."""

    call_id: str | None
    """Names the change in the log; None where everything was so already."""
    records: Sequence[Mapping[str, Any]]
    """Each record with `id`, `kind`, `op` and `fields`, which have `field`, `before` and
    `after`.
    """
    notes: Sequence[str]
    take_back: Callable[[str], Change] = field(repr=False, compare=False)

    def undo(self) -> Change:
        """Take the change back, and return the change that did."""
        if self.call_id is None:
            raise InputError("nothing was changed, so there is nothing to undo")
        return self.take_back(self.call_id)


@frozen
class Explanation:
    """Why a record has its rank in an answer, or why it is not in it."""

    rank: int | None
    because: Sequence[str]
    parts: Mapping[str, Any]
    """The measures behind it: score, strength, order, ranks by words and by meaning."""

    def __str__(self) -> str:
        return "\n".join(self.because)


def text_columns(*names: str) -> list[Column]:
    """Return columns of texts."""
    return [Column(name, FieldType.TEXT) for name in names]


MOST_RESULTS = 1_000_000

Stated = str | Record
"""A record, or its id or title."""


class NamedParams(GenericParams):
    """A record, by its id or a title."""

    name: str


class NamedRecord(NamedTuple):
    """A record that was named, and what is not certain about it."""

    view: CatalogueView
    record: StoredRecord
    doubt: str = ""


@operation("get")
def get_named(call: Call, params: NamedParams) -> NamedRecord:
    """Read one record of a catalogue whole, by its id or a title."""
    view = call.catalogues[0].view()
    if (record := view.find_stated(params.name, scope=call.scope)) is not None:
        return NamedRecord(view, record)
    choice = view.resolve(params.name, scope=call.scope)
    if choice.record is None:
        near = (
            f"did you mean {', '.join(choice.suggestions)}?"
            if choice.suggestions
            else "stackroom search finds ids"
        )
        raise NotFoundError(f"nothing in '{view.name}' has the id or title '{params.name}'; {near}")
    return NamedRecord(view, choice.record, choice.doubt)


class Catalogue:
    """A catalogue of an open library. Safe to use from several threads; each answer is of one
    moment.
    """

    def __init__(
        self, name: str, opened: Callable[[], OpenCatalogue], gate: Callable[[], Gate]
    ) -> None:
        self.name = name
        self._opened = opened
        self._gate = gate

    def __repr__(self) -> str:
        return f"<Catalogue {self.name}: {len(self):,} records>"

    def __len__(self) -> int:
        return self._view().reader.count(WHOLE)

    @property
    def title(self) -> str:
        """The catalogue's name for people."""
        return self._view().spec.title

    @property
    def fields(self) -> dict[str, str]:
        """The fields of its records, each with its type."""
        return {
            field.name: field.type.value
            for field in self._view().spec.fields.values()
            if field.shown
        }

    def search(
        self,
        query: str = EVERY,
        *,
        limit: int | None = 10,
        sort: str = "",
        exclude: Mapping[str, Any] | None = None,
        adult: bool = False,
        filters: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Results:
        """Return the records that answer a query, the best first; without one, all that have the
        filters.

        Filters are named after fields: `year=2015`, `price=(None, 20)` for a range, `tags=["space",
        "drama"]`. They can be given as `filters` too, where a field is called like an argument.
        `sort` is a field, `"-year"` the greatest first. With `limit=None`, everything that is
        listed is returned; a query in words ranks 99 records at most.
        """
        wanted = as_filters({**(filters or {}), **fields} | ({ADULT: True} if adult else {}))
        asked = {
            "query": query,
            "catalogue": self.name,
            "filters": wanted,
            "exclude": as_filters(exclude or {}),
        }
        params = validate_fields(SearchParams, {**asked, "sort": sort})
        most = MOST_RESULTS if limit is None else limit
        found = self._gate().ask(tools.search, params.model_copy(update={"limit": most}))
        understood = [one.text for one in found.understood.phrases] if found.understood else []
        return self._results(
            found.results,
            total=found.total,
            evidence=found.evidence,
            understood=understood,
            notes=found.notes,
        )

    def similar(self, record: Stated, *, limit: int = 8) -> Results:
        """Return the records nearest in meaning to one."""
        params = validate_fields(
            SimilarParams, {"id": f"{self.name}/{id_of(record)}", "limit": limit}
        )
        found = self._gate().ask(tools.similar, params)
        return self._results(found.results, total=len(found.results))

    def recommend(
        self,
        likes: Iterable[Stated] = (),
        *,
        dislikes: Iterable[Stated] = (),
        wishes: str = "",
        limit: int = 8,
        **fields: Any,
    ) -> Results:
        """Return what suits a taste: liked and disliked records, wishes in plain words, and filters
        as of `search`.
        """
        asked = {
            "catalogue": self.name,
            "likes": [id_of(one) for one in likes],
            "dislikes": [id_of(one) for one in dislikes],
            "wishes": wishes,
            "filters": as_filters(fields),
            "limit": limit,
            "include": ["tiles"],
        }
        found = self._gate().ask(tools.recommend, validate_fields(RecommendParams, asked))
        understood = [one.text for one in found.understood]
        return self._results(
            found.results, total=len(found.results), understood=understood, notes=found.notes
        )

    def get(self, record: str) -> Record:
        """Return a record by its id or by a title; NotFoundError, with what may be meant, where
        none has it.
        """
        found = self._get(record)
        return _whole(found.view, found.record)

    def browse(
        self,
        field: str | None = None,
        *,
        by: str | Sequence[str] = (),
        of: str | None = None,
        sort: str | None = None,
        query: str | None = None,
        limit: int = 30,
        **fields: Any,
    ) -> Table:
        """Return the values of a field with how many records have each, or figures by group.

        `browse("country")` counts countries; `browse(by="country", of="price")` has the least,
        greatest, mean and median price and the sum of each; without both, there is a row for each
        field.
        """
        groups = [by] if isinstance(by, str) else list(by)
        asked = {
            "catalogue": self.name,
            "field": field,
            "by": groups or None,
            "of": of,
            "sort": sort,
            "query": query,
        }
        params = validate_fields(
            BrowseParams, {**asked, "filters": as_filters(fields) or None, "limit": limit}
        )
        found = self._gate().ask(tools.browse, params).catalogues[0]
        if params.has_figures:
            figures = figures_table(found)
            return Table(columns=figures.columns, rows=list(figures.rows))
        if field is None:
            rows = [(one.field, one.type, one.min, one.max) for one in found.fields]
            return Table(columns=text_columns("field", "type", "min", "max"), rows=rows)
        values = [(one.value, one.count) for one in found.fields[0].values]
        return Table(columns=[*text_columns("value"), Column("count", FieldType.INT)], rows=values)

    def explain(self, query: str, record: Stated) -> Explanation:
        """Return why a search has a record at its rank, or why it has not."""
        named = self._get(id_of(record)).record
        asked = WhyParams(id=f"{self.name}/{named.id}", arguments={"query": query})
        told = self._gate().ask(tools.explain, asked)
        parts = told.model_dump(mode="json", exclude={"because", "rank"})
        return Explanation(rank=told.rank, because=told.because, parts=parts)

    def edit(self, record: Stated, **fields: Any) -> Change:
        """Set values of a record; None removes one. The change can be undone."""
        return self._mutate(action="update", id=id_of(record), fields=fields)

    def insert(self, kind: str | None = None, **fields: Any) -> Change:
        """Add a record of a kind, which has to be named where there are several."""
        return self._mutate(
            action="create", kind=kind or next(iter(self._view().spec.kinds)), fields=fields
        )

    def delete(self, record: Stated, *, cascade: bool = False) -> Change:
        """Delete a record; with `cascade` also those that refer to it."""
        return self._mutate(action="delete", id=id_of(record), cascade=cascade)

    def undo(self, call_id: str) -> Change:
        """Take back a change, by the id that it was given."""
        return self._mutate(action="undo", id=call_id)

    def _mutate(self, **arguments: Any) -> Change:
        """Change something at once; the id of the change is what an assistant's call has."""
        edit = edit_operation([self._opened()])
        told = self._gate().ask(edit, validate_fields(MutateParams, arguments))
        records = [one.model_dump(mode="json") for one in told.changes]
        return Change(call_id=told.call_id, records=records, notes=told.notes, take_back=self.undo)

    def _get(self, record: str) -> NamedRecord:
        return self._gate().ask(get_named, NamedParams(name=record))

    def _view(self) -> CatalogueView:
        return self._opened().view()

    def _results(self, shown: Sequence[ShownRecord], *, total: int, **told: Any) -> Results:
        view = self._view()
        whole = list_whole(view, shown)
        records = [whole[one.id] for one in shown if one.id in whole]
        columns = list_columns(view.spec, is_ranked=True)
        cells = [{**one.values, "score": one.score, "relevance": one.relevance} for one in records]
        rows = [[values.get(column.name) for column in columns] for values in cells]
        return Results(columns=columns, rows=rows, records=records, total=total, **told)


def as_filters(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return filters as tools take them: a pair is a range, with None where it is open."""
    filters = dict(stated)
    for name, value in stated.items():
        if isinstance(value, tuple):
            filters[name] = {
                bound: end for bound, end in zip(BOUNDS, value, strict=True) if end is not None
            }
    return filters


def id_of(stated: Stated) -> str:
    """Return the id of a record, or what was stated in its place."""
    return stated.id if isinstance(stated, Record) else stated


def list_whole(view: CatalogueView, shown: Sequence[ShownRecord]) -> dict[str, Record]:
    """Return the records of a catalogue that are shown, by address, with all of their values."""
    by_id = {RecordId(one.id.removeprefix(f"{view.name}/")): one for one in shown}
    stored = view.reader.fetch(
        list(view.reader.find(list(by_id), scope=WHOLE).values()), scope=WHOLE
    )
    whole: dict[str, Record] = {}
    for record in stored.values():
        one = by_id[record.id]
        placed = {
            "text": one.text,
            "score": one.score,
            "relevance": one.relevance,
            "signals": one.signals or {},
        }
        whole[one.id] = _whole(view, record, **placed)
    return whole


def _whole(view: CatalogueView, record: StoredRecord, **placed: Any) -> Record:
    return Record(
        id=record.id,
        catalogue=view.name,
        kind=record.kind,
        title=view.spec.title_of(record),
        values=plain_values(record, view.spec),
        url=url_of(view.spec, view.name, record),
        **placed,
    )
