"""The tables of the control database, and the rows that a new one begins with.

`control_version` has one row, whose number grows with every change of rights, in the same
transaction; caches of rights compare it. `audit_head` has one row, the number and hash of the last
row of `audit`; `audit_anchor` those of the last row that was pruned from its beginning.
`audit_begun` has the calls that may have changed something and are not in the audit yet.
`job_settings` has the changed settings of jobs and when each is due next, `job_runs` every run,
`job_lease` one row: which process runs jobs. Catalogue packages have tables of their own. Times are
whole microseconds since 1970, which are exact on every database.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeDecorator, TypeEngine

from stackroom.model.principal import Action

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
METADATA = sa.MetaData()
# what stands before a catalogue in the name of the job that refreshes it
REFRESH_PREFIX = "refresh:"
IS_LIVE = sa.text("state IN ('queued', 'running')")
IS_NOT_OK = sa.text("outcome <> 'ok'")
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

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> int | None:  # noqa: ARG002
        """Return the stored form of a value."""
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """Return the value of a stored form."""
        return None if value is None else from_microseconds(int(value))


class Words(TypeDecorator[frozenset[str]]):
    """A column of sets of words without spaces, stored sorted; NULL differs from the empty set."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: frozenset[str] | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        """Return the stored form of a value."""
        return None if value is None else " ".join(sorted(value))

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> frozenset[str] | None:  # noqa: ARG002
        """Return the value of a stored form."""
        return None if value is None else frozenset(str(value).split())


def storable(text: str) -> str:
    """Return a text with lone surrogates and NUL, which some database refuses, escaped."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _required(kind: type[TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    """Return columns that have a value in every row."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: type[TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def _key(name: str = "id", kind: type[TypeEngine[Any]] = sa.Integer) -> sa.Column[Any]:
    """Return a primary key, or a part of one, whose values the program sets."""
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


def _owner(name: str, kind: type[TypeEngine[Any]], owner: str) -> sa.Column[Any]:
    """Return a part of a primary key that names the row of another table, with which the row is
    deleted.
    """
    return sa.Column(name, kind, sa.ForeignKey(owner, ondelete="CASCADE"), primary_key=True)


def _table(name: str, *items: SchemaItem, **options: Any) -> sa.Table:
    return sa.Table(name, METADATA, *items, **options)


schema_version = _table("schema_version", _key("version"))
control_version = _table("control_version", _key(), *_required(sa.BigInteger, "number"))

users = _table(
    "users",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    *_optional(sa.Text, "password_hash", "one_time_hash"),
    *_required(sa.Boolean, "disabled"),
    *_required(Moment, "created_at"),
    *_optional(Words, "catalogues"),
    sqlite_autoincrement=True,
)

roles = _table(
    "roles",
    _key("name", sa.Text),
    *_optional(sa.Integer, "read_quota", "write_quota", "sql_quota"),
    *_optional(Words, "catalogues"),
)
role_actions = _table(
    "role_actions", _owner("role", sa.Text, "roles.name"), _key("action", sa.Text)
)

user_roles = _table(
    "user_roles",
    _owner("user_id", sa.Integer, "users.id"),
    sa.Column("role", sa.Text, sa.ForeignKey("roles.name"), primary_key=True),
    sa.Index("user_roles_by_role", "role"),
)
user_grants = _table(
    "user_grants", _owner("user_id", sa.Integer, "users.id"), _key("action", sa.Text)
)

credentials = _table(
    "credentials",
    _key("id", sa.Text),
    *_required(sa.Text, "kind"),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    *_required(sa.Text, "name"),
    sa.Column("secret_hash", sa.Text, nullable=False, unique=True),
    *_optional(Words, "scopes", "catalogues"),
    *_required(Moment, "created_at"),
    *_optional(Moment, "expires_at", "last_used_at", "revoked_at"),
    sa.Index("credentials_by_user", "user_id"),
)

restrictions = _table("restrictions", _key("catalogue", sa.Text))
restriction_users = _table(
    "restriction_users",
    _owner("catalogue", sa.Text, "restrictions.catalogue"),
    _owner("user_id", sa.Integer, "users.id"),
    sa.Index("restriction_users_by_user", "user_id"),
)
restriction_roles = _table(
    "restriction_roles",
    _owner("catalogue", sa.Text, "restrictions.catalogue"),
    _owner("role", sa.Text, "roles.name"),
    sa.Index("restriction_roles_by_role", "role"),
)

audit = _table(
    "audit",
    _key("number", sa.BigInteger),
    *_required(sa.BigInteger, "at"),
    *_required(sa.Text, *CALL_TEXTS, "outcome"),
    *_optional(sa.Text, "error_code"),
    *_required(sa.BigInteger, "duration_us", "result_bytes"),
    *_required(sa.Text, "result_digest", "hash"),
    sa.Index("audit_by_call", "call_id"),
    sa.Index("audit_by_principal", "principal", "number"),
    sa.Index("audit_by_moment", "at"),
    sa.Index("audit_by_target", "target", "number"),
    sa.Index(
        "audit_by_outcome", "outcome", "number", sqlite_where=IS_NOT_OK, postgresql_where=IS_NOT_OK
    ),
)
audit_head, audit_anchor = (
    _table(name, _key(), *_required(sa.BigInteger, "number"), *_required(sa.Text, "hash"))
    for name in ("audit_head", "audit_anchor")
)
audit_begun = _table(
    "audit_begun",
    _key("call_id", sa.Text),
    *_required(sa.BigInteger, "at"),
    *_required(sa.Text, *CALL_TEXTS[1:]),
)

job_settings = _table(
    "job_settings",
    _key("name", sa.Text),
    *_optional(sa.Text, "schedule"),
    *_optional(sa.Boolean, "enabled"),
    *_optional(Moment, "next_at"),
)

job_runs = _table(
    "job_runs",
    sa.Column("id", sa.Integer, primary_key=True),
    *_required(sa.Text, "job", "state", "cause", "requested_by"),
    *_required(sa.Integer, "attempt"),
    *_optional(sa.Text, "holder"),
    *_required(sa.Boolean, "is_cancelling"),
    *_required(Moment, "queued_at"),
    *_optional(Moment, "started_at", "ended_at"),
    *_optional(sa.BigInteger, "done", "total"),
    *_required(sa.Text, "message", "output"),
    *_required(sa.BigInteger, "output_dropped"),
    *_optional(sa.Text, "error"),
    sa.Index("job_runs_by_job", "job", "id"),
    sa.Index("job_runs_live", "job", unique=True, sqlite_where=IS_LIVE, postgresql_where=IS_LIVE),
    sqlite_autoincrement=True,
)
"""The runs of jobs. The index `job_runs_live` allows one queued or running run of each job."""

job_lease = _table(
    "job_lease",
    _key(),
    *_optional(sa.Text, "holder", "place", "process"),
    *_required(sa.BigInteger, "beat"),
    *_optional(Moment, "expires_at"),
)

events = _table(
    "events",
    sa.Column(
        "number",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    *_required(sa.BigInteger, "at"),
    *_required(sa.Text, "kind", "user_name", "catalogue", "tool", "subject"),
    *_optional(sa.BigInteger, "results"),
    *_required(sa.BigInteger, "seconds", "bytes", "duration_us"),
    sa.Index("events_by_kind", "kind", "at"),
    sa.Index("events_by_moment", "at"),
    sqlite_autoincrement=True,
)


def upgrade_tables(connection: sa.Connection) -> None:
    """Bring the tables of the former version to this one: what is gone is dropped, what is missing
    is created.
    """
    for name in ("upgrades", "audit_compared"):
        connection.execute(sa.text(f"DROP TABLE IF EXISTS {name}"))
    connection.execute(sa.text("ALTER TABLE users DROP COLUMN external"))
    for table in (users, roles):
        connection.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN catalogues TEXT"))
    METADATA.create_all(connection)
    for index in audit.indexes:
        index.create(connection, checkfirst=True)


def create_tables(connection: sa.Connection) -> None:
    """Create every table in an empty database, with the built-in roles and an empty audit."""
    METADATA.create_all(connection)
    connection.execute(control_version.insert(), {"id": 1, "number": 1})
    connection.execute(roles.insert(), [{"name": name} for name in ROLES])
    connection.execute(roles.update().where(roles.c.name == "agent").values(AGENT_QUOTAS))
    pairs = [
        {"role": role, "action": str(action)}
        for role, actions in ROLES.items()
        for action in actions
    ]
    connection.execute(role_actions.insert(), pairs)
    for end in (audit_head, audit_anchor):
        connection.execute(end.insert(), {"id": 1, "number": 0, "hash": FIRST_HASH})
    connection.execute(job_lease.insert(), {"id": 1, "beat": 0})
