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
from sqlalchemy.types import TypeDecorator

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
AGENT_QUOTAS = {"read_quota": 120, "write_quota": 30, "sql_quota": 0}

schema_version = Table("schema_version", METADATA, Column("version", Integer, primary_key=True, autoincrement=False))

control_version = Table(
    "control_version",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
)

users = Table(
    "users",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("password_hash", Text),
    Column("one_time_hash", Text),
    Column("disabled", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("catalogues", Words),
    sqlite_autoincrement=True,
)

roles = Table(
    "roles",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("read_quota", Integer),
    Column("write_quota", Integer),
    Column("sql_quota", Integer),
    Column("catalogues", Words),
)

role_actions = Table(
    "role_actions",
    METADATA,
    Column("role", Text, ForeignKey("roles.name", ondelete="CASCADE"), primary_key=True),
    Column("action", Text, primary_key=True),
)

user_roles = Table(
    "user_roles",
    METADATA,
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("role", Text, ForeignKey("roles.name"), primary_key=True),
    Index("user_roles_by_role", "role"),
)

user_grants = Table(
    "user_grants",
    METADATA,
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("action", Text, primary_key=True),
)

credentials = Table(
    "credentials",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("secret_hash", Text, nullable=False, unique=True),
    Column("scopes", Words),
    Column("catalogues", Words),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("last_used_at", Moment),
    Column("revoked_at", Moment),
    Index("credentials_by_user", "user_id"),
)

restrictions = Table("restrictions", METADATA, Column("catalogue", Text, primary_key=True))

restriction_users = Table(
    "restriction_users",
    METADATA,
    Column("catalogue", Text, ForeignKey("restrictions.catalogue", ondelete="CASCADE"), primary_key=True),
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Index("restriction_users_by_user", "user_id"),
)

restriction_roles = Table(
    "restriction_roles",
    METADATA,
    Column("catalogue", Text, ForeignKey("restrictions.catalogue", ondelete="CASCADE"), primary_key=True),
    Column("role", Text, ForeignKey("roles.name", ondelete="CASCADE"), primary_key=True),
    Index("restriction_roles_by_role", "role"),
)

audit = Table(
    "audit",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("call_id", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("via", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("error_code", Text),
    Column("duration_us", BigInteger, nullable=False),
    Column("result_bytes", BigInteger, nullable=False),
    Column("result_digest", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Index("audit_by_call", "call_id"),
    Index("audit_by_principal", "principal", "number"),
    Index("audit_by_moment", "at"),
    Index("audit_by_target", "target", "number"),
    Index("audit_by_outcome", "outcome", "number", sqlite_where=text(IS_NOT_OK), postgresql_where=text(IS_NOT_OK)),
)

audit_head, audit_anchor = (
    Table(
        name,
        METADATA,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("number", BigInteger, nullable=False),
        Column("hash", Text, nullable=False),
    )
    for name in ("audit_head", "audit_anchor")
)

audit_begun = Table(
    "audit_begun",
    METADATA,
    Column("call_id", Text, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("principal", Text, nullable=False),
    Column("via", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("parameters", Text, nullable=False),
)

job_settings = Table(
    "job_settings",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("schedule", Text),
    Column("enabled", Boolean),
    Column("next_at", Moment),
)

job_runs = Table(
    "job_runs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("holder", Text),
    Column("is_cancelling", Boolean, nullable=False),
    Column("queued_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("ended_at", Moment),
    Column("done", BigInteger),
    Column("total", BigInteger),
    Column("message", Text, nullable=False),
    Column("output", Text, nullable=False),
    Column("output_dropped", BigInteger, nullable=False),
    Column("error", Text),
    Index("job_runs_by_job", "job", "id"),
    Index("job_runs_live", "job", unique=True, sqlite_where=text(IS_LIVE), postgresql_where=text(IS_LIVE)),
    sqlite_autoincrement=True,
)
"""At most one run of a job is queued or running: `job_runs_live` sees to it."""

job_lease = Table(
    "job_lease",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("holder", Text),
    Column("place", Text),
    Column("process", Text),
    Column("beat", BigInteger, nullable=False),
    Column("expires_at", Moment),
)

events = Table(
    "events",
    METADATA,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("catalogue", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("results", BigInteger),
    Column("seconds", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("duration_us", BigInteger, nullable=False),
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
