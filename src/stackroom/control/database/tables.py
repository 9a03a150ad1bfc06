"""The tables of the control database, and the rows that a new one begins with.

`control_version` has one row, whose number grows with every change of rights, in the same transaction; caches of rights
compare it. `audit_head` has one row, the number and hash of the last row of `audit`; `audit_anchor` those of the last
row that was pruned from its beginning. `audit_begun` has the calls that may have changed something and are not in
the audit yet. `job_settings` has the changed settings of jobs and when each is due next, `job_runs` every run,
`job_lease` one row: which process runs jobs. Catalogue packages have tables of their own. Times are whole microseconds
since 1970, which are exact on every database.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from stackroom.model.principal import Action

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)


def to_microseconds(moment: datetime) -> int:
    """Return an aware time as microseconds since 1970."""
    return (moment - EPOCH) // MICROSECOND


def from_microseconds(count: int) -> datetime:
    """Return the aware time of microseconds since 1970."""
    return EPOCH + count * MICROSECOND


class Moment(TypeDecorator[datetime]):
    """A column of aware times."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Return the stored form of a value."""
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the value of a stored form."""
        return None if value is None else from_microseconds(int(value))


class Words(TypeDecorator[frozenset[str]]):
    """A column of sets of words without spaces, stored sorted; NULL differs from the empty set."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: frozenset[str] | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the stored form of a value."""
        return None if value is None else " ".join(sorted(value))

    def process_result_value(self, value: Any | None, dialect: Dialect) -> frozenset[str] | None:  # noqa: ARG002
        """Return the value of a stored form."""
        return None if value is None else frozenset(str(value).split())


def storable(text: str) -> str:
    """Return a text with lone surrogates and NUL, which some database refuses, escaped."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


METADATA = MetaData()

REFRESH_PREFIX = "refresh:"
"""What stands before a catalogue in the name of the job that refreshes it."""

IS_LIVE = "state IN ('queued', 'running')"
IS_NOT_OK = "outcome <> 'ok'"
FIRST_HASH = "0" * 64
ROLES = {
    "admin": tuple(Action),
    "user": (Action.ACCESS_CATALOG,),
    "editor": (Action.ACCESS_CATALOG, Action.EDIT_CATALOG, Action.REQUEST_CONTENT),
    "agent": (Action.ACCESS_CATALOG, Action.EDIT_CATALOG, Action.REQUEST_CONTENT),
}
"""The built-in roles, each with its permissions."""
CALL_TEXTS = ("call_id", "principal", "via", "operation", "target", "parameters")
AGENT_QUOTAS = {"read_quota": 120, "write_quota": 30, "sql_quota": 0}


def _required(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    """Return columns that have a value in every row."""
    return [Column(name, kind, nullable=False) for name in names]


def _optional(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    return [Column(name, kind) for name in names]


def _key(name: str = "id", kind: type[TypeEngine[Any]] = Integer) -> Column[Any]:
    """Return a primary key, or a part of one, whose values the database does not make."""
    return Column(name, kind, primary_key=True, autoincrement=False)


def _owner(name: str, kind: type[TypeEngine[Any]], owner: str) -> Column[Any]:
    """Return a part of a primary key that names the row of another table, with which the row is deleted."""
    return Column(name, kind, ForeignKey(owner, ondelete="CASCADE"), primary_key=True)


schema_version = Table("schema_version", METADATA, _key("version"))
control_version = Table("control_version", METADATA, _key(), *_required(BigInteger, "number"))

users = Table(
    "users",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    *_optional(Text, "password_hash", "one_time_hash"),
    *_required(Boolean, "disabled"),
    *_required(Moment, "created_at"),
    *_optional(Words, "catalogues"),
    sqlite_autoincrement=True,
)

roles = Table(
    "roles",
    METADATA,
    _key("name", Text),
    *_optional(Integer, "read_quota", "write_quota", "sql_quota"),
    *_optional(Words, "catalogues"),
)
role_actions = Table("role_actions", METADATA, _owner("role", Text, "roles.name"), _key("action", Text))

user_roles = Table(
    "user_roles",
    METADATA,
    _owner("user_id", Integer, "users.id"),
    Column("role", Text, ForeignKey("roles.name"), primary_key=True),
    Index("user_roles_by_role", "role"),
)
user_grants = Table("user_grants", METADATA, _owner("user_id", Integer, "users.id"), _key("action", Text))

credentials = Table(
    "credentials",
    METADATA,
    _key("id", Text),
    *_required(Text, "kind"),
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *_required(Text, "name"),
    Column("secret_hash", Text, nullable=False, unique=True),
    *_optional(Words, "scopes", "catalogues"),
    *_required(Moment, "created_at"),
    *_optional(Moment, "expires_at", "last_used_at", "revoked_at"),
    Index("credentials_by_user", "user_id"),
)

restrictions = Table("restrictions", METADATA, _key("catalogue", Text))
restriction_users = Table(
    "restriction_users",
    METADATA,
    _owner("catalogue", Text, "restrictions.catalogue"),
    _owner("user_id", Integer, "users.id"),
    Index("restriction_users_by_user", "user_id"),
)
restriction_roles = Table(
    "restriction_roles",
    METADATA,
    _owner("catalogue", Text, "restrictions.catalogue"),
    _owner("role", Text, "roles.name"),
    Index("restriction_roles_by_role", "role"),
)

audit = Table(
    "audit",
    METADATA,
    _key("number", BigInteger),
    *_required(BigInteger, "at"),
    *_required(Text, *CALL_TEXTS, "outcome"),
    *_optional(Text, "error_code"),
    *_required(BigInteger, "duration_us", "result_bytes"),
    *_required(Text, "result_digest", "hash"),
    Index("audit_by_call", "call_id"),
    Index("audit_by_principal", "principal", "number"),
    Index("audit_by_moment", "at"),
    Index("audit_by_target", "target", "number"),
    Index("audit_by_outcome", "outcome", "number", sqlite_where=text(IS_NOT_OK), postgresql_where=text(IS_NOT_OK)),
)
audit_head, audit_anchor = (
    Table(name, METADATA, _key(), *_required(BigInteger, "number"), *_required(Text, "hash"))
    for name in ("audit_head", "audit_anchor")
)
audit_begun = Table(
    "audit_begun", METADATA, _key("call_id", Text), *_required(BigInteger, "at"), *_required(Text, *CALL_TEXTS[1:])
)

job_settings = Table(
    "job_settings",
    METADATA,
    _key("name", Text),
    *_optional(Text, "schedule"),
    *_optional(Boolean, "enabled"),
    *_optional(Moment, "next_at"),
)

job_runs = Table(
    "job_runs",
    METADATA,
    Column("id", Integer, primary_key=True),
    *_required(Text, "job", "state", "cause", "requested_by"),
    *_required(Integer, "attempt"),
    *_optional(Text, "holder"),
    *_required(Boolean, "is_cancelling"),
    *_required(Moment, "queued_at"),
    *_optional(Moment, "started_at", "ended_at"),
    *_optional(BigInteger, "done", "total"),
    *_required(Text, "message", "output"),
    *_required(BigInteger, "output_dropped"),
    *_optional(Text, "error"),
    Index("job_runs_by_job", "job", "id"),
    Index("job_runs_live", "job", unique=True, sqlite_where=text(IS_LIVE), postgresql_where=text(IS_LIVE)),
    sqlite_autoincrement=True,
)
"""At most one run of a job is queued or running: `job_runs_live` sees to it."""

job_lease = Table(
    "job_lease",
    METADATA,
    _key(),
    *_optional(Text, "holder", "place", "process"),
    *_required(BigInteger, "beat"),
    *_optional(Moment, "expires_at"),
)

events = Table(
    "events",
    METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    *_required(BigInteger, "at"),
    *_required(Text, "kind", "user_name", "catalogue", "tool", "subject"),
    *_optional(BigInteger, "results"),
    *_required(BigInteger, "seconds", "bytes", "duration_us"),
    Index("events_by_kind", "kind", "at"),
    Index("events_by_moment", "at"),
    sqlite_autoincrement=True,
)


def upgrade_tables(connection: Connection) -> None:
    """Bring the tables of the former version to this one: what is gone is dropped, what is missing is created."""
    for name in ("upgrades", "audit_compared"):
        connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
    connection.execute(text("ALTER TABLE users DROP COLUMN external"))
    for table in (users, roles):
        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN catalogues TEXT"))
    METADATA.create_all(connection)
    for index in audit.indexes:
        index.create(connection, checkfirst=True)


def create_tables(connection: Connection) -> None:
    """Create every table in an empty database, with the built-in roles and an empty audit."""
    METADATA.create_all(connection)
    connection.execute(control_version.insert(), {"id": 1, "number": 1})
    connection.execute(roles.insert(), [{"name": name} for name in ROLES])
    connection.execute(roles.update().where(roles.c.name == "agent").values(AGENT_QUOTAS))
    pairs = [{"role": role, "action": str(action)} for role, actions in ROLES.items() for action in actions]
    connection.execute(role_actions.insert(), pairs)
    for end in (audit_head, audit_anchor):
        connection.execute(end.insert(), {"id": 1, "number": 0, "hash": FIRST_HASH})
    connection.execute(job_lease.insert(), {"id": 1, "beat": 0})
