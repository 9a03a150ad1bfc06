"""`debug.inspect`: the state of the indexes, the last errors, and integrity."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from stackroom.admin.declare import ADMINISTERS, ROWS, QueryResult
from stackroom.admin.logs import LogRing
from stackroom.errors import StorageError
from stackroom.tools.budget import PagedParams
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.health import PartHealth, examine
from stackroom.tools.operation import AnyOperation, Call, operation
from stackroom.tools.spec import GenericParams, one_of, optional

CHECK_S = 3.0  # time limit for the check of one catalogue
LONGEST_DETAIL = 500


class Inspection(StrEnum):
    """The kinds of inspection."""

    INDEX = "index"
    ERRORS = "errors"
    INTEGRITY = "integrity"


class InspectParams(PagedParams, GenericParams):
    """The arguments of `debug.inspect`."""

    query_type: Annotated[Inspection, one_of(Inspection)]
    catalogue: str | None = optional("Only this one")
    limit: int = Field(default=20, ge=1, le=200)


class _CheckTimeoutError(Exception):
    """The check of a catalogue took longer than a call may."""


@dataclass(frozen=True)
class Inspector:
    """Answers `debug.inspect` over the catalogues that are served."""

    ring: LogRing | None = None  # the last lines of the log
    monotonic: Callable[[], float] = time.monotonic

    def inspect(self, call: Call, params: InspectParams) -> QueryResult:
        """Run an inspection."""
        rows = self._rows(call, params)
        end = params.start + params.limit
        has_more = len(rows) > end
        return QueryResult(
            query_type=params.query_type,
            rows=rows[params.start : end],
            total=len(rows),
            has_more=has_more,
            cursor=str(end) if has_more else None,
        )

    def _rows(self, call: Call, params: InspectParams) -> list[dict[str, Any]]:
        if params.query_type is Inspection.ERRORS:
            return [line for _number, line in self.ring.errors()] if self.ring else []
        chosen = call.visible if params.catalogue is None else [call.choose(params.catalogue)]
        if params.query_type is Inspection.INDEX:
            return [_index(one) for one in chosen]
        rows = [
            {
                "catalogue": catalogue.name,
                "check": part,
                "ok": is_ok,
                "detail": detail[:LONGEST_DETAIL],
            }
            for catalogue in chosen
            for part, is_ok, detail in self._findings(catalogue)
        ]
        # problems first: a page may not have room for all
        return sorted(rows, key=lambda row: row["ok"] is True)

    def _findings(self, catalogue: OpenCatalogue) -> Iterator[PartHealth]:
        """Yield the findings of a catalogue's health check within the time limit."""
        ends_at = self.monotonic() + CHECK_S

        def checkpoint() -> None:
            if self.monotonic() > ends_at:
                raise _CheckTimeoutError

        try:
            yield from examine(catalogue, checkpoint=checkpoint)
        except _CheckTimeoutError:
            yield PartHealth(
                "all",
                None,
                f"not finished in {CHECK_S:g} s; run: stackroom job run integrity_check",
            )


def inspect_tool(inspector: Inspector) -> AnyOperation:
    """Declare `debug.inspect`."""
    return operation(
        "debug.inspect",
        needs=ADMINISTERS,
        faces=ROWS,
        summary="State of the indexes, recent errors, or integrity.",
    )(inspector.inspect)


def _index(catalogue: OpenCatalogue) -> dict[str, Any]:
    """Return the state of a catalogue's indexes as a row; why it cannot be read where it cannot."""
    try:
        shelf = catalogue.shelf.describe()
        return {
            "catalogue": catalogue.name,
            "shelf": shelf.kind,
            "records": shelf.records,
            "change_no": shelf.change_no,
            "stale": shelf.stale,
            "model": shelf.model and str(shelf.model),
            "awaiting_vectors": catalogue.shelf.reader().awaiting_vectors,
            "calibrated": catalogue.searcher.calibration_of(shelf.model) is not None,
            **shelf.counters,
        }
    except StorageError as error:
        return {"catalogue": catalogue.name, "problem": error.message}
