"""Users, roles, credentials, and which catalogues are kept from whom."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

ROLES = {
    "admin": (
        "AccessCatalog",
        "EditCatalog",
        "ManagePermissions",
        "RequestContent",
        "ServerAdmin",
        "ViewAnalytics",
    ),
    "user": ("AccessCatalog",),
    "editor": ("AccessCatalog", "EditCatalog", "RequestContent"),
    "agent": ("AccessCatalog", "RequestContent"),
}
AGENT_QUOTAS = {"read_quota": 60, "write_quota": 10, "sql_quota": 0}
NO_QUOTAS = dict.fromkeys(AGENT_QUOTAS)


def upgrade(connection: Connection) -> None:
    """Make the tables, with the built-in roles."""
    metadata = MetaData()
    version = Table(
        "control_version",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("number", BigInteger, nullable=False),
    )
    _users(metadata)
    roles, role_actions = _roles(metadata)
    _credentials(metadata)
    _restrictions(metadata)
    metadata.create_all(connection, checkfirst=False)
    connection.execute(version.insert(), {"id": 1, "number": 1})
    quotas = {name: AGENT_QUOTAS if name == "agent" else NO_QUOTAS for name in ROLES}
    connection.execute(roles.insert(), [{"name": name, **quotas[name]} for name in ROLES])
    pairs = [{"role": role, "action": action} for role, actions in ROLES.items() for action in actions]
    connection.execute(role_actions.insert(), pairs)


def _users(metadata: MetaData) -> None:
    Table(
        "users",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("name", Text, nullable=False, unique=True),
        Column("password_hash", Text),
        Column("one_time_hash", Text),
        Column("disabled", Boolean, nullable=False),
        Column("external", Boolean, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    Table(
        "user_roles",
        metadata,
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        Column("role", Text, ForeignKey("roles.name"), primary_key=True),
        Index("user_roles_by_role", "role"),
    )
    Table(
        "user_grants",
        metadata,
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        Column("action", Text, primary_key=True),
    )


def _roles(metadata: MetaData) -> tuple[Table, Table]:
    roles = Table(
        "roles",
        metadata,
        Column("name", Text, primary_key=True),
        Column("read_quota", Integer),
        Column("write_quota", Integer),
        Column("sql_quota", Integer),
    )
    role_actions = Table(
        "role_actions",
        metadata,
        Column("role", Text, ForeignKey("roles.name", ondelete="CASCADE"), primary_key=True),
        Column("action", Text, primary_key=True),
    )
    return roles, role_actions


def _credentials(metadata: MetaData) -> None:
    Table(
        "credentials",
        metadata,
        Column("id", Text, primary_key=True),
        Column("kind", Text, nullable=False),
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        Column("name", Text, nullable=False),
        Column("secret_hash", Text, nullable=False, unique=True),
        Column("scopes", Text),
        Column("catalogues", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("expires_at", BigInteger),
        Column("last_used_at", BigInteger),
        Column("revoked_at", BigInteger),
        Index("credentials_by_user", "user_id"),
    )


def _restrictions(metadata: MetaData) -> None:
    Table("restrictions", metadata, Column("catalogue", Text, primary_key=True))
    Table(
        "restriction_users",
        metadata,
        Column("catalogue", Text, ForeignKey("restrictions.catalogue", ondelete="CASCADE"), primary_key=True),
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        Index("restriction_users_by_user", "user_id"),
    )
    Table(
        "restriction_roles",
        metadata,
        Column("catalogue", Text, ForeignKey("restrictions.catalogue", ondelete="CASCADE"), primary_key=True),
        Column("role", Text, ForeignKey("roles.name", ondelete="CASCADE"), primary_key=True),
        Index("restriction_roles_by_role", "role"),
    )
