"""The restrictions of catalogues as values: who may see which, and the query that reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from stackroom.control.accounts.users import User
from stackroom.control.database.tables import restriction_roles, restriction_users, restrictions, users
from stackroom.model.principal import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Restriction:
    """The users and roles that may see a catalogue."""

    users: frozenset[str]
    roles: frozenset[str]


Restrictions = Mapping[str, Restriction]
"""The restriction of each restricted catalogue, by name."""


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


def hidden_among(known: Restrictions, user: User, actions: frozenset[Action]) -> frozenset[str]:
    """Return the restricted catalogues that are hidden from a user who has these permissions."""
    if Action.SERVER_ADMIN in actions:
        return frozenset()
    return frozenset(known) - _named_for(known, user) - opened_by_roles(known, user.roles)


def opened_by_roles(known: Restrictions, roles: Iterable[str]) -> frozenset[str]:
    """Return the restricted catalogues that these roles open."""
    given = frozenset(roles)
    return frozenset(name for name, restriction in known.items() if not restriction.roles.isdisjoint(given))


def _named_for(known: Restrictions, user: User) -> frozenset[str]:
    return frozenset(name for name, restriction in known.items() if user.name in restriction.users)
