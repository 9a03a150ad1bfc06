"""`debug.inspect`: the state of the indexes, the last errors, integrity, and why a record is or is not found."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import apsw
import numpy as np
from pydantic import Field

from pinakes.errors import InputError, NotFoundError, StorageError
from pinakes.model.principal import Action, Cost, Principal
from pinakes.model.record import RecordId
from pinakes.model.scope import WHOLE, Scope
from pinakes.shelf.embedded.view import EmbeddedView
from pinakes.shelf.port import ShelfReader
from pinakes.shelf.segments import SegmentedView
from pinakes.tools.addresses import address_of, parse_address
from pinakes.tools.admin.choice import choose_catalogue, one_of, rows_text, visible_catalogues
from pinakes.tools.admin.logs import LogRing
from pinakes.tools.admin.why import explain
from pinakes.tools.catalogue import OpenCatalogue
from pinakes.tools.generic import BARE_LIST, GenericParams, GenericResult
from pinakes.tools.relations import check_relations
from pinakes.tools.spec import ToolSpec

COUNTED_VECTORS = 50_000
"""Of how many records it is counted whether they have a vector."""
VECTORS_AT_ONCE = 5_000
SAMPLED_RECORDS = 1_000
CHECK_S = 3.0
"""How long the file of a catalogue is checked."""
STEPS_BETWEEN_LOOKS = 10_000
LONGEST_DETAIL = 500
MARKERS = 1
"""Documents of the text index that are no records: the one that says how far it has come."""


class Inspection(StrEnum):
    """What is asked for."""

    INDEX = "index"
    ERRORS = "errors"
    INTEGRITY = "integrity"
    WHY = "why"


class InspectParams(GenericParams):
    """The arguments of `debug.inspect`."""

    query_type: Annotated[Inspection, one_of(Inspection)]
    catalogue: str | None = None
    id: str | None = Field(default=None, description="For 'why'")
    query: str | None = Field(default=None, description="For 'why'")
    filters: dict[str, Any] | None = Field(default=None, description="For 'why', as in search")
    limit: int = Field(default=20, ge=1, le=200)


class InspectResult(GenericResult):
    """The answer of `debug.inspect`."""

    query_type: str
    rows: Annotated[list[dict[str, Any]], BARE_LIST]
    total: int
    has_more: bool


class _Finding(NamedTuple):
    """What a check found."""

    ok: bool | None
    """None: it could not be told."""
    detail: str = ""


class Inspector:
    """Looks inside."""

    def __init__(
        self,
        catalogues: Callable[[], Sequence[OpenCatalogue]],
        ring: LogRing | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`catalogues` gives those that are served now, `ring` the last lines of the log."""
        self._catalogues = catalogues
        self._monotonic = monotonic
        self._answers: dict[Inspection, Callable[[Principal, InspectParams], list[dict[str, Any]]]] = {
            Inspection.INDEX: lambda principal, params: [_index(one) for one in self._chosen(principal, params)],
            Inspection.ERRORS: lambda _principal, _params: [line.plain() for line in ring.errors()] if ring else [],
            Inspection.INTEGRITY: self._integrity,
            Inspection.WHY: self._why,
        }

    def inspect(self, principal: Principal, params: InspectParams) -> InspectResult:
        """Return what was asked for."""
        rows = self._answers[params.query_type](principal, params)
        return InspectResult(
            query_type=params.query_type,
            rows=rows[: params.limit],
            total=len(rows),
            has_more=len(rows) > params.limit,
        )

    def _chosen(self, principal: Principal, params: InspectParams) -> list[OpenCatalogue]:
        if params.catalogue is None:
            return visible_catalogues(self._catalogues(), principal)
        return [choose_catalogue(self._catalogues(), principal, params.catalogue)]

    def _integrity(self, principal: Principal, params: InspectParams) -> list[dict[str, Any]]:
        """Return what every check finds, with what is not well first: a page need not have room for all."""
        rows = [
            {"catalogue": catalogue.name, "check": check, "ok": finding.ok, "detail": finding.detail[:LONGEST_DETAIL]}
            for catalogue in self._chosen(principal, params)
            for check, finding in self._findings(catalogue)
        ]
        return sorted(rows, key=lambda row: row["ok"] is True)

    def _findings(self, catalogue: OpenCatalogue) -> Iterator[tuple[str, _Finding]]:
        """Yield what each check of a catalogue finds; one that storage fails has found something."""
        reader = catalogue.shelf.reader()
        checks: dict[str, Callable[[], _Finding]] = {
            "records can be read": lambda: _found(_unreadable(reader)),
            "index is up to date": lambda: _found(_outdated(reader)),
        }
        if catalogue.spec.editable and catalogue.spec.relations:
            checks["what records name is there"] = lambda: _found(check_relations(reader, catalogue.spec))
        if isinstance(reader, EmbeddedView):
            checks["counts agree"] = lambda: _found(_disagreeing(reader))
            checks["file is whole"] = lambda: self._damage(reader.store.path)
        for check, look in checks.items():
            try:
                yield check, look()
            except StorageError as error:
                yield check, _Finding(ok=False, detail=error.message)

    def _damage(self, path: Path) -> _Finding:
        """Return what SQLite finds wrong with a file, as far as it comes in a few seconds."""
        ends_at = self._monotonic() + CHECK_S
        try:
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
                db.set_progress_handler(lambda: self._monotonic() > ends_at, STEPS_BETWEEN_LOOKS)
                problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check(5)")]
        except apsw.InterruptError:
            return _Finding(ok=None, detail=f"not finished in {CHECK_S:g} s; no problem so far")
        except apsw.Error as error:
            return _Finding(ok=False, detail=f"cannot be read: {error}")
        return _found([] if problems == ["ok"] else problems)

    def _why(self, principal: Principal, params: InspectParams) -> list[dict[str, Any]]:
        if not params.id or not params.query:
            raise InputError("'why' needs an 'id' and a 'query'")
        catalogue, record_id = self._place(principal, params, params.id)
        scope = Scope(visibility=principal.visibility)
        reader = catalogue.shelf.reader()
        key = reader.find([record_id], scope=scope).get(record_id)
        record = None if key is None else reader.fetch([key], scope=scope).get(key)
        if key is None or record is None:
            alike = _alike(catalogue, params.id, scope)
            hint = f"; there is {alike}" if alike else ""
            raise NotFoundError(f"there is no record '{record_id[:200]}' in '{catalogue.name}'{hint}")
        found = explain(
            catalogue, key, record, query=params.query, filters=params.filters or {}, visibility=principal.visibility
        )
        return [{"id": address_of(catalogue.name, record_id), **found}]

    def _place(self, principal: Principal, params: InspectParams, address: str) -> tuple[OpenCatalogue, RecordId]:
        """Return the catalogue and the id that are meant: `CATALOGUE/ID`, or an id where the catalogue is clear."""
        place = parse_address(address)
        known = {one.name for one in visible_catalogues(self._catalogues(), principal)}
        if params.catalogue is None and place is not None and place[0] in known:
            return choose_catalogue(self._catalogues(), principal, place[0]), place[1]
        catalogue = choose_catalogue(self._catalogues(), principal, params.catalogue)
        is_address = place is not None and place[0] == catalogue.name
        return catalogue, place[1] if place is not None and is_address else RecordId(address)


def inspect_tools(inspector: Inspector) -> list[ToolSpec]:
    """Declare `debug.inspect`."""
    return [
        ToolSpec(
            name="debug.inspect",
            description="State of the indexes, recent errors, integrity, or why a search does (not) find a record.",
            params=InspectParams,
            result=InspectResult,
            action=Action.SERVER_ADMIN,
            cost=Cost.READ,
            run=inspector.inspect,
            text=lambda result: rows_text(result.query_type, result.total, result.rows),
            count_of=attrgetter("total"),
        )
    ]


def _index(catalogue: OpenCatalogue) -> dict[str, Any]:
    """Return the state of a catalogue's indexes."""
    reader = catalogue.shelf.reader()
    counted, vectors = _vectors(reader)
    state: dict[str, Any] = {
        "catalogue": catalogue.name,
        "shelf": type(catalogue.shelf).__name__,
        "records": reader.count(WHOLE),
        "change_no": reader.change_no,
        "stale": reader.stale,
        "model": None if reader.model is None else str(reader.model),
        "vectors": vectors,
        "vectors_counted_over": counted,
        "calibrated": catalogue.calibration is not None,
    }
    if isinstance(reader, SegmentedView):
        alive = reader.base_alive
        state["base_rows"] = reader.base.columns.size
        state["tail_rows"] = reader.tail.columns.size
        state["replaced_rows"] = 0 if alive is None else int(np.count_nonzero(~alive))
    if isinstance(reader, EmbeddedView):
        state["base_change_no"] = reader.base.change_no
        state["text_change_no"] = reader.text.change_no()
        state["text_documents"] = reader.searcher.num_docs - MARKERS
        state["text_segments"] = reader.searcher.num_segments
    return state


def _vectors(reader: ShelfReader) -> tuple[int, int]:
    """Return over how many records it was counted, and how many of them have a vector."""
    if reader.model is None:
        return 0, 0
    keys = reader.scan(scope=WHOLE, limit=COUNTED_VECTORS)
    found = 0
    for start in range(0, len(keys), VECTORS_AT_ONCE):
        found += int(np.count_nonzero(reader.vectors(keys[start : start + VECTORS_AT_ONCE]).any(axis=1)))
    return len(keys), found


def _found(problems: Sequence[str]) -> _Finding:
    return _Finding(ok=not problems, detail="; ".join(problems))


def _unreadable(reader: ShelfReader) -> list[str]:
    """Return the ids among a sample of the records that cannot be fetched."""
    keys = reader.scan(scope=WHOLE, limit=SAMPLED_RECORDS)
    missing = set(keys) - set(reader.fetch(keys, scope=WHOLE))
    return [f"no record behind '{record_id}'" for record_id in reader.ids(sorted(missing))[:5]]


def _outdated(reader: ShelfReader) -> list[str]:
    return [] if reader.stale is None else [reader.stale]


def _disagreeing(view: EmbeddedView) -> list[str]:
    """Say where the store and what is derived from it do not have as many records, or are not of the same change."""
    with view.store.snapshot():
        stored, store_change = view.store.count(), view.store.change_no()
    if store_change != view.change_no:
        return [f"the store is at change {store_change} and the index at {view.change_no}: it is being written to"]
    counts = {
        "the store": stored,
        "the columns": view.count(WHOLE),
        "the text index": view.searcher.num_docs - MARKERS,
    }
    if len(set(counts.values())) == 1:
        return []
    return [", ".join(f"{name} has {count} records" for name, count in counts.items())]


def _alike(catalogue: OpenCatalogue, text: str, scope: Scope) -> str | None:
    """Return the address of the record whose name is most like a text that is no id."""
    reader = catalogue.shelf.reader()
    matches = reader.titles_like(text, scope=scope, limit=1)
    return address_of(catalogue.name, reader.ids([matches[0].key])[0]) if matches else None
