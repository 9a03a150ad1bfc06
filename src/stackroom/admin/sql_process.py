"""The process in which a statement of `debug.sql` runs: `python -m stackroom.admin.sql_process`.

It reads a query and writes the reply, each one line of JSON. It has no other descriptors, nothing
of the server's environment, bounded memory and time, and cannot write to a file. The parent gives
it the lowest priority when it starts, and kills it when it does not answer in time.

It imports nothing but the standard library and apsw, since it starts for each statement. In order:
the text is checked, it must be exactly one statement, the file is opened read-only, SQLite's own
limits are lowered, an authorizer allows what is listed and denies the rest, a progress handler ends
what takes long, and rows and bytes are counted as they are read. Any SQLite file can be opened so;
the query names the tables that may be read.
"""

import json
import math
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import apsw

try:
    import resource
except ImportError:  # Windows has no such limits; killing and SQLite's own limits must suffice
    resource = None  # type: ignore[assignment]

SQLITE_BYTES = 64 * 2**20
PROCESS_BYTES = 512 * 2**20  # of address space, most of which is never used
OPEN_FILES = 16
CPU_S = 3  # beyond it the kernel ends the process, even without a parent
LONGEST_SQL_BYTES = 100_000
MOST_ROWS = 1_000
MOST_BYTES = 256 * 1024
LONGEST_TEXT = 10_000  # how many characters of a value are returned
SHOWN_BLOB_BYTES = 32
EXACT_NUMBERS = 2**53  # larger integers are not exact in the JSON of most clients
STEPS_BETWEEN_CHECKS = 1_000
BUSY_TIMEOUT_MS = 200

LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: 1_000_000,
    apsw.SQLITE_LIMIT_SQL_LENGTH: LONGEST_SQL_BYTES,
    apsw.SQLITE_LIMIT_COLUMN: 200,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 100,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    apsw.SQLITE_LIMIT_VDBE_OP: 25_000,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 32,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 10,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}
SAFE_CONFIGURATION = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
}
SAFE_PRAGMAS = ("trusted_schema=0", "temp_store=MEMORY", "mmap_size=0", "cache_size=-8000")
# set last, since it also forbids temporary views, and ours come before
LAST_PRAGMA = "query_only=1"

FUNCTIONS = frozenset(
    str.split("""
    -> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat
    concat_ws cos cosh count cume_dist current_date current_time current_timestamp date datetime
    degrees dense_rank exp first_value floor glob group_concat hex if ifnull iif instr json
    json_array json_array_length json_extract json_group_array json_group_object json_insert
    json_object json_patch json_quote json_remove json_replace json_set json_type json_valid
    julianday lag last_value lead length like likelihood likely ln log log10 log2 lower ltrim max
    median min mod nth_value ntile nullif octet_length percent_rank percentile percentile_cont
    percentile_disc pi pow power quote radians random rank replace round row_number rtrim sign sin
    sinh sqrt strftime string_agg substr substring sum tan tanh time timediff total trim trunc
    typeof unhex unicode unixepoch unlikely upper
    """)
)
"""Allowed functions: none reads files or the connection's state, or makes a text of any length from
nothing.
"""
TABLE_FUNCTIONS = frozenset({"json_each", "json_tree", "pragma_table_info"})
PRAGMAS = frozenset({"table_info", "table_xinfo"})  # pragmas that may be used on a readable table
RESERVED = re.compile(r"sqlite_|pragma_")
EPONYMOUS = frozenset(
    {"dbstat", "carray", "bytecode", "tables_used", "fts3tokenize", "generate_series"}
)
"""Tables that exist without being in the schema."""
READING_VERBS = frozenset({"SELECT", "WITH", "VALUES", "EXPLAIN", "PRAGMA"})
CHANGING_VERBS = frozenset(
    str.split("""
    ALTER ANALYZE ATTACH BEGIN COMMIT CREATE DELETE DETACH DROP END INSERT REINDEX RELEASE REPLACE
    ROLLBACK SAVEPOINT UPDATE VACUUM
    """)
)
NO_PARAMETERS = (
    "parameters (?, :name, @name, $name) are not supported; write the value into the statement"
)

_PIECE = re.compile(
    r"""(?P<skipped>\s+|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))
      | (?P<quoted>'[^']*(?:''[^']*)*(?:'|\Z)
          |"[^"]*(?:""[^"]*)*(?:"|\Z)
          |`[^`]*(?:``[^`]*)*(?:`|\Z)
          |\[[^\]]*(?:\]|\Z))
      | (?P<end>;)
      | (?P<word>[^\W\d][\w$]*)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_LIMIT_MESSAGE = re.compile(
    r"too (?:many|big|large|complex|long)|at most \d+|parser stack overflow|too much|out of memory",
    re.IGNORECASE,
)
TRIGGER = re.compile(r"CREATE\s+(?:TEMP\s+|TEMPORARY\s+)?TRIGGER\b", re.IGNORECASE)


class Verdict(StrEnum):
    """The outcome of a statement."""

    OK = "ok"
    DENIED = "denied"
    MULTI = "multi"
    SYNTAX = "syntax"
    LIMIT = "limit"
    TIMEOUT = "timeout"
    STORAGE = "storage"  # the file cannot be read


class SqlQuery(NamedTuple):
    """A statement, the file it reads, and what it may read of it.

    These two are named tuples, since importing `dataclasses` is a third of the time in which a
    process starts.
    """

    path: str
    sql: str
    tables: tuple[str, ...]  # the tables and views that may be read
    views: Mapping[str, str] = MappingProxyType({})
    """Name → SELECT: temporary views created for this statement, which may be read as well."""
    # names of tables in other files, which are reported as denied rather than unknown
    kept_away: tuple[str, ...] = ()
    limit: int = 100
    time_s: float = 1.0  # the processor time that it may take


class Reply(NamedTuple):
    """The reply to a query: rows of JSON values, or why there are none."""

    verdict: Verdict
    message: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    has_more: bool = False
    notes: Sequence[str] = ()


class _Refused(Exception):
    """The statement is refused before or while it runs."""

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.reply = Reply(verdict=verdict, message=message)


def ask(query: SqlQuery) -> Reply:
    """Run the statement under every guard, and return its rows, or why it was refused."""
    try:
        sql, words = _require_one_statement(_require_text(query.sql))
        with closing(_open(query)) as db:
            return _Run(db, query, sql, words).reply()
    except _Refused as refusal:
        return refusal.reply
    except (apsw.Error, OSError) as error:
        return Reply(
            verdict=Verdict.STORAGE, message=f"the data cannot be read: {type(error).__name__}"
        )


def too_slow(query: SqlQuery) -> str:
    """Return the message for a statement that took too long."""
    return f"it took longer than {query.time_s:g} s; ask for less"


def _require_text(sql: str) -> str:
    """Refuse a text that is too long, or that SQLite would read only in part."""
    try:
        length = len(sql.encode())
    except UnicodeEncodeError:
        raise _Refused(
            Verdict.SYNTAX, "the statement has half of a surrogate pair, which is no character"
        ) from None
    if length > LONGEST_SQL_BYTES:
        raise _Refused(
            Verdict.LIMIT,
            f"a statement is at most {LONGEST_SQL_BYTES:,} bytes long; this has {length:,}",
        )
    if "\0" in sql:
        raise _Refused(Verdict.SYNTAX, "the statement has a NUL character")
    return sql


def _require_one_statement(sql: str) -> tuple[str, list[str]]:
    """Return the only statement, and its tokens without space and comments; refuse none and
    several.
    """
    statements: list[list[re.Match[str]]] = [[]]
    for piece in _PIECE.finditer(sql):
        if piece.lastgroup == "end":
            statements.append([])
        elif piece.lastgroup != "skipped":
            statements[-1].append(piece)
    found = [statement for statement in statements if statement]
    if not found:
        raise _Refused(Verdict.SYNTAX, "there is no statement")
    if TRIGGER.match(sql, found[0][0].start()):  # has statements of its own within it
        raise _Refused(
            Verdict.DENIED, "statements that change something are not allowed; only what reads"
        )
    if len(found) > 1:
        raise _Refused(Verdict.MULTI, f"there are {len(found)} statements; give one")
    (pieces,) = found
    return sql[pieces[0].start() : pieces[-1].end()], [piece.group() for piece in pieces]


def _open(query: SqlQuery) -> apsw.Connection:
    """Open a read-only connection for one statement."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    # `readonly_shm`: otherwise a reader that finds no locks takes itself for the first connection,
    # and truncates the -shm file, which this process may not extend again and which the server has
    # mapped.
    path = query.path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = apsw.Connection(f"file:{path}?mode=ro&readonly_shm=1", flags=flags)
    db.set_busy_timeout(BUSY_TIMEOUT_MS)
    for option, value in SAFE_CONFIGURATION.items():
        db.config(option, value)
    for pragma in SAFE_PRAGMAS:
        db.execute(f"PRAGMA {pragma}").fetchall()
    for name, select in query.views.items():
        db.execute(f"CREATE TEMP VIEW {quoted(name)} AS {select}")
    db.execute(f"PRAGMA {LAST_PRAGMA}")
    return db


def quoted(name: str) -> str:
    """Return a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


class _Run:
    """One statement on one connection."""

    def __init__(
        self, db: apsw.Connection, query: SqlQuery, sql: str, words: Sequence[str]
    ) -> None:
        self._db = db
        self._query = query
        self._sql = sql
        self._words = words
        self._ends_at = time.process_time() + query.time_s
        self._columns: list[str] | None = None
        self._denied: str | None = None
        self._tables = frozenset(name.lower() for name in (*query.tables, *query.views))
        named = (
            "SELECT lower(name) FROM sqlite_master UNION ALL SELECT lower(name) FROM"
            " sqlite_temp_master"
        )
        known = {str(name) for (name,) in db.execute(named)}
        self._own_names = _common_table_names(self._words) - known - EPONYMOUS

    def reply(self) -> Reply:
        """Run the statement."""
        for limit, value in LIMITS.items():
            self._db.limit(limit, value)
        self._db.authorizer = self._authorise
        self._db.set_progress_handler(
            lambda: time.process_time() > self._ends_at, STEPS_BETWEEN_CHECKS
        )
        cursor = self._db.cursor()
        cursor.exec_trace = self._before_running
        collected = _Rows(limit=self._query.limit)
        try:
            for row in cursor.execute(self._sql, can_cache=False):
                if not collected.take(row):
                    break
        except apsw.InterruptError:
            if not collected.is_full:
                raise _Refused(Verdict.TIMEOUT, too_slow(self._query)) from None
            collected.has_more = True
        except UnicodeDecodeError:
            raise _Refused(
                Verdict.SYNTAX, "a value is not valid UTF-8; ask for hex() of it"
            ) from None
        except (apsw.Error, MemoryError) as error:
            raise self._refusal(error) from None
        return Reply(
            verdict=Verdict.OK,
            columns=self._columns or [],
            rows=collected.rows,
            has_more=collected.has_more,
            notes=list(collected.notes),
        )

    def _before_running(self, cursor: apsw.Cursor, _sql: str, _bindings: object) -> bool:
        """Record the columns; refuse a second statement, and one that SQLite says would write."""
        if self._columns is not None:
            raise _Refused(Verdict.MULTI, "there is more than one statement; give one")
        self._columns = [str(column[0]) for column in cursor.get_description()]
        if len(json.dumps(self._columns)) > MOST_BYTES:
            raise _Refused(
                Verdict.LIMIT,
                f"the columns' names have more than {MOST_BYTES:,} bytes; give shorter ones",
            )
        if not cursor.is_readonly:
            raise _Refused(Verdict.DENIED, self._denial("what changes something"))
        return True

    def _authorise(
        self, action: int, first: str | None, second: str | None, schema: str | None, _: str | None
    ) -> int:
        """Implement SQLite's authorizer: everything that is not known to be harmless is denied."""
        if action in (apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE):
            is_allowed, what = True, ""
        elif action == apsw.SQLITE_READ:
            is_allowed = self._may_read(first or "", second or "", schema)
            what = f"the table '{first}'"
        elif action == apsw.SQLITE_FUNCTION:
            is_allowed, what = (second or "").lower() in FUNCTIONS, f"the function '{second}'"
        elif action == apsw.SQLITE_PRAGMA:
            is_allowed = (first or "").lower() in PRAGMAS and (second or "").lower() in self._tables
            what = f"the pragma '{first}'"
        else:
            is_allowed, what = False, "what does more than read"
        if not is_allowed:
            self._denied = self._denied or what
        return apsw.SQLITE_OK if is_allowed else apsw.SQLITE_DENY

    def _may_read(self, table: str, column: str, schema: str | None) -> bool:
        name = table.lower()
        if name in self._tables or name in TABLE_FUNCTIONS:
            return True
        # A table of which no column is read has the name as written, possibly of a common table
        # expression.
        return (
            column == "" and schema is None and name in self._own_names and not RESERVED.match(name)
        )

    def _denial(self, what: str) -> str:
        named = ", ".join(dict.fromkeys((*self._query.views, *self._query.tables)))
        return f"not allowed: {what}; a statement reads, and only {named}"

    def _refusal(self, error: Exception) -> _Refused:
        """Return the reply for an error of SQLite."""
        message = next(iter(str(error).splitlines()), type(error).__name__)
        if self._denied is not None:
            return _Refused(Verdict.DENIED, self._denial(self._denied))
        verb = self._words[0].upper()
        is_denied = isinstance(error, apsw.AuthError | apsw.ReadOnlyError | apsw.PermissionsError)
        if is_denied or verb in CHANGING_VERBS or message.startswith("cannot modify"):
            return _Refused(Verdict.DENIED, self._denial("what changes something"))
        if isinstance(
            error, MemoryError | apsw.NoMemError | apsw.TooBigError
        ) or _LIMIT_MESSAGE.search(message):
            return _Refused(Verdict.LIMIT, f"too much for one statement: {message}")
        if (
            message.removeprefix("no such table: ").rpartition(".")[2].lower()
            in self._query.kept_away
        ):
            return _Refused(Verdict.DENIED, self._denial(message))
        if isinstance(
            error, apsw.SQLError | apsw.BindingsError | apsw.MismatchError | apsw.RangeError
        ):
            if isinstance(error, apsw.BindingsError):
                message = NO_PARAMETERS
            elif verb not in READING_VERBS:
                message += "; a statement begins with SELECT, WITH, VALUES or EXPLAIN"
            return _Refused(Verdict.SYNTAX, message)
        return _Refused(Verdict.STORAGE, f"the data cannot be read: {type(error).__name__}")


def _common_table_names(words: Sequence[str]) -> set[str]:
    """Return the names of a statement's common table expressions: `NAME AS (`, `NAME(…) AS [NOT]
    MATERIALIZED (`.
    """
    names: set[str] = set()
    for index, word in enumerate(words):
        if word.upper() == "AS" and _opens_select(words[index + 1 : index + 4]):
            named = _word_before(words, index)
            if named is not None:
                names.add(named.strip("\"`[]'").lower())
    return names


def _opens_select(following: Sequence[str]) -> bool:
    while following and following[0].upper() in {"NOT", "MATERIALIZED"}:
        following = following[1:]
    return list(following[:1]) == ["("]


def _word_before(words: Sequence[str], index: int) -> str | None:
    """Return the word before an index, skipping a list in brackets."""
    at = index - 1
    if at >= 0 and words[at] == ")":
        while at >= 0 and words[at] != "(":
            at -= 1
        at -= 1
    return words[at] if at >= 0 else None


class _Rows:
    """Rows as they are read, bounded in number and bytes."""

    def __init__(self, *, limit: int) -> None:
        self.rows: list[list[Any]] = []
        self.has_more = False
        self._limit = min(limit, MOST_ROWS)
        self._bytes = 0
        self.notes: dict[str, None] = {}
        """Notes on values that were cut, each once."""

    @property
    def is_full(self) -> bool:
        """Tell whether the row limit is reached."""
        return len(self.rows) >= self._limit

    def take(self, row: tuple[Any, ...]) -> bool:
        """Keep a row; tell whether another may follow."""
        if self.is_full:
            self.has_more = True
            return False
        values = [self._plain(value) for value in row]
        self._bytes += len(json.dumps(values))
        if self._bytes > MOST_BYTES:
            if not self.rows:
                raise _Refused(
                    Verdict.LIMIT,
                    f"one row has more than {MOST_BYTES:,} bytes; ask for fewer columns",
                )
            self.has_more = True
            self.notes[f"cut at {MOST_BYTES:,} bytes"] = None
            return False
        self.rows.append(values)
        return True

    def _plain(self, value: Any) -> Any:
        """Return a value as JSON."""
        if isinstance(value, bytes):
            self.notes["blobs are given in hexadecimal, long ones by their size"] = None
            return (
                f"x'{value.hex()}'"
                if len(value) <= SHOWN_BLOB_BYTES
                else f"blob of {len(value):,} bytes"
            )
        if isinstance(value, int) and abs(value) > EXACT_NUMBERS:
            self.notes["whole numbers beyond 2^53 are given as text, to be exact"] = None
            return str(value)
        if isinstance(value, float) and not math.isfinite(value):
            self.notes["infinite numbers are given as text"] = None
            return "Infinity" if value > 0 else "-Infinity"
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            self.notes[f"texts are cut at {LONGEST_TEXT:,} characters"] = None
            return value[:LONGEST_TEXT] + "…"
        return value


def main() -> None:
    """Answer the query on standard input."""
    _give_up_rights()
    try:
        reply = ask(SqlQuery(**json.loads(sys.stdin.buffer.readline())))
    except MemoryError:
        reply = Reply(verdict=Verdict.LIMIT, message="too much for one statement: out of memory")
    sys.stdout.buffer.write(json.dumps(reply._asdict(), allow_nan=False).encode() + b"\n")


def _give_up_rights() -> None:
    """Lower the resource limits of this process for good."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    apsw.hard_heap_limit(SQLITE_BYTES)
    if resource is None:
        return
    for limit, most in (
        (resource.RLIMIT_AS, PROCESS_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CPU, CPU_S),
    ):
        resource.setrlimit(limit, (most, most))


if __name__ == "__main__":
    main()
