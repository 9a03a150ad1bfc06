"""The tables of the control database as they are now; `migrations` make them, step by step.

`control_version` has one row, whose number grows with every change of somebody's rights, in the same transaction; who
keeps rights in memory compares it. `audit_head` has one row: the number and the hash of the last row of `audit`; so has
`audit_anchor`: those of the last row that was pruned from its beginning.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator

from pinakes.control.database.time_columns import Moment


class Words(TypeDecorator[frozenset[str]]):
    """A column of sets of words without spaces, sorted; NULL is not the same as none."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: frozenset[str] | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return what is stored."""
        return None if value is None else " ".join(sorted(value))

    def process_result_value(self, value: Any | None, dialect: Dialect) -> frozenset[str] | None:  # noqa: ARG002
        """Return what was stored."""
        return None if value is None else frozenset(str(value).split())


METADATA = MetaData()

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
    Column("external", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    sqlite_autoincrement=True,
)

roles = Table(
    "roles",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("read_quota", Integer),
    Column("write_quota", Integer),
    Column("sql_quota", Integer),
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
)

audit_head = Table(
    "audit_head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)

audit_anchor = Table(
    "audit_anchor",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)
