"""Restricted catalogues: visible to selected users and roles only. All others are visible to everybody."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from pinakes.control.accounts.rules import require_manager
from pinakes.control.accounts.users import User, get_roles, get_user
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.tables import restriction_roles, restriction_users, restrictions, users
from pinakes.errors import NotFoundError
from pinakes.library import require_name
from pinakes.model.principal import Action, Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction:
    """The users and roles that may see a catalogue."""

    users: frozenset[str]
    roles: frozenset[str]


class CatalogueAccess:
    """The restrictions of all catalogues."""

    def __init__(self, database: ControlDatabase) -> None:
        self._database = database

    def restrict(
        self, actor: Principal, catalogue: str, *, users: Iterable[str] = (), roles: Iterable[str] = ()
    ) -> Restriction:
        """Restrict a catalogue to these users and roles, replacing its earlier restriction."""
        _require_may_restrict(actor)
        require_name(catalogue)
        with self._database.change() as connection:
            allowed_users = [get_user(connection, name) for name in sorted(set(users))]
            allowed_roles = get_roles(connection, roles)
            connection.execute(restrictions.delete().where(restrictions.c.catalogue == catalogue))
            connection.execute(restrictions.insert(), {"catalogue": catalogue})
            for user_id in {user.id for user in allowed_users}:
                connection.execute(restriction_users.insert(), {"catalogue": catalogue, "user_id": user_id})
            for role in allowed_roles:
                connection.execute(restriction_roles.insert(), {"catalogue": catalogue, "role": role.name})
            return load_restrictions(connection)[catalogue]

    def open_to_all(self, actor: Principal, catalogue: str) -> None:
        """Remove the restriction of a catalogue."""
        _require_may_restrict(actor)
        with self._database.change() as connection:
            known = load_restrictions(connection)
            if catalogue not in known:
                there = ", ".join(known) or "none"
                raise NotFoundError(f"catalogue {catalogue[:80]!r} is not restricted; restricted: {there}")
            connection.execute(restrictions.delete().where(restrictions.c.catalogue == catalogue))

    def list_restrictions(self) -> dict[str, Restriction]:
        """Return the restriction of each restricted catalogue, by name."""
        with self._database.read() as connection:
            return load_restrictions(connection)

    def hidden_from(self, user: User) -> frozenset[str]:
        """Return the catalogues that are hidden from a user."""
        return hidden_among(self.list_restrictions(), user, user.actions)


def load_restrictions(connection: Connection) -> dict[str, Restriction]:
    """Return the restriction of each restricted catalogue, by name."""
    of_users: dict[str, set[str]] = {}
    of_roles: dict[str, set[str]] = {}
    for name in connection.execute(select(restrictions.c.catalogue).order_by(restrictions.c.catalogue)).scalars():
        of_users[name], of_roles[name] = set(), set()
    if not of_users:
        return {}
    for catalogue, user in connection.execute(select(restriction_users.c.catalogue, users.c.name).join(users)):
        of_users[catalogue].add(user)
    for catalogue, role in connection.execute(select(restriction_roles.c.catalogue, restriction_roles.c.role)):
        of_roles[catalogue].add(role)
    return {name: Restriction(users=frozenset(of_users[name]), roles=frozenset(of_roles[name])) for name in of_users}


def hidden_among(known: Mapping[str, Restriction], user: User, actions: frozenset[Action]) -> frozenset[str]:
    """Return the restricted catalogues that are hidden from a user who has these permissions."""
    if Action.SERVER_ADMIN in actions:
        return frozenset()
    return frozenset(
        name
        for name, restriction in known.items()
        if user.name not in restriction.users and restriction.roles.isdisjoint(user.roles)
    )


def _require_may_restrict(actor: Principal) -> None:
    if Action.SERVER_ADMIN not in actor.actions or actor.visibility.only is not None:
        require_manager(actor)
