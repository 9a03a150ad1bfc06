"""`debug.sql`: one read-only statement over one catalogue's data, in a process that can be killed.

Records are the view `items`, and their history is `changes`. Accounts and tokens are in another
file.
"""

import json
import os
import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, WithJsonSchema

import stackroom
from stackroom.admin.declare import ADMINISTERS, ROWS
from stackroom.admin.sql_process import MOST_ROWS, Reply, SqlQuery, Verdict, quoted, too_slow
from stackroom.background.processes import ChildProcess
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import (
    ExpectedError,
    ForbiddenError,
    InputError,
    OverloadedError,
    StorageError,
    UnavailableError,
)
from stackroom.model.principal import Cost
from stackroom.model.record import DEFAULT_KIND
from stackroom.tools.budget import PagedParams, PricedResult
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.operation import AnyOperation, Call, operation
from stackroom.tools.spec import GenericParams, GenericResult, optional

COMMAND = (sys.executable, "-P", "-s", "-m", "stackroom.admin.sql_process")
"""Without the current folder and the user's site packages on its path."""
PASSED_ON = ("SYSTEMROOT", "LD_LIBRARY_PATH")
"""Environment variables that the interpreter itself may need; no others are passed on."""
ANSWER_S = 10.0
"""How long a statement may take with the start of its process, which is killed then. A statement's
own limit is of processor time, since a busy machine is not its fault.
"""
PATIENCE_S = 0.1  # how long a statement waits for its turn before it is refused
MOST_AT_ONCE = 10
LOWEST_PRIORITY = 19
"""So that searches are not slowed. The processes stay in the server's session, since Linux divides
time among sessions before it looks at priorities.
"""
GONE = Reply(
    verdict=Verdict.LIMIT,
    message="too much for one statement: it used more memory or time than it may",
)
ITEMS = "items"
CHANGES = "changes"
RECORDS = "records"
# the tables under the views; `records` has each record as JSON in `body`
TABLES = (RECORDS, CHANGES)
KEPT_AWAY = (
    *("audit", "credentials", "items_fts", "role_actions", "roles", "sessions"),
    *("tokens", "user_grants", "user_roles", "users", "v_users"),
)
"""Names of tables that a caller may look for, and that are in other databases."""
CHANGES_COLUMNS = ("change_no", "id", "op", "principal", "call_id", "at")
CHANGES_VIEW = f"SELECT {', '.join(CHANGES_COLUMNS)} FROM main.{CHANGES}"
OWN_COLUMNS = ("id", "kind")
MOST_FIELDS = 190


class SqlChildren:
    """Runs statements, several at once, each in a process of its own. Safe to use from several
    threads.
    """

    def __init__(self, *, command: Sequence[str] = COMMAND, answer_s: float = ANSWER_S) -> None:
        """`answer_s` bounds a call, the start of its process included."""
        self._command = tuple(command)
        self._answer_s = answer_s
        self._environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self._environment |= {
            "PYTHONPATH": str(Path(stackroom.__file__).parent.parent),
            "PYTHONUTF8": "1",
        }
        self._turns = threading.BoundedSemaphore(MOST_AT_ONCE)

    def ask(self, query: SqlQuery) -> Reply:
        """Run a statement, and return its reply in time, whatever it is."""
        if not self._turns.acquire(timeout=PATIENCE_S):
            raise OverloadedError("too many statements are running; try again in a second")
        try:
            given = json.dumps({**query._asdict(), "views": dict(query.views)}).encode() + b"\n"
            output, _errors = self._start().finish(longest_s=self._answer_s, given=given)
            reply = json.loads(output)
            return Reply(**{**reply, "verdict": Verdict(reply["verdict"])})
        except UnavailableError:
            return Reply(verdict=Verdict.TIMEOUT, message=too_slow(query))
        # the output of a process that was ended for what it used
        except (ValueError, TypeError, KeyError):
            return GONE
        finally:
            self._turns.release()

    def _start(self) -> ChildProcess:
        try:
            return ChildProcess(
                "the process of a statement",
                self._command,
                reads=True,
                writes=True,
                environment=self._environment,
                folder=Path(sys.executable).anchor,
                niceness=LOWEST_PRIORITY,
            )
        except OSError as error:
            problem = (
                f"no process can be started for the statement: {error.strerror}; try again later"
            )
            raise StorageError(problem) from error


def views_of(spec: CatalogueSpec) -> dict[str, str]:
    """Return the views of a catalogue as SELECTs, with one column for each field of its spec."""
    columns = ["id", f"coalesce(json_extract(body, '$.kind'), '{DEFAULT_KIND}') AS kind"]
    for column, name in _field_columns(spec).items():
        path = '$.fields."{}"'.format(name.replace('"', "").replace("'", "''"))
        columns.append(f"json_extract(body, '{path}') AS {quoted(column)}")
    return {ITEMS: f"SELECT {', '.join(columns)} FROM main.records", CHANGES: CHANGES_VIEW}


def _field_columns(spec: CatalogueSpec) -> dict[str, str]:
    """Return column → field; a field named like one of `OWN_COLUMNS` gets a trailing underscore."""
    names = list(spec.fields)[:MOST_FIELDS]
    return {f"{name}_" if name in OWN_COLUMNS else name: name for name in names}


def sqlite_file_of(catalogue: OpenCatalogue) -> Path:
    """Return the SQLite file of a catalogue's records, which this process has open: its readers
    need create nothing.
    """
    path = catalogue.shelf.describe().sqlite_file
    if path is None:
        raise InputError(
            f"catalogue '{catalogue.name}' is not kept in SQLite, so that there is nothing to"
            " query; search it instead"
        )
    return path


class SqlParams(PagedParams, GenericParams):
    """The arguments of `debug.sql`."""

    query: str = Field(description="One SELECT")
    catalogue: str | None = optional("Needed where there are several")
    limit: int = Field(default=100, ge=1, le=MOST_ROWS)


class SqlResult(PricedResult, GenericResult):
    """The answer of `debug.sql`."""

    paged: ClassVar[str] = "rows"
    long_texts: ClassVar[tuple[str, ...]] = ("*",)

    catalogue: str
    columns: list[str]
    rows: Annotated[list[list[Any]], WithJsonSchema({"type": "array", "items": {"type": "array"}})]
    total: int | None
    """How many rows the statement has; null if there are more than are returned."""
    has_more: bool
    notes: list[str]


def sql_tool(children: SqlChildren) -> AnyOperation:
    """Declare `debug.sql`."""

    @operation("debug.sql", needs=ADMINISTERS, cost=Cost.SQL, faces=replace(ROWS, text=_text))
    def run(call: Call, params: SqlParams) -> SqlResult:
        """One read-only SQLite statement over a catalogue: items(id, kind, a column a field),
        changes(change_no, id, op, principal, call_id, at), records(key, id, body).
        """
        if call.principal.visibility.audiences is not None:
            raise ForbiddenError(
                "a statement reads all records of a catalogue, and some are kept from you; search"
                " it instead"
            )
        catalogue = call.choose(params.catalogue)
        reply = children.ask(
            SqlQuery(
                path=str(sqlite_file_of(catalogue)),
                sql=params.query,
                tables=TABLES,
                views=views_of(catalogue.spec),
                kept_away=KEPT_AWAY,
                limit=min(params.start + params.limit, MOST_ROWS),
            )
        )
        if reply.verdict is not Verdict.OK:
            raise _error(reply, params.query, catalogue.spec)
        end, has_more = len(reply.rows), reply.has_more
        return SqlResult(
            catalogue=catalogue.name,
            columns=list(reply.columns),
            rows=[list(row) for row in reply.rows[params.start :]],
            cursor=str(end) if has_more and params.start < end < MOST_ROWS else None,
            total=None if has_more else end,
            has_more=has_more,
            notes=list(reply.notes),
        )

    return run


def _error(reply: Reply, query: str, spec: CatalogueSpec) -> ExpectedError:
    hint = _column_hint(query, spec) if "no such column" in reply.message else ""
    message = f"{reply.verdict}: {reply.message}{hint}"
    if reply.verdict is Verdict.DENIED:
        return ForbiddenError(message)
    return StorageError(reply.message) if reply.verdict is Verdict.STORAGE else InputError(message)


def _column_hint(query: str, spec: CatalogueSpec) -> str:
    """Return the columns of those tables that a statement names, or else of `items`."""
    words = {word.lower() for word in re.findall(r"\w+", query)}
    columns = {
        ITEMS: [*OWN_COLUMNS, *_field_columns(spec)],
        CHANGES: list(CHANGES_COLUMNS),
        RECORDS: ["key", "id", "body"],
    }
    named = [table for table in columns if table in words] or [ITEMS]
    return "".join(f"; {table} has {', '.join(columns[table])}" for table in named)


def _text(result: SqlResult) -> str:
    """Return the rows, one per line: some clients read the text only."""
    total = "" if result.total is None else f" of {result.total}"
    more = ", and it has more" if result.has_more else ""
    cursor = [f"the next with cursor '{result.cursor}'"] if result.cursor else []
    head = (
        f"{result.catalogue}: {len(result.rows)}{total} rows of"
        f" {', '.join(map(_shown, result.columns))}{more}"
    )
    rows = [" | ".join(_shown(value) for value in row) for row in result.rows]
    return "\n".join([head, *rows, *cursor, *result.notes])


def _shown(value: Any) -> str:
    """Return a value on one line."""
    return " ".join(str(value).split()) if value is not None else "null"
