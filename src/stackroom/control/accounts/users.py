"""Users, roles and restrictions of catalogues as values, the queries that read them, and the form
of names.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from stackroom.control.database.tables import (
    restriction_roles,
    restriction_users,
    restrictions,
    role_actions,
    roles,
    user_grants,
    user_roles,
    users,
)
from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.frozen import frozen
from stackroom.model.principal import Action, Cost, Quotas

NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
RESERVED = frozenset({"local", "anonymous"})  # names of callers without an account
NO_ROLE = "none"  # the word for no role, where roles are named; so no role can be called that
FORM = "1 to 64 of a-z 0-9 . _ @ -, beginning with a letter or digit"
MOST_SUGGESTED_FROM = 1000  # how many names are searched for one near a misspelt one
# stands before the hash of a one-time secret that was used, which cannot become the password
USED = "used:"


def fold_name(name: str) -> str:
    """Return a name as it is stored: in lower case."""
    return name.lower()


def is_storable(name: str) -> bool:
    """Tell whether a user can have this name; others need not be looked up, and may break a
    database.
    """
    return bool(NAME.fullmatch(name))


def require_user_name(name: str) -> str:
    """Return a user's name as it is stored; raise InputError if it is not allowed."""
    return _require_form(name, "user", RESERVED, "is kept for callers without an account")


def require_role_name(name: str) -> str:
    """Return a role's name as it is stored; raise InputError if it is not allowed."""
    return _require_form(name, "role", {NO_ROLE}, "stands for no role")


def named_roles(names: Iterable[str]) -> list[str]:
    """Return the names of roles, or none for the word `none`; raise InputError if that word is
    beside others.
    """
    given = list(names)
    if any(name.lower() == NO_ROLE for name in given):
        if len(given) > 1:
            raise InputError(f"'{NO_ROLE}' stands for no role: give it alone")
        return []
    return given


def _require_form(name: str, of: str, taken: Collection[str], why: str) -> str:
    folded = fold_name(name)
    if not is_storable(folded):
        raise InputError(f"'name': {name[:80]!r} cannot be the name of a {of}: {FORM}")
    if folded in taken:
        raise InputError(f"'name': '{folded}' {why}; choose another")
    return folded


@frozen
class User:
    """A user."""

    id: int
    name: str
    roles: tuple[str, ...]
    granted: frozenset[Action]  # permissions besides those of their roles
    actions: frozenset[Action]  # all permissions: those of their roles, and those granted
    disabled: bool
    has_password: bool
    has_one_time_password: bool  # whether a one-time password waits to be used
    created_at: datetime
    catalogues: frozenset[str] | None = None
    """The only catalogues that the user may see, by their own list; None without a list."""
    only: frozenset[str] | None = None
    """The only catalogues that the user may see, by their own list and those of their roles; None
    without a limit.
    """


@frozen
class Role:
    """A named set of permissions, with rate limits."""

    name: str
    actions: frozenset[Action]
    quotas: Quotas | None  # none: those of the settings
    catalogues: frozenset[str] | None = None  # the only catalogues that it shows; None: no limit


def find_user(connection: Connection, name: str) -> User | None:
    """Return the user of this name, or None."""
    folded = fold_name(name)
    if not is_storable(folded):
        return None
    rows = connection.execute(select(users).where(users.c.name == folded)).all()
    return load_users(connection, rows)[0] if rows else None


def get_user(connection: Connection, name: str) -> User:
    """Return the user of this name; raise NotFoundError with the nearest name otherwise."""
    user = find_user(connection, name)
    if user is None:
        known = list(connection.scalars(select(users.c.name).limit(MOST_SUGGESTED_FROM)))
        hint = did_you_mean(fold_name(name), known)
        raise NotFoundError(f"no user {name[:80]!r}{hint}; list the users for their names")
    return user


def load_users(connection: Connection, rows: Sequence[Row[Any]]) -> list[User]:
    """Return the users of these rows, in the same order, with their permissions."""
    ids = [row.id for row in rows]
    of_roles = {role.name: role for role in load_roles(connection)}
    has, of_users = user_roles.c, user_roles.c.user_id.in_(ids)
    having = select(has.user_id, has.role).where(of_users).order_by(has.user_id, has.role)
    role_names = _grouped(connection.execute(having))
    granting = select(user_grants).where(user_grants.c.user_id.in_(ids))
    grants = _grouped(connection.execute(granting))
    loaded = []
    for row in rows:
        names, granted = role_names[row.id], frozenset(map(Action, grants[row.id]))
        user = User(
            id=row.id,
            name=row.name,
            disabled=row.disabled,
            created_at=row.created_at,
            catalogues=row.catalogues,
            roles=tuple(names),
            granted=granted,
            actions=granted.union(*(of_roles[name].actions for name in names)),
            has_password=row.password_hash is not None,
            has_one_time_password=row.one_time_hash is not None
            and not row.one_time_hash.startswith(USED),
            only=only_of(row.catalogues, [of_roles[name] for name in names]),
        )
        loaded.append(user)
    return loaded


def only_of(own: frozenset[str] | None, roles: Sequence[Role]) -> frozenset[str] | None:
    """Return the only catalogues that a user sees: of their own list, and of their roles if each
    has one.
    """
    lists = [role.catalogues for role in roles]
    shown = (
        frozenset[str]().union(*(one or () for one in lists))
        if lists and None not in lists
        else None
    )
    return own if shown is None else shown if own is None else shown & own


def load_roles(connection: Connection) -> list[Role]:
    """Return every role, ordered by name."""
    actions = _grouped(connection.execute(select(role_actions)))
    return [
        Role(
            name=row.name,
            actions=frozenset(map(Action, actions[row.name])),
            quotas=None
            if row.read_quota is None
            else Quotas(**{cost: getattr(row, f"{cost}_quota") for cost in Cost}),
            catalogues=row.catalogues,
        )
        for row in connection.execute(select(roles).order_by(roles.c.name))
    ]


def get_roles(connection: Connection, names: Iterable[str]) -> list[Role]:
    """Return the roles of these names, ordered by name; raise NotFoundError for an unknown one."""
    known = {role.name: role for role in load_roles(connection)}
    wanted = sorted({name.lower() for name in names})
    for name in wanted:
        if name not in known:
            there = ", ".join(known)
            raise NotFoundError(
                f"no role {name[:80]!r}{did_you_mean(name, list(known))}; roles: {there}"
            )
    return [known[name] for name in wanted]


def _grouped(pairs: Iterable[Any]) -> defaultdict[Any, list[str]]:
    groups: defaultdict[Any, list[str]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


@frozen
class Restriction:
    """The users and roles that may see a catalogue."""

    users: frozenset[str]
    roles: frozenset[str]


Restrictions = Mapping[str, Restriction]  # the restriction of each restricted catalogue, by name


def load_restrictions(connection: Connection) -> dict[str, Restriction]:
    """Return the restriction of each restricted catalogue, by name."""
    listed = select(restrictions.c.catalogue).order_by(restrictions.c.catalogue)
    names = connection.scalars(listed).all()
    if not names:
        return {}
    of_users = _grouped(
        connection.execute(select(restriction_users.c.catalogue, users.c.name).join(users))
    )
    of_roles = _grouped(connection.execute(select(restriction_roles)))
    return {
        name: Restriction(users=frozenset(of_users[name]), roles=frozenset(of_roles[name]))
        for name in names
    }


def hidden_among(known: Restrictions, user: User, actions: frozenset[Action]) -> frozenset[str]:
    """Return the restricted catalogues that are hidden from a user who has these permissions."""
    if Action.SERVER_ADMIN in actions:
        return frozenset()
    named = frozenset(name for name, restriction in known.items() if user.name in restriction.users)
    return frozenset(known) - named - opened_by_roles(known, user.roles)


def opened_by_roles(known: Restrictions, roles: Iterable[str]) -> frozenset[str]:
    """Return the restricted catalogues that these roles open."""
    given = frozenset(roles)
    return frozenset(
        name for name, restriction in known.items() if not restriction.roles.isdisjoint(given)
    )
