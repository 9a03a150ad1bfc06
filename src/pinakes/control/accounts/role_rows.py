"""Roles as rows: writing, changing and deleting them, within the caller's transaction."""

from collections.abc import Iterable

from sqlalchemy import Connection, func, select, update

from pinakes.control.accounts.users import Role, User, load_users
from pinakes.control.database.tables import role_actions, roles, user_roles, users
from pinakes.errors import ConflictError, InputError
from pinakes.model.principal import Action, Quotas

MOST_A_MINUTE = 1_000_000


def insert_role(connection: Connection, role: Role) -> None:
    """Insert a role that does not exist yet."""
    connection.execute(roles.insert(), {"name": role.name, **_quota_columns(role.quotas)})
    _put_actions(connection, role.name, role.actions)


def replace_role(connection: Connection, role: Role) -> None:
    """Replace the permissions and quotas of a role."""
    connection.execute(update(roles).where(roles.c.name == role.name).values(_quota_columns(role.quotas)))
    connection.execute(role_actions.delete().where(role_actions.c.role == role.name))
    _put_actions(connection, role.name, role.actions)


def delete_unused_role(connection: Connection, role: Role) -> None:
    """Delete a role; raise ConflictError if users have it."""
    having = select(func.count()).select_from(user_roles).where(user_roles.c.role == role.name)
    holders = connection.execute(having).scalar_one()
    if holders:
        raise ConflictError(f"{holders} users have the role '{role.name}': take it from them first")
    connection.execute(roles.delete().where(roles.c.name == role.name))


def load_holders(connection: Connection, role: Role) -> list[User]:
    """Return the users who have a role."""
    having = select(user_roles.c.user_id).where(user_roles.c.role == role.name)
    return load_users(connection, connection.execute(select(users).where(users.c.id.in_(having))).all())


def require_quotas(quotas: Quotas | None) -> None:
    """Refuse quotas that are out of range."""
    if quotas is None:
        return
    for number in (quotas.read, quotas.write, quotas.sql):
        if not 0 <= number <= MOST_A_MINUTE:
            raise InputError(f"'quotas' must be 0 to {MOST_A_MINUTE:,} calls a minute")


def _put_actions(connection: Connection, name: str, actions: Iterable[Action]) -> None:
    rows = [{"role": name, "action": str(action)} for action in sorted(actions)]
    if rows:
        connection.execute(role_actions.insert(), rows)


def _quota_columns(quotas: Quotas | None) -> dict[str, int | None]:
    if quotas is None:
        return {"read_quota": None, "write_quota": None, "sql_quota": None}
    return {"read_quota": quotas.read, "write_quota": quotas.write, "sql_quota": quotas.sql}
