"""Sessions and tokens: bearer secrets that are shown once and stored as their SHA-256.

A session comes from a login and lasts for hours; a token is for programs, may be narrowed to
permissions (scopes) and catalogues, and is valid until it expires or is revoked.
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Update,
    and_,
    bindparam,
    delete,
    or_,
    select,
    true,
    update,
)

from stackroom.control.accounts import rules
from stackroom.control.accounts.users import (
    User,
    find_user,
    fold_name,
    get_user,
    load_restrictions,
    load_users,
)
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import credentials, users, utc_now
from stackroom.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    NotFoundError,
    StorageError,
    UnauthenticatedError,
)
from stackroom.frozen import frozen
from stackroom.library import require_name
from stackroom.model.principal import Action, Principal

PREFIXES: Mapping[str, str] = {"session": "stk_s_", "token": "stk_t_"}
FORMER_PREFIXES = ("pnk_s_", "pnk_t_")
"""Prefixes of secrets issued before the project was renamed; they stay valid until they expire."""
SECRET_BYTES = 32
ID_BYTES = 6
LONGEST_SECRET = 256
SESSION_LASTS = timedelta(hours=12)
LONGEST_TOKEN = timedelta(days=3650)
KEPT_AFTER_END = timedelta(days=30)  # how long an ended session is still listed
NOTED_EVERY = timedelta(minutes=1)
NO_SCOPES: frozenset[Action] = frozenset()
MOST_TOKENS = 50
MOST_LISTED = 10_000
MOST_AT_ONCE = 500  # how many ids are looked up in one query
COPIED_COLUMNS = (
    "id",
    "kind",
    "user",
    "name",
    "catalogues",
    "created_at",
    "expires_at",
    "last_used_at",
)
IS_SESSION = credentials.c.kind == "session"


@frozen
class Credential:
    """A session or token, without its secret."""

    id: str
    kind: Literal["session", "token"]
    user: str
    name: str
    scopes: frozenset[Action] | None  # none: every permission of its user
    catalogues: frozenset[str] | None  # none: every catalogue that its user may see
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked: bool

    @property
    def must_choose_password(self) -> bool:
        """Whether this session began with a one-time password and so has no permission yet."""
        return self.kind == "session" and self.scopes == NO_SCOPES


class IssuedCredential(NamedTuple):
    """A new session or token with its secret, which is shown once and stored only as a hash."""

    secret: str
    credential: Credential


class Credentials:
    """The sessions and tokens of one control database."""

    def __init__(self, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        self._database = database
        self._now = now

    def issue_session(
        self, user: User, *, lasts: timedelta = SESSION_LASTS, must_choose_password: bool = False
    ) -> IssuedCredential:
        """Issue a session to a user who has logged in, without a permission if they
        `must_choose_password` first.
        """
        now = self._now()
        ended = or_(
            credentials.c.expires_at < now - KEPT_AFTER_END,
            credentials.c.revoked_at < now - KEPT_AFTER_END,
        )
        with self._database.begin() as connection:
            connection.execute(
                delete(credentials).where(credentials.c.user_id == user.id, IS_SESSION, ended)
            )
            present = find_user(connection, user.name)
            if present is None or present.id != user.id or present.disabled:
                raise UnauthenticatedError(
                    f"user '{user.name}' can no longer log in; ask an administrator"
                )
            given = {
                "name": "",
                "scopes": NO_SCOPES if must_choose_password else None,
                "expires_at": now + lasts,
            }
            return _issue(connection, user, kind="session", created_at=now, **given)

    def issue_token(
        self,
        actor: Principal,
        user_name: str,
        *,
        name: str,
        scopes: Iterable[Action] | None = None,
        catalogues: Iterable[str] | None = None,
        expires_in: timedelta | None = None,
    ) -> IssuedCredential:
        """Issue a token to the actor, or to a user whom they manage."""
        now = self._now()
        if not 1 <= len(name) <= 64 or not name.isprintable() or not name.strip():
            raise InputError("'name' of a token must have 1 to 64 printable characters")
        if expires_in is not None and not timedelta(0) < expires_in <= LONGEST_TOKEN:
            raise InputError(
                f"'expires_in' must be more than nothing and at most {LONGEST_TOKEN.days:,} days"
            )
        narrowed = None if scopes is None else frozenset(scopes)
        confined = None if catalogues is None else frozenset(catalogues)
        for catalogue in confined or ():
            require_name(catalogue)
        with self._database.change() as connection:
            user = _owner(connection, actor, user_name)
            rules.require_may_issue(actor, user, confined)
            allowed = _allowed_scopes(actor, user, narrowed)
            _require_room(connection, user, name, now=now)
            ends = None if expires_in is None else now + expires_in
            given = {"name": name, "scopes": allowed, "catalogues": confined, "expires_at": ends}
            return _issue(connection, user, kind="token", created_at=now, **given)

    def list_of(self, user_name: str) -> list[Credential]:
        """Return the sessions and tokens of a user, newest first, ended ones included."""
        with self._database.read() as connection:
            user = get_user(connection, user_name)
            newest_first = (credentials.c.created_at.desc(), credentials.c.id)
            rows = connection.execute(
                _selected(credentials.c.user_id == user.id).order_by(*newest_first)
            )
            return [_credential(row) for row in rows]

    def list_all(self, *, used_since: datetime | None = None) -> list[Credential]:
        """Return the valid sessions and tokens by user and age; of tokens, those used since a time
        if one is given.
        """
        is_used = (
            true()
            if used_since is None
            else or_(IS_SESSION, credentials.c.last_used_at >= used_since)
        )
        is_live = and_(_is_valid(self._now()), users.c.disabled.is_(False))
        order = (users.c.name, credentials.c.created_at.desc(), credentials.c.id)
        with self._database.read() as connection:
            rows = connection.execute(
                _selected(and_(is_live, is_used)).order_by(*order).limit(MOST_LISTED)
            )
            return [_credential(row) for row in rows]

    def revoke(self, actor: Principal, credential_id: str, *, shown: str = "") -> None:
        """Revoke a session or token of the actor, or of a user whom they manage.

        `shown` is the id of the actor's own credential, which may revoke itself, but no wider one
        of the same user.
        """
        unknown = NotFoundError(
            f"no session or token {credential_id[:80]!r}; list them to see their ids"
        )
        if not credential_id.isalnum():
            raise unknown
        with self._database.change() as connection:
            row = connection.execute(_selected(credentials.c.id == credential_id)).one_or_none()
            if row is None or (
                row.user != actor.name and Action.MANAGE_PERMISSIONS not in actor.actions
            ):
                raise unknown
            if row.user != actor.name:
                require_changeable(connection, actor, get_user(connection, row.user))
            elif credential_id != shown:
                ended = _credential(row)
                user = get_user(connection, row.user)
                rules.require_may_end(actor, user, scopes=ended.scopes, catalogues=ended.catalogues)
            connection.execute(_ending(self._now()).where(credentials.c.id == credential_id))

    def revoke_secret(self, secret: str) -> bool:
        """Revoke the session or token of this secret; tell whether it was still valid."""
        if not is_issued_here(secret):
            return False
        with self._database.change() as connection:
            ended = connection.execute(
                _ending(self._now()).where(credentials.c.secret_hash == hash_secret(secret))
            )
            return ended.rowcount == 1

    def find(self, secret: str) -> tuple[Credential, User] | None:
        """Return the credential of a valid secret with its user, else None; its last use is
        recorded once a minute.
        """
        with self._database.read() as connection:
            found = find_by_secret(connection, secret, now=self._now())
        if found is not None:
            self.record_use([found[0]])
        return found

    def record_use(self, used: Iterable[Credential]) -> None:
        """Record the last use of credentials, unless it was recorded within the last minute."""
        now = self._now()
        due = [
            one.id
            for one in used
            if one.last_used_at is None or now - one.last_used_at >= NOTED_EVERY
        ]
        if not due:
            return
        noting = (
            update(credentials)
            .where(credentials.c.id == bindparam("used"))
            .values(last_used_at=now)
        )
        # A caller is not refused because this cannot be written: it is for people to look at only.
        with suppress(StorageError), self._database.begin() as connection:
            connection.execute(noting, [{"used": one} for one in sorted(due)])


def is_issued_here(secret: str) -> bool:
    """Tell whether a secret has the form of those that this server issues."""
    prefixes = (*PREFIXES.values(), *FORMER_PREFIXES)
    return secret.startswith(prefixes) and len(secret) <= LONGEST_SECRET and secret.isascii()


def hash_secret(secret: str) -> str:
    """Return the hash that is stored in place of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find_by_secret(
    connection: Connection, secret: str, *, now: datetime
) -> tuple[Credential, User] | None:
    """Return the credential of a secret with its user, or None if it is not valid at that time."""
    if not is_issued_here(secret):
        return None
    found = _find_valid(connection, credentials.c.secret_hash == hash_secret(secret), now=now)
    return next(iter(found.values()), None)


def find_by_ids(
    connection: Connection, ids: Sequence[str], *, now: datetime
) -> dict[str, tuple[Credential, User]]:
    """Return the credentials with these ids that are valid at that time."""
    found: dict[str, tuple[Credential, User]] = {}
    for start in range(0, len(ids), MOST_AT_ONCE):
        found |= _find_valid(
            connection, credentials.c.id.in_(ids[start : start + MOST_AT_ONCE]), now=now
        )
    return found


def end_credentials(
    connection: Connection, user_id: int, *which: ColumnElement[bool], at: datetime
) -> None:
    """End the sessions and tokens of a user, or some of them, within the caller's transaction."""
    connection.execute(_ending(at).where(credentials.c.user_id == user_id, *which))


def _find_valid(
    connection: Connection, condition: ColumnElement[bool], *, now: datetime
) -> dict[str, tuple[Credential, User]]:
    rows = connection.execute(_selected(and_(condition, _is_valid(now)))).all()
    owners = connection.execute(
        select(users).where(users.c.id.in_({row.user_id for row in rows}))
    ).all()
    known = {user.id: user for user in load_users(connection, owners) if not user.disabled}
    return {row.id: (_credential(row), known[row.user_id]) for row in rows if row.user_id in known}


def _selected(condition: ColumnElement[bool]) -> Any:
    return select(credentials, users.c.name.label("user")).join(users).where(condition)


def _is_valid(now: datetime) -> ColumnElement[bool]:
    is_running = or_(credentials.c.expires_at.is_(None), credentials.c.expires_at > now)
    return and_(credentials.c.revoked_at.is_(None), is_running)


def _ending(at: datetime) -> Update:
    return update(credentials).where(credentials.c.revoked_at.is_(None)).values(revoked_at=at)


def _credential(row: Row[Any]) -> Credential:
    same = {name: getattr(row, name) for name in COPIED_COLUMNS}
    scopes = None if row.scopes is None else frozenset(map(Action, row.scopes))
    return Credential(**same, scopes=scopes, revoked=row.revoked_at is not None)


def _issue(
    connection: Connection, user: User, *, kind: Literal["session", "token"], **values: Any
) -> IssuedCredential:
    """Store a credential with these values of its columns, and return it with its secret."""
    secret = PREFIXES[kind] + secrets.token_urlsafe(SECRET_BYTES)
    made = {
        "id": secrets.token_hex(ID_BYTES),
        "kind": kind,
        "user_id": user.id,
        "secret_hash": hash_secret(secret),
    }
    connection.execute(credentials.insert(), {**made, **values})
    return IssuedCredential(
        secret, _credential(connection.execute(_selected(credentials.c.id == made["id"])).one())
    )


def _owner(connection: Connection, actor: Principal, user_name: str) -> User:
    """Return the user a token is for; raise ForbiddenError if the actor may not issue tokens for
    them.
    """
    if fold_name(user_name) != actor.name and Action.MANAGE_PERMISSIONS not in actor.actions:
        raise ForbiddenError(
            f"a token for another user needs the permission {Action.MANAGE_PERMISSIONS}"
        )
    user = get_user(connection, user_name)
    if user.name != actor.name:
        require_changeable(connection, actor, user)
    return user


def require_changeable(connection: Connection, actor: Principal, user: User) -> None:
    """Refuse to change a user who has more rights than the actor."""
    rules.require_may_change(actor, user, rules.reach_of_user(user, load_restrictions(connection)))


def _allowed_scopes(
    actor: Principal, user: User, scopes: frozenset[Action] | None
) -> frozenset[Action] | None:
    """Return the scopes of a token; refuse scopes that its user or the actor does not have."""
    beyond = sorted((scopes or frozenset()) - user.actions)
    if beyond:
        known = ", ".join(sorted(user.actions)) or "nothing"
        raise InputError(
            f"'scopes': user '{user.name}' may not do {', '.join(beyond)}; they may do: {known}"
        )
    rules.require_may_give(actor, rules.Reach(actions=user.actions if scopes is None else scopes))
    # The actor knows the secret, and must not gain what the user is granted later.
    is_for_another = actor.name != user.name and actor.actions != rules.EVERYTHING
    return user.actions if scopes is None and is_for_another else scopes


def _require_room(connection: Connection, user: User, name: str, *, now: datetime) -> None:
    is_token = and_(credentials.c.user_id == user.id, credentials.c.kind == "token")
    names = set(connection.scalars(select(credentials.c.name).where(is_token, _is_valid(now))))
    if name in names:
        raise ConflictError(
            f"user '{user.name}' has a token called '{name}': revoke it, or choose another name"
        )
    if len(names) >= MOST_TOKENS:
        raise ConflictError(
            f"user '{user.name}' has {MOST_TOKENS} tokens, which is the most: revoke one first"
        )
