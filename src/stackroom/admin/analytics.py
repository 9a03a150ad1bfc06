"""`analytics.query`: listening, bandwidth, popular content, queries and those without results."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from stackroom.admin.declare import ROWS, QueryResult, parse_range
from stackroom.analytics.events import EventReports, EventSpan, ReportPeriod
from stackroom.control.accounts.users import fold_name
from stackroom.control.database.tables import storable, utc_now
from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.model.principal import Action
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE, Scope, Visibility
from stackroom.tools.budget import OffsetParams
from stackroom.tools.catalogue import OpenCatalogue, address_of
from stackroom.tools.operation import AnyOperation, Call, Needs, operation
from stackroom.tools.spec import GenericParams, one_of, optional


class Report(StrEnum):
    """The kinds of query."""

    LISTENING = "listening"
    BANDWIDTH = "bandwidth"
    POPULAR = "popular"
    TOP_QUERIES = "top_queries"
    NO_RESULTS = "no_results"


BY_PERIOD = frozenset({Report.LISTENING, Report.BANDWIDTH})


class AnalyticsParams(OffsetParams, GenericParams):
    """The arguments of `analytics.query`."""

    query_type: Annotated[Report, one_of(Report)]
    user: str | None = optional("Only of this user")
    since: str | None = optional("First day or moment, UTC", alias="from")
    until: str | None = optional("Last day, or moment", alias="to")
    period: ReportPeriod | None = optional("Rows by period rather than by user")
    limit: int = Field(default=20, ge=1, le=200)


def analytics_tool(reports: EventReports) -> AnyOperation:
    """Declare `analytics.query`."""

    @operation(
        "analytics.query",
        needs=Needs(any_of=(Action.VIEW_ANALYTICS,)),
        faces=ROWS,
        summary="Listening, bandwidth, popular content, top queries, queries without results.",
    )
    def query(call: Call, params: AnalyticsParams) -> QueryResult:
        """Return a page of a report."""
        asked, span = params.query_type, _span(call, params, reports)
        if params.period is not None and asked not in BY_PERIOD:
            raise InputError(
                "'period' is for listening and bandwidth; 'from' and 'to' bound the others"
            )
        if asked in BY_PERIOD:
            report = reports.listening if asked is Report.LISTENING else reports.bandwidth
            rows, total = report(span, by=params.period)
        elif asked is Report.POPULAR:
            played, total = reports.popular(span)
            rows = _with_titles(call, played)
        else:
            rows, total = reports.searched(span, without_results=asked is Report.NO_RESULTS)
        has_more = params.offset + len(rows) < total
        return QueryResult(query_type=asked, rows=rows, total=total, has_more=has_more)

    return query


def _find_user(reports: EventReports, name: str) -> str:
    """Return the name of a user; refuse one who does not exist and never did anything."""
    folded = storable(fold_name(name))
    known = reports.find_user_names(folded)
    if known != [folded]:
        hint = did_you_mean(folded, known)
        raise NotFoundError(
            f"there is no user '{name[:60]}', and no event of one{hint}; omit it for all"
        )
    return folded


def _visibility(call: Call) -> Visibility:
    """Return what the caller sees, without catalogues of which they see a part: counts are of whole
    ones.
    """
    seen = call.principal.visibility
    if seen.audiences is None:
        return seen
    readers = {one.name: one.shelf.reader() for one in call.visible}
    partly = {
        name for name, reader in readers.items() if reader.count(call.scope) < reader.count(WHOLE)
    }
    return replace(seen, hidden=frozenset(seen.hidden | partly))


def _with_titles(call: Call, played: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of played records with their addresses and titles."""
    rows = []
    for row in played:
        # The catalogue of a play may be unknown: then it is the first that has the record.
        among = [one for one in call.visible if row["catalogue"] in ("", one.name)]
        record_id = RecordId(row["id"])
        catalogue, title = _find_titled(among, record_id, call.scope) or (row["catalogue"], None)
        address = address_of(catalogue, record_id) if catalogue else record_id
        counts = {name: row[name] for name in ("plays", "seconds", "listeners")}
        rows.append({"id": address, "title": title, **counts})
    return rows


def _span(call: Call, params: AnalyticsParams, reports: EventReports) -> EventSpan:
    user = None if params.user is None else _find_user(reports, params.user)
    since, until = parse_range(params.since, params.until, names=("from", "to"), now=utc_now())
    page = {"offset": params.offset, "limit": params.limit}
    return EventSpan(user=user, since=since, until=until, visibility=_visibility(call), **page)


def _find_titled(
    catalogues: Sequence[OpenCatalogue], record_id: RecordId, scope: Scope
) -> tuple[str, str] | None:
    """Return the first catalogue that has a record of this id, with the record's title."""
    for catalogue in catalogues:
        record = catalogue.view().find_record(record_id, scope=scope)
        if record is not None:
            return catalogue.name, catalogue.spec.title_of(record)
    return None
