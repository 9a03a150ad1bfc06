"""`server.query`: version, catalogues, memory, sessions and configuration of the server, and its
audit; `debug.inspect`: the state of the indexes, the last errors, and integrity.
"""

import os
import platform
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from stackroom import __version__
from stackroom.admin.audit import LONGEST_TEXT, ListAudit, check_calls, list_calls
from stackroom.admin.declare import ADMINISTERS, ROWS, QueryResult, RowsResult
from stackroom.admin.logs import LogRing
from stackroom.control.accounts.credentials import Credential
from stackroom.control.audit import AuditLog
from stackroom.errors import InputError, NotFoundError, StorageError
from stackroom.frozen import frozen
from stackroom.model.principal import Action, Identity, Outcome, Principal
from stackroom.model.scope import Scope
from stackroom.net.addresses import REDACTED, SECRET_NAME, shown_address
from stackroom.settings import Settings, read_package_sections
from stackroom.tools.budget import OffsetParams, PagedParams
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.health import PartHealth, examine
from stackroom.tools.operation import AnyOperation, Call, operation
from stackroom.tools.resources import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.spec import BARE_LIST, GenericParams, one_of, optional

SUMMARY = (
    "The server: version and catalogues, memory, sessions, configuration without secrets; the"
    " audit of every call, newest first, and a check of it."
)
CONFIG_ADDRESS = "config://server"
try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]
STATUS_FILE = Path("/proc/self/status")
IN_USE = timedelta(days=1)  # how recently a token was used that is listed with the sessions
OF_ONE_PROCESS = {
    "info": (
        "'calls_in_flight' and 'streams' are of this process; other servers of this library have"
        " their own"
    ),
    "memory": "of this process; other servers of this library have their own",
    "sessions": (
        "'streams' are those of this process; users.mutate ends those of a user (end_sessions)"
    ),
}
"""Notes on answers of which something is of one process."""
MEMORY_NAMES = {
    "VmRSS": "resident_bytes",
    "VmHWM": "peak_resident_bytes",
    "VmSize": "address_bytes",
}
OF_AUDIT = ("user", "tool", "outcome", "since", "until")


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return all settings as JSON values, with secrets redacted, also those inside URLs."""
    plain: dict[str, Any] = _plain("", settings.model_dump(exclude={"sections"}))
    for name, section in read_package_sections(settings).items():
        values = _plain("", section.model_dump())
        plain |= values if name in values else {name: values}
    return plain


def config_resources(settings: Settings) -> list[ResourceSpec]:
    """Declare `config://server`."""

    def read(_principal: Principal, rest: str) -> ResourceContent | None:
        if rest:
            return None
        text = orjson.dumps(plain_settings(settings), option=orjson.OPT_INDENT_2).decode()
        return ResourceContent(mime_type="application/json", text=text)

    entry = ResourceEntry(
        uri=CONFIG_ADDRESS, name="server configuration", mime_type="application/json"
    )
    return [
        ResourceSpec(
            prefix=CONFIG_ADDRESS,
            action=Action.SERVER_ADMIN,
            entries=lambda _who: [entry],
            read=read,
        )
    ]


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(name, one) for one in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    if SECRET_NAME.search(name):
        return REDACTED if text else ""
    return shown_address(text)


class ServerQuery(StrEnum):
    """The kinds of query."""

    INFO = "info"
    MEMORY = "memory"
    SESSIONS = "sessions"
    CONFIG = "config"
    AUDIT = "audit"
    AUDIT_CHECK = "audit_check"


class ServerParams(OffsetParams, GenericParams):
    """The arguments of `server.query`."""

    query_type: Annotated[ServerQuery, one_of(ServerQuery)]
    limit: int = Field(default=20, ge=1, le=200)
    user: str | None = optional("Audit: calls of this user", max_length=LONGEST_TEXT)
    tool: str | None = optional("Audit: this tool, URI or account/login", max_length=LONGEST_TEXT)
    outcome: Annotated[Outcome | None, one_of(Outcome)] = None
    since: str | None = optional(
        "Audit: since a day, moment, or 2d, 1h ago", max_length=LONGEST_TEXT
    )
    until: str | None = Field(default=None, max_length=LONGEST_TEXT)
    head: str | None = optional("For 'audit_check': begin after it", max_length=LONGEST_TEXT)


class ServerResult(RowsResult):
    """The answer of `server.query`."""

    long_parts: ClassVar[tuple[str, ...]] = ("values.*",)

    query_type: str
    values: dict[str, Any]
    rows: Annotated[list[dict[str, Any]], BARE_LIST]
    """Catalogues, memory by part, or sessions."""
    total: int
    has_more: bool


USED = {ServerQuery.AUDIT: OF_AUDIT, ServerQuery.AUDIT_CHECK: ("head",)}
"""The arguments that only one query has."""
Answer = tuple[dict[str, Any], list[dict[str, Any]]]
"""Values and rows."""


@frozen
class Server:
    """Answers `server.query` from the state of the server; the callables are called for each
    query.
    """

    settings: Settings
    started_at: datetime
    # returns the identity behind each open stream
    identities: Callable[[], Sequence[Identity]] = tuple
    # returns the degraded parts, each with the reason
    problems: Callable[[], Mapping[str, str]] = dict
    # returns figures such as running calls and dropped events
    counters: Callable[[], Mapping[str, int | float]] = dict
    credentials: Callable[[datetime], Sequence[Credential]] = lambda _used_since: ()
    """Returns the sessions that have not ended, and the tokens that were used since a time."""
    audit: AuditLog | None = None  # the audit; None where there is none
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def query(self, call: Call, params: ServerParams) -> ServerResult:
        """Run a query and return one page of its rows."""
        asked = params.query_type
        _require_no_more_than_used(params)
        if asked is ServerQuery.AUDIT:
            wanted = ListAudit(
                **{name: getattr(params, name) for name in (*OF_AUDIT, "offset", "limit")}
            )
            page = list_calls(self._require_audit(), call.principal, wanted, now=self.now())
            return ServerResult(query_type=asked, values={}, **dict(page))
        rows: list[dict[str, Any]] = []
        notes = [OF_ONE_PROCESS[asked]] if asked in OF_ONE_PROCESS else []
        match asked:
            case ServerQuery.INFO:
                values, rows = self._info(call)
            case ServerQuery.MEMORY:
                values, rows = _memory(call)
            case ServerQuery.SESSIONS:
                values, rows = self._sessions()
            case ServerQuery.CONFIG:
                values = plain_settings(self.settings)
            case ServerQuery.AUDIT_CHECK:
                values, notes = check_calls(self._require_audit(), after=params.head)
        end = params.offset + params.limit
        return ServerResult(
            query_type=asked,
            values=values,
            rows=rows[params.offset : end],
            total=len(rows),
            has_more=end < len(rows),
            notes=notes,
        )

    def _require_audit(self) -> AuditLog:
        if self.audit is None:
            raise NotFoundError(
                "this server has no accounts, and so no audit; make the first: stackroom user add"
                " NAME --role admin"
            )
        return self.audit

    def _info(self, call: Call) -> Answer:
        values = {
            "version": __version__,
            "python": platform.python_version(),
            "platform": platform.system(),
            "started_at": _seconds(self.started_at),
            "process": os.getpid(),
            "uptime_s": round((self.now() - self.started_at).total_seconds()),
            "problems": dict(self.problems()),
            **self.counters(),
        }
        return values, [_catalogue(one, call.scope) for one in call.visible]

    def _sessions(self) -> Answer:
        streams = Counter(self.identities())
        live = self.credentials(self.now() - IN_USE)
        known = {one.id for one in live}
        counts = Counter({one.credential_id: count for one, count in streams.items()})
        rows = [_credential_row(one, counts[one.id]) for one in live]
        rows += [
            _stream_row(one, count)
            for one, count in streams.items()
            if one.credential_id not in known
        ]
        values = {
            "sessions": sum(one.kind == "session" for one in live),
            "streams": streams.total(),
            "users": len({row["user"] for row in rows}),
            "process": os.getpid(),
        }
        return values, sorted(rows, key=lambda row: (str(row["user"]), str(row["credential"])))


def server_tool(server: Server) -> AnyOperation:
    """Declare `server.query`."""
    return operation("server.query", needs=ADMINISTERS, faces=ROWS, summary=SUMMARY)(server.query)


def _memory(call: Call) -> Answer:
    largest_first = sorted((-_index_bytes(one), f"index of {one.name}") for one in call.visible)
    rows = [{"part": part, "bytes": -negative} for negative, part in largest_first if negative]
    return {"process": os.getpid(), **memory_of_process()}, rows


def _require_no_more_than_used(params: ServerParams) -> None:
    """Refuse arguments that a query would ignore."""
    for only, names in USED.items():
        for name in names if params.query_type is not only else ():
            if getattr(params, name) is not None:
                asked = params.query_type
                raise InputError(f"'{name}' is for query_type '{only}', not for '{asked}'")


def _credential_row(one: Credential, streams: int) -> dict[str, Any]:
    return {
        "user": one.user,
        "credential": one.id,
        "kind": one.kind,
        "name": one.name or None,
        "streams": streams,
        "created_at": _seconds(one.created_at),
        "last_used_at": _seconds(one.last_used_at),
        "expires_at": _seconds(one.expires_at),
    }


def _stream_row(identity: Identity, streams: int) -> dict[str, Any]:
    """Return the row of a credential that this server did not issue."""
    return {
        "user": identity.principal.name,
        "credential": identity.credential_id,
        "streams": streams,
        "expires_at": _seconds(identity.expires_at),
    }


def _seconds(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")


def memory_of_process() -> dict[str, Any]:
    """Return the memory use of this process, as far as the system reports it."""
    if STATUS_FILE.is_file():
        status = STATUS_FILE.read_text(encoding="ascii", errors="replace")
        sizes = re.findall(rf"^({'|'.join(MEMORY_NAMES)}):\s*(\d+)", status, re.MULTILINE)
        return {MEMORY_NAMES[name]: int(size) * 1024 for name, size in sizes}
    if resource is None:
        return {}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"peak_resident_bytes": peak if sys.platform == "darwin" else peak * 1024}


def _index_bytes(catalogue: OpenCatalogue) -> int:
    try:
        return catalogue.shelf.describe().index_bytes
    except StorageError:
        return 0


def _catalogue(catalogue: OpenCatalogue, scope: Scope) -> dict[str, Any]:
    """Return a catalogue as a row; one that cannot be read has the reason in place of its
    figures.
    """
    named = {
        "catalogue": catalogue.name,
        "title": catalogue.spec.title,
        "spec": catalogue.spec.name,
    }
    try:
        reader = catalogue.shelf.reader()
    except StorageError as error:
        return {**named, "problem": error.message}
    return {
        **named,
        "records": reader.count(scope),
        "change_no": reader.change_no,
        "model": reader.model and str(reader.model),
        "stale": reader.stale,
    }


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


def inspect_tool(
    ring: LogRing | None = None, *, monotonic: Callable[[], float] = time.monotonic
) -> AnyOperation:
    """Declare `debug.inspect` over the last lines of the log, and the catalogues that are
    served.
    """

    @operation(
        "debug.inspect",
        needs=ADMINISTERS,
        faces=ROWS,
        summary="State of the indexes, recent errors, or integrity.",
    )
    def inspect(call: Call, params: InspectParams) -> QueryResult:
        """Run an inspection."""
        if params.query_type is Inspection.ERRORS:
            rows = [line for _number, line in ring.errors()] if ring else []
        else:
            chosen = call.visible if params.catalogue is None else [call.choose(params.catalogue)]
            is_index = params.query_type is Inspection.INDEX
            rows = list(map(_index, chosen)) if is_index else _checked(chosen, monotonic)
        end = params.start + params.limit
        has_more = len(rows) > end
        return QueryResult(
            query_type=params.query_type,
            rows=rows[params.start : end],
            total=len(rows),
            has_more=has_more,
            cursor=str(end) if has_more else None,
        )

    return inspect


def _checked(
    catalogues: Iterable[OpenCatalogue], monotonic: Callable[[], float]
) -> list[dict[str, Any]]:
    """Return the findings of health checks as rows, problems first: a page may not have room for
    all.
    """
    rows = [
        {"catalogue": one.name, "check": part, "ok": is_ok, "detail": detail[:LONGEST_DETAIL]}
        for one in catalogues
        for part, is_ok, detail in _findings(one, monotonic)
    ]
    return sorted(rows, key=lambda row: row["ok"] is True)


def _findings(catalogue: OpenCatalogue, monotonic: Callable[[], float]) -> Iterator[PartHealth]:
    """Yield the findings of a catalogue's health check within the time limit."""
    ends_at = monotonic() + CHECK_S

    def checkpoint() -> None:
        if monotonic() > ends_at:
            raise _CheckTimeoutError

    try:
        yield from examine(catalogue, checkpoint=checkpoint)
    except _CheckTimeoutError:
        late = f"not finished in {CHECK_S:g} s; run: stackroom job run integrity_check"
        yield PartHealth("all", None, late)


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
