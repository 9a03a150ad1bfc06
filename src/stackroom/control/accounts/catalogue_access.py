"""Restricted catalogues: visible to selected users and roles only. All others are visible to everybody."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, insert, literal, select, update

from stackroom.control.accounts.rules import require_may_restrict
from stackroom.control.accounts.users import Restriction, User, get_roles, get_user, hidden_among, load_restrictions
from stackroom.control.database import tables
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import REFRESH_PREFIX, restriction_roles, restriction_users, restrictions
from stackroom.errors import ConflictError, NotFoundError
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

    @contextmanager
    def renaming(self, catalogue: str, new: str) -> Iterator[None]:
        """Keep restrictions, tokens, schedules and figures of use in step with a catalogue that the block renames.

        Both names are restricted while it runs, so that nobody sees the catalogue under the other one.
        """
        with self._database.change() as connection:
            if new in load_restrictions(connection):
                raise ConflictError(
                    f"a catalogue '{new}' was restricted once, and still is; choose another name, or open it first: "
                    f"stackroom access open {new}"
                )
            _copy_restriction(connection, catalogue, new)
        try:
            yield
        except BaseException:
            self._drop(new)
            raise
        with self._database.change() as connection:
            _move_names(connection, catalogue, new)
        self._drop(catalogue)

    def _drop(self, catalogue: str) -> None:
        with self._database.change() as connection:
            connection.execute(restrictions.delete().where(restrictions.c.catalogue == catalogue))

    def list_restrictions(self) -> dict[str, Restriction]:
        """Return the restriction of each restricted catalogue, by name."""
        with self._database.read() as connection:
            return load_restrictions(connection)

    def hidden_from(self, user: User) -> frozenset[str]:
        """Return the catalogues that are hidden from a user."""
        return hidden_among(self.list_restrictions(), user, user.actions)


def _copy_restriction(connection: Connection, catalogue: str, new: str) -> None:
    """Restrict another name as a catalogue is restricted; nothing where it is not."""
    for table in (restrictions, restriction_users, restriction_roles):
        others = [column for column in table.c if column.name != "catalogue"]
        copied = select(literal(new), *others).where(table.c.catalogue == catalogue)
        connection.execute(insert(table).from_select(["catalogue", *(column.name for column in others)], copied))


def _move_names(connection: Connection, catalogue: str, new: str) -> None:
    """Give tokens, lists, schedules and figures of use the new name of a catalogue; the audit stays as it was."""
    for table, key_name in ((tables.credentials, "id"), (tables.users, "id"), (tables.roles, "name")):
        key = table.c[key_name]
        confined = select(key.label("key"), table.c.catalogues).where(table.c.catalogues.is_not(None))
        for row in connection.execute(confined).all():
            if catalogue in row.catalogues:
                names = (row.catalogues - {catalogue}) | {new}
                connection.execute(update(table).where(key == row.key).values(catalogues=names))
    job, new_job = f"{REFRESH_PREFIX}{catalogue}", f"{REFRESH_PREFIX}{new}"
    connection.execute(tables.job_settings.delete().where(tables.job_settings.c.name == new_job))
    connection.execute(update(tables.job_settings).where(tables.job_settings.c.name == job).values(name=new_job))
    connection.execute(update(tables.job_runs).where(tables.job_runs.c.job == job).values(job=new_job))
    connection.execute(update(tables.events).where(tables.events.c.catalogue == catalogue).values(catalogue=new))
