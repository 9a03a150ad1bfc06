"""Users, roles and restricted catalogues: creating, changing and deleting them, and checking
passwords.

Every change is one transaction of `ControlDatabase.change`, so changes of rights are serialised
over all processes; that keeps the last administrator when two are removed at once.
"""

import hmac
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    func,
    insert,
    literal,
    select,
    union,
    update,
)

from stackroom.control.accounts import rules
from stackroom.control.accounts.credentials import (
    IS_SESSION,
    end_credentials,
    hash_secret,
    require_changeable,
)
from stackroom.control.accounts.passwords import (
    hash_password,
    require_good_password,
    verify_password,
)
from stackroom.control.accounts.users import (
    NO_ROLE,
    USED,
    Restriction,
    Role,
    User,
    find_user,
    fold_name,
    get_roles,
    get_user,
    hidden_among,
    is_storable,
    load_restrictions,
    load_roles,
    load_users,
    require_role_name,
    require_user_name,
)
from stackroom.control.database import tables
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import roles, users, utc_now
from stackroom.errors import ConflictError, InputError, NotFoundError
from stackroom.library import require_name
from stackroom.model.principal import Action, Cost, Principal, Quotas

__all__ = ["Accounts", "Role", "User"]

FIRST_ADMIN = "admin"
ADMIN_ROLE = "admin"
BUILTIN_ROLES = ("admin", "agent", "editor", "user")
USUAL_ROLES = ("user",)
ONE_TIME_BYTES = 18


class Accounts:
    """The users and roles of one control database."""

    def __init__(self, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._now = now

    def is_empty(self) -> bool:
        """Tell whether there are no users yet."""
        with self._database.read() as connection:
            return _count(connection, users) == 0

    def list_users(self, *, offset: int = 0, limit: int = 100) -> tuple[list[User], int]:
        """Return a page of the users, by name, and how many there are."""
        with self._database.read() as connection:
            wanted = select(users).order_by(users.c.name).offset(offset).limit(limit)
            rows = connection.execute(wanted).all()
            return load_users(connection, rows), _count(connection, users)

    def get_user(self, name: str) -> User:
        """Return the user of this name; raise NotFoundError with the nearest name otherwise."""
        with self._database.read() as connection:
            return get_user(connection, name)

    def create_user(
        self,
        actor: Principal,
        name: str,
        *,
        password: str | None,
        roles: Sequence[str] = USUAL_ROLES,
        grants: Iterable[Action] = (),
        catalogues: frozenset[str] | None = None,
    ) -> User:
        """Create a user; without a password they can use tokens, or a password reset."""
        rules.require_manager(actor)
        folded = require_user_name(name)
        granted = frozenset(grants)
        stored = None if password is None else _hashed(password, folded)
        with self._database.change() as connection:
            given = get_roles(connection, roles)
            rules.require_may_give(
                actor, rules.reach_of_roles(given, load_restrictions(connection), besides=granted)
            )
            if find_user(connection, folded) is not None:
                raise ConflictError(f"there is a user '{folded}' already; choose another name")
            user_id = self._insert_user(
                connection, folded, password_hash=stored, catalogues=catalogues
            )
            _put_roles(connection, user_id, given)
            _put_grants(connection, user_id, granted)
            return get_user(connection, folded)

    def create_first_admin(self) -> str | None:
        """Create an administrator if there are no users, and return their one-time secret; else
        None.
        """
        if not self.is_empty():
            return None
        secret = secrets.token_urlsafe(ONE_TIME_BYTES)
        with self._database.change() as connection:
            if _count(connection, users):
                return None
            user_id = self._insert_user(connection, FIRST_ADMIN, one_time_hash=hash_secret(secret))
            _put_roles(connection, user_id, get_roles(connection, [ADMIN_ROLE]))
        return secret

    def delete_user(self, actor: Principal, name: str) -> None:
        """Delete a user with their sessions and tokens."""
        with self._changing(actor, name) as (connection, user):
            connection.execute(users.delete().where(users.c.id == user.id))

    def set_disabled(self, actor: Principal, name: str, *, disabled: bool) -> User:
        """Disable a user, which ends their sessions, or enable them again."""
        with self._changing(actor, name) as (connection, user):
            _set(connection, user, disabled=disabled)
            if disabled:
                end_credentials(connection, user.id, IS_SESSION, at=self._now())
            return get_user(connection, user.name)

    def set_catalogues(
        self, actor: Principal, name: str, catalogues: frozenset[str] | None
    ) -> User:
        """Give a user a list of the only catalogues that they see, or remove it with None."""
        with self._changing(actor, name) as (connection, user):
            _set(connection, user, catalogues=catalogues)
            return get_user(connection, user.name)

    def end_sessions(self, actor: Principal, name: str) -> User:
        """End every session of a user."""
        with self._changing(actor, name) as (connection, user):
            end_credentials(connection, user.id, IS_SESSION, at=self._now())
            return user

    def set_roles(self, actor: Principal, name: str, roles: Sequence[str]) -> User:
        """Replace the roles of a user."""
        with self._changing(actor, name) as (connection, user):
            given = get_roles(connection, roles)
            rules.require_may_give(
                actor, rules.reach_of_roles(given, load_restrictions(connection))
            )
            _put_roles(connection, user.id, given)
            return get_user(connection, user.name)

    def grant(self, actor: Principal, name: str, action: Action) -> User:
        """Grant a user a permission besides those of their roles; idempotent."""
        rules.require_manager(actor)
        rules.require_may_give(actor, rules.Reach(actions=frozenset({action})))
        with self._changing(actor, name) as (connection, user):
            _put_grants(connection, user.id, user.granted | {action})
            return get_user(connection, user.name)

    def revoke(self, actor: Principal, name: str, action: Action) -> User:
        """Revoke a granted permission; refuse if a role of the user allows it anyway."""
        with self._changing(actor, name) as (connection, user):
            _require_no_role_with(connection, user, action)
            if action not in user.granted:
                raise NotFoundError(
                    f"user '{user.name}' does not have {action}; there is nothing to revoke"
                )
            _put_grants(connection, user.id, user.granted - {action})
            return get_user(connection, user.name)

    def set_password(self, actor: Principal, name: str, password: str) -> None:
        """Set the password of the actor or of a user they manage, and end that user's sessions."""
        if fold_name(name) != actor.name:
            rules.require_manager(actor)
        stored = _hashed(password, name)
        with self._database.change() as connection:
            self._put_password(connection, _enterable(connection, actor, name), password, stored)

    def choose_password(self, name: str, password: str) -> None:
        """Set the first password of a user who logged in with a one-time password, and end their
        sessions.
        """
        stored = _hashed(password, name)
        with self._database.change() as connection:
            user = get_user(connection, name)
            if user.has_password:
                raise ConflictError(f"user '{user.name}' has a password already: log in with it")
            self._put_password(connection, user, password, stored)

    def reset_password(self, actor: Principal, name: str, *, revoke_tokens: bool = False) -> str:
        """Replace a user's password with a one-time secret, which is returned; end their sessions,
        or tokens too.
        """
        rules.require_manager(actor)
        secret = secrets.token_urlsafe(ONE_TIME_BYTES)
        with self._database.change() as connection:
            user = _enterable(connection, actor, name)
            _set(connection, user, password_hash=None, one_time_hash=hash_secret(secret))
            end_credentials(
                connection, user.id, *([] if revoke_tokens else [IS_SESSION]), at=self._now()
            )
        return secret

    def check_login(self, name: str, password: str, *, takes_one_time: bool = True) -> User | None:
        """Return the user if the password is right, else None; the time does not tell which of the
        two was wrong.

        Without `takes_one_time` a one-time secret is refused, and stays as it is.
        """
        folded = fold_name(name)
        with self._database.read() as connection:
            named = select(users).where(users.c.name == folded)
            row = connection.execute(named).one_or_none() if is_storable(folded) else None
        is_right = verify_password(None if row is None else row.password_hash, password)
        one_time_hash = "" if row is None else row.one_time_hash or ""
        is_one_time = hmac.compare_digest(one_time_hash, hash_secret(password)) and takes_one_time
        if row is None or row.disabled or not (is_right or is_one_time):
            return None
        if not is_right and not self._use_up(row.id, one_time_hash):
            return None
        with self._database.read() as connection:
            user = find_user(connection, folded)
        return None if user is None or user.disabled else user

    def list_roles(self) -> list[Role]:
        """Return every role, ordered by name."""
        with self._database.read() as connection:
            return load_roles(connection)

    def create_role(
        self,
        actor: Principal,
        name: str,
        actions: Iterable[Action],
        quotas: Quotas | None,
        catalogues: frozenset[str] | None = None,
    ) -> Role:
        """Create a role."""
        rules.require_manager(actor)
        role = Role(
            name=require_role_name(name),
            actions=frozenset(actions),
            quotas=quotas,
            catalogues=catalogues,
        )
        _require_may_make(actor, role)
        with self._database.change() as connection:
            if role.name in {one.name for one in load_roles(connection)}:
                raise ConflictError(f"there is a role '{role.name}' already; choose another name")
            connection.execute(roles.insert(), {"name": role.name})
            _put_role(connection, role)
            return get_roles(connection, [role.name])[0]

    def change_role(self, actor: Principal, name: str, change: Callable[[Role], Role]) -> Role:
        """Change the permissions and quotas of a role; the actor must be able to change every user
        who has it.
        """
        rules.require_manager(actor)
        with self._database.change() as connection:
            role = _changeable_role(connection, actor, name)
            changed = change(role)
            _require_may_make(actor, changed)
            if role.name == ADMIN_ROLE and changed.actions != role.actions:
                raise ConflictError(
                    f"role '{ADMIN_ROLE}' has every permission and stays so; its quotas can be"
                    " changed"
                )
            holding = (
                select(users).join(tables.user_roles).where(tables.user_roles.c.role == role.name)
            )
            for user in load_users(connection, connection.execute(holding).all()):
                require_changeable(connection, actor, user)
            with _admin_left(connection, f"role '{role.name}' makes the last administrator"):
                _put_role(connection, changed)
            return get_roles(connection, [role.name])[0]

    def delete_role(self, actor: Principal, name: str) -> None:
        """Delete a role that no user has."""
        rules.require_manager(actor)
        with self._database.change() as connection:
            role = _changeable_role(connection, actor, name)
            if role.name in BUILTIN_ROLES:
                raise ConflictError(
                    f"role '{role.name}' is built in and stays; take it from users instead"
                )
            has_role = tables.user_roles.c.role == role.name
            if holders := _count(connection, tables.user_roles, has_role):
                raise ConflictError(
                    f"{holders} users have the role '{role.name}': take it from them first"
                )
            connection.execute(roles.delete().where(roles.c.name == role.name))

    @contextmanager
    def _changing(self, actor: Principal, name: str) -> Iterator[tuple[Connection, User]]:
        """Open a change of a user whom the actor may change; it is refused where no administrator
        is left after it.
        """
        rules.require_manager(actor)
        with self._database.change() as connection:
            user = get_user(connection, name)
            require_changeable(connection, actor, user)
            with _admin_left(connection, f"user '{user.name}' is the last administrator"):
                yield connection, user

    def _put_password(self, connection: Connection, user: User, password: str, stored: str) -> None:
        """Set the password and end the sessions; refuse the user's one-time secret, which another
        person knows.
        """
        one_time = connection.scalar(select(users.c.one_time_hash).where(users.c.id == user.id))
        if hmac.compare_digest((one_time or "").removeprefix(USED), hash_secret(password)):
            raise InputError(
                "'password' is the one-time password, which others have seen; choose another"
            )
        _set(connection, user, password_hash=stored, one_time_hash=None)
        end_credentials(connection, user.id, IS_SESSION, at=self._now())

    def _insert_user(self, connection: Connection, name: str, **values: Any) -> int:
        """Insert a user without permissions, and return their id."""
        row = {"name": name, "disabled": False, "created_at": self._now(), **values}
        return int(connection.scalars(users.insert().returning(users.c.id), row).one())

    def _use_up(self, user_id: int, one_time_hash: str) -> bool:
        """Consume a one-time secret; True for exactly one of several concurrent callers."""
        is_there = (
            (users.c.id == user_id)
            & (users.c.one_time_hash == one_time_hash)
            & users.c.disabled.is_(False)
        )
        with self._database.begin() as connection:
            taken = connection.execute(
                update(users).where(is_there).values(one_time_hash=f"{USED}{one_time_hash}")
            )
            return taken.rowcount == 1


def _set(connection: Connection, user: User, **values: Any) -> None:
    connection.execute(update(users).where(users.c.id == user.id).values(values))


def _put_roles(connection: Connection, user_id: int, given: Iterable[Role]) -> None:
    _replace(connection, tables.user_roles, user_id, (role.name for role in given))


def _put_grants(connection: Connection, user_id: int, actions: Iterable[Action]) -> None:
    _replace(connection, tables.user_grants, user_id, actions)


def _put_role(connection: Connection, role: Role) -> None:
    """Replace the permissions, quotas and catalogues of a role."""
    quotas = {f"{cost}_quota": role.quotas.of(cost) if role.quotas else None for cost in Cost}
    connection.execute(
        update(roles).where(roles.c.name == role.name).values(catalogues=role.catalogues, **quotas)
    )
    _replace(connection, tables.role_actions, role.name, role.actions)


def _replace(
    connection: Connection, table: Table, owner: int | str, values: Iterable[int | str]
) -> None:
    """Replace the rows of an owner in a table of two columns: the owner, and one value."""
    owners, others = table.c
    connection.execute(table.delete().where(owners == owner))
    if rows := [{owners.name: owner, others.name: value} for value in sorted(values)]:
        connection.execute(table.insert(), rows)


def _enterable(connection: Connection, actor: Principal, name: str) -> User:
    """Return the user; raise ForbiddenError if the actor may not set their password."""
    user = get_user(connection, name)
    rules.require_may_enter(actor, user, rules.reach_of_user(user, load_restrictions(connection)))
    return user


def _changeable_role(connection: Connection, actor: Principal, name: str) -> Role:
    """Return the role; raise ForbiddenError if the actor may not change it."""
    (role,) = get_roles(connection, [name])
    rules.require_may_change(
        actor, role, rules.reach_of_roles([role], load_restrictions(connection))
    )
    return role


def _require_may_make(actor: Principal, role: Role) -> None:
    rules.require_may_give(actor, rules.Reach(actions=role.actions))
    rules.require_may_set_quotas(actor, role.quotas)


def _require_no_role_with(connection: Connection, user: User, action: Action) -> None:
    giving = [role.name for role in get_roles(connection, user.roles) if action in role.actions]
    if giving:
        named = " and ".join(f"'{name}'" for name in giving)
        raise ConflictError(
            f"user '{user.name}' has {action} by the role {named}: change their roles instead (to"
            f" '{NO_ROLE}' for no role at all), then grant what they should keep"
        )


@contextmanager
def _admin_left(connection: Connection, reason: str) -> Iterator[None]:
    """Refuse the changes of this block if they remove the last administrator who is enabled and
    sees every catalogue.
    """
    had_one = _has_admin(connection)
    yield
    if had_one and not _has_admin(connection):
        raise ConflictError(f"{reason}: give another user the role {ADMIN_ROLE} first")


def _has_admin(connection: Connection) -> bool:
    """Tell whether an enabled user has every permission and no list of catalogues, and so can
    manage everything.
    """
    having, giving = tables.user_roles.c, tables.role_actions.c
    by_role = select(having.user_id, giving.action).where(giving.role == having.role)
    allowed = union(
        by_role, select(tables.user_grants.c.user_id, tables.user_grants.c.action)
    ).subquery()
    holding_all = (
        select(allowed.c.user_id)
        .group_by(allowed.c.user_id)
        .having(func.count() == len(rules.EVERYTHING))
    )
    enabled = select(users).where(users.c.disabled.is_(False), users.c.id.in_(holding_all))
    return any(
        user.only is None for user in load_users(connection, connection.execute(enabled).all())
    )


def _count(connection: Connection, table: Table, *which: ColumnElement[bool]) -> int:
    return connection.scalar(select(func.count()).select_from(table).where(*which)) or 0


def _hashed(password: str, user_name: str) -> str:
    require_good_password(password, user_name=user_name)
    return hash_password(password)


class CatalogueAccess:
    """The restricted catalogues, which only selected users and roles see; all users see
    the others.
    """

    def __init__(self, database: ControlDatabase) -> None:
        self._database = database

    def restrict(
        self,
        actor: Principal,
        catalogue: str,
        *,
        users: Iterable[str] = (),
        roles: Iterable[str] = (),
    ) -> Restriction:
        """Restrict a catalogue to these users and roles, replacing its earlier restriction."""
        rules.require_may_restrict(actor, catalogue)
        require_name(catalogue)
        with self._database.change() as connection:
            allowed_users = [get_user(connection, name) for name in sorted(set(users))]
            allowed_roles = get_roles(connection, roles)
            _open(connection, catalogue)
            connection.execute(tables.restrictions.insert(), {"catalogue": catalogue})
            _replace(
                connection, tables.restriction_users, catalogue, {user.id for user in allowed_users}
            )
            _replace(
                connection,
                tables.restriction_roles,
                catalogue,
                (role.name for role in allowed_roles),
            )
            return load_restrictions(connection)[catalogue]

    def open_to_all(self, actor: Principal, catalogue: str) -> None:
        """Remove the restriction of a catalogue."""
        rules.require_may_restrict(actor, catalogue)
        with self._database.change() as connection:
            known = load_restrictions(connection)
            if catalogue not in known:
                there = (
                    ", ".join(name for name in known if actor.visibility.sees_catalogue(name))
                    or "none"
                )
                raise NotFoundError(
                    f"catalogue {catalogue[:80]!r} is not restricted; restricted: {there}"
                )
            _open(connection, catalogue)

    @contextmanager
    def renaming(self, catalogue: str, new: str) -> Iterator[None]:
        """Rename a catalogue in restrictions, tokens, schedules and analytics, together with the
        block that renames it.

        Both names are restricted while the block runs, so that neither shows the catalogue to
        others.
        """
        with self._database.change() as connection:
            if new in load_restrictions(connection):
                raise ConflictError(
                    f"a catalogue '{new}' was restricted once, and still is; choose another name,"
                    f" or open it first: stackroom access open {new}"
                )
            _copy_restriction(connection, catalogue, new)
        try:
            yield
        except BaseException:
            with self._database.change() as connection:
                _open(connection, new)
            raise
        with self._database.change() as connection:
            _move_names(connection, catalogue, new)
            _open(connection, catalogue)

    def list_restrictions(self) -> dict[str, Restriction]:
        """Return the restriction of each restricted catalogue, by name."""
        with self._database.read() as connection:
            return load_restrictions(connection)

    def hidden_from(self, user: User) -> frozenset[str]:
        """Return the catalogues that are hidden from a user."""
        return hidden_among(self.list_restrictions(), user, user.actions)


def _open(connection: Connection, catalogue: str) -> None:
    """Remove the restriction of a catalogue, with the users and roles that it names."""
    listed = tables.restrictions
    connection.execute(listed.delete().where(listed.c.catalogue == catalogue))


def _copy_restriction(connection: Connection, catalogue: str, new: str) -> None:
    """Copy the restriction of a catalogue, if it has one, to another name."""
    for table in (tables.restrictions, tables.restriction_users, tables.restriction_roles):
        others = [column for column in table.c if column.name != "catalogue"]
        copied = select(literal(new), *others).where(table.c.catalogue == catalogue)
        connection.execute(
            insert(table).from_select(["catalogue", *(column.name for column in others)], copied)
        )


def _move_names(connection: Connection, catalogue: str, new: str) -> None:
    """Rename a catalogue in tokens, lists, schedules and analytics; the audit stays unchanged."""
    for table in (tables.credentials, tables.users, tables.roles):
        (key,) = table.primary_key
        confined = select(key, table.c.catalogues).where(table.c.catalogues.is_not(None))
        for owner, shown in connection.execute(confined).all():
            if catalogue in shown:
                names = (shown - {catalogue}) | {new}
                connection.execute(update(table).where(key == owner).values(catalogues=names))
    job, new_job = f"{tables.REFRESH_PREFIX}{catalogue}", f"{tables.REFRESH_PREFIX}{new}"
    planned = tables.job_settings.c.name
    connection.execute(tables.job_settings.delete().where(planned == new_job))
    for column, former, present in (
        (planned, job, new_job),
        (tables.job_runs.c.job, job, new_job),
        (tables.events.c.catalogue, catalogue, new),
    ):
        connection.execute(update(column.table).where(column == former).values({column: present}))
