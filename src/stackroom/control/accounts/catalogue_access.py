"""Restricted catalogues: visible to selected users and roles only. All others are visible to everybody."""

from collections.abc import Iterable

from stackroom.control.accounts.rules import require_may_restrict
from stackroom.control.accounts.users import Restriction, User, get_roles, get_user, hidden_among, load_restrictions
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import restriction_roles, restriction_users, restrictions
from stackroom.errors import NotFoundError
from stackroom.library import require_name
from stackroom.model.principal import Principal


class CatalogueAccess:
    """The restrictions of all catalogues."""

    def __init__(self, database: ControlDatabase) -> None:
        self._database = database

    def restrict(
        self, actor: Principal, catalogue: str, *, users: Iterable[str] = (), roles: Iterable[str] = ()
    ) -> Restriction:
        """Restrict a catalogue to these users and roles, replacing its earlier restriction."""
        require_may_restrict(actor, catalogue)
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
        require_may_restrict(actor, catalogue)
        with self._database.change() as connection:
            known = load_restrictions(connection)
            if catalogue not in known:
                there = ", ".join(name for name in known if actor.visibility.sees_catalogue(name)) or "none"
                raise NotFoundError(f"catalogue {catalogue[:80]!r} is not restricted; restricted: {there}")
            connection.execute(restrictions.delete().where(restrictions.c.catalogue == catalogue))

    def list_restrictions(self) -> dict[str, Restriction]:
        """Return the restriction of each restricted catalogue, by name."""
        with self._database.read() as connection:
            return load_restrictions(connection)

    def hidden_from(self, user: User) -> frozenset[str]:
        """Return the catalogues that are hidden from a user."""
        return hidden_among(self.list_restrictions(), user, user.actions)
