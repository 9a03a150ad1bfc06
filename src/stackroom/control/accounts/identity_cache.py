"""A cache from bearer secrets (as SHA-256) to identities: a user, their permissions and the limits
of the credential.

Invariant: every entry was read at `_version`, the version of the database's rights. An entry is
used only while it is fresh: the database's change stamp equals `_stamp`, which was taken before
`_version` was read, and `_version` was read at most `FRESH_S` ago. So a change of rights by any
process ends every entry at once on SQLite. On PostgreSQL the stamp knows only changes by this
process: there `recall` gives nothing, and `identify` uses an entry if the version that it has just
read, after its call came, is still the same.

While PostgreSQL cannot be reached, nobody's rights can be changed there either, and entries are
used for `AWAY_S` after it last answered. A database that answers with an error, and a SQLite file
that is gone, are not believed: their entries end within `FRESH_S`.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection

from stackroom.control.accounts.credentials import (
    Credential,
    Credentials,
    find_by_ids,
    find_by_secret,
    hash_secret,
    is_issued_here,
)
from stackroom.control.accounts.users import (
    Restrictions,
    User,
    hidden_among,
    load_restrictions,
    load_roles,
)
from stackroom.control.database import DatabaseAwayError
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.tables import utc_now
from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.model.principal import Action, Cost, Identity, Principal, Quotas
from stackroom.model.scope import Visibility

LOG = logging.getLogger(__name__)
MOST_KEPT = 10_000
FRESH_S = 1.0  # how long entries are used without reading the version again
AWAY_S = 300.0  # how long entries are used while PostgreSQL cannot be reached
NOTED_EVERY_S = 60.0

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


@frozen
class Rights:
    """A snapshot of role quotas and catalogue restrictions."""

    quotas: Mapping[str, Quotas]  # role → its quotas; a role without its own has the usual ones
    usual_quotas: Quotas
    restrictions: Restrictions

    def principal(self, user: User, credential: Credential | None = None) -> Principal:
        """Return the user as a caller, narrowed to the scopes and catalogues of a credential.

        A caller who is narrowed to less than ServerAdmin sees what a user without it sees.
        """
        actions, lists = user.actions, {user.only}
        if credential is not None:
            actions = actions if credential.scopes is None else actions & credential.scopes
            lists.add(credential.catalogues)
        audiences = (
            None
            if Action.SERVER_ADMIN in actions
            else frozenset({*user.roles, f"user:{user.name}"})
        )
        hidden = hidden_among(self.restrictions, user, actions)
        quotas = [self.quotas[role] for role in user.roles] or [self.usual_quotas]
        confining = [one for one in lists if one is not None]
        only = frozenset.intersection(*confining) if confining else None
        return Principal(
            name=user.name,
            actions=actions,
            visibility=Visibility(audiences=audiences, only=only, hidden=hidden),
            quotas=Quotas(**{cost: max(quota.of(cost) for quota in quotas) for cost in Cost}),
        )


def load_rights(connection: Connection, usual_quotas: Quotas) -> Rights:
    """Read the present role quotas and catalogue restrictions."""
    return Rights(
        quotas={role.name: role.quotas or usual_quotas for role in load_roles(connection)},
        usual_quotas=usual_quotas,
        restrictions=load_restrictions(connection),
    )


class _Kept(NamedTuple):
    """A cache entry."""

    identity: Identity
    credential: Credential


class IdentityCache:
    """Resolves a bearer secret to an Identity, or None. Safe to use from several threads."""

    def __init__(
        self,
        database: ControlDatabase,
        *,
        default_quotas: Quotas,
        now: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._credentials = Credentials(database, now=now)
        self._default_quotas = default_quotas
        self._now = now
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._by_secret: OrderedDict[str, _Kept] = OrderedDict()
        self._by_credential: OrderedDict[str, Identity] = OrderedDict()
        self._used: dict[str, Credential] = {}
        """The credentials that were used since the database was last told."""
        self._former: dict[str, _Kept] = {}
        """On PostgreSQL, entries that a change of rights has ended, until `refresh` reads them
        again.
        """
        self._stamp: tuple[int, int] | None = None
        """The change stamp that was taken just before `_version` was read; a different one makes
        entries stale.
        """
        self._version = database.version()
        self._reported_version = self._version
        """The version that `refresh` last reported; `identify` may have read a newer one since."""
        self._read_at = float("-inf")
        """When `_version` was read, by the monotonic clock."""
        self._is_down = False
        """Whether the database failed to answer the last `refresh`."""
        self._is_away = False
        """Whether PostgreSQL could not be reached when it was last asked."""
        self._noted_at = monotonic()

    def recall(self, secret: str) -> Identity | None:
        """Resolve a secret from the cache, without waiting; return None if it is not cached or
        stale: then call `identify`.
        """
        if self._database.round_trips is not None:
            return None
        return self._find_kept(hash_secret(secret)) if self._is_fresh() else None

    def identify(self, secret: str) -> Identity | None:
        """Resolve a secret by the database, or from the cache if the rights have not changed;
        return None if it is not valid.
        """
        if not is_issued_here(secret):
            return None
        key = hash_secret(secret)
        try:
            version = self._read_version()
        except DatabaseAwayError:
            known = self._find_kept(key) if self.may_do_without else None
            if known is None:
                raise
            return known
        if (known := self._find_kept(key)) is not None:
            return known
        with self._database.read() as connection:
            found = find_by_secret(connection, secret, now=self._now())
            if found is None:
                return None
            identity = _identity(*found, load_rights(connection, self._default_quotas))
        self._credentials.record_use([found[0]])
        with self._guard:
            # An identity that was read while rights changed is used once, and not cached.
            if version == self._version:
                self._put(identity, key, found[0])
        return identity

    def refresh(self) -> bool:
        """Read the version; if it changed since the last call, drop every entry and return True;
        log a failure.
        """
        try:
            version = self._read_version()
        except StorageError as error:
            if not self._is_down:
                only = (
                    f"only callers who are known are, for {AWAY_S:.0f} s"
                    if self._is_away
                    else "no caller is"
                )
                LOG.error(
                    "until the control database answers, %s authenticated: %s", only, error.message
                )
            self._is_down = True
            return False
        self._is_down = False
        self._note_uses()
        with suppress(StorageError):
            self._renew(version)
        before, self._reported_version = self._reported_version, version
        return version != before

    def current(self, identities: Sequence[Identity]) -> list[Identity | None]:
        """Return each identity with its present rights, or None if it is no longer valid; for open
        streams.

        Identities that are not cached are read together; while the database does not answer, they
        count as not valid.
        """
        is_fresh = self._is_fresh() or self.may_do_without
        with self._guard:
            kept = [
                one
                for one in identities
                if is_fresh and self._by_credential.get(one.credential_id) == one
            ]
        found = {one: one for one in kept if self._is_running(one)}
        unknown = [one for one in identities if one not in found]
        if unknown and not (self._is_down and self._monotonic() > self._read_at + FRESH_S):
            with suppress(StorageError):
                version = self._read_version()
                read = self._read_again(unknown)
                with self._guard:
                    for one in read.values() if version == self._version else ():
                        self._put(one)
                found |= read
        return [found.get(one) for one in identities]

    def principal_of(self, user: User, credential: Credential | None = None) -> Principal:
        """Return a user as a caller, narrowed to the scopes and catalogues of a credential."""
        with self._database.read() as connection:
            return load_rights(connection, self._default_quotas).principal(user, credential)

    def _read_version(self) -> int:
        """Return the database's version, after dropping entries that were read at
        another version.
        """
        # The stamp comes first, so that a change between the two reads makes it differ.
        asked_at, change_stamp = self._monotonic(), self._database.change_stamp()
        try:
            version = self._database.version()
        except StorageError as error:
            self._is_away = isinstance(error, DatabaseAwayError)
            raise
        with self._guard:
            self._is_away = False
            if asked_at < self._read_at:  # a later read was answered sooner
                return version
            if version != self._version:
                if self._database.round_trips is not None:
                    self._former = {**self._former, **self._by_secret}
                self._by_secret.clear()
                self._by_credential.clear()
                self._version = version
            self._read_at, self._stamp = asked_at, change_stamp
        return version

    @property
    def may_do_without(self) -> bool:
        """Whether entries may be used although the database cannot be reached."""
        return self._is_away and self._monotonic() <= self._read_at + AWAY_S

    def _find_kept(self, key: str) -> Identity | None:
        """Return the identity of a cached secret that has not expired, and note its use."""
        with self._guard:
            kept = self._by_secret.get(key)
            if kept is None or not self._is_running(kept.identity):
                return None
            self._by_secret.move_to_end(key)
            self._used[key] = kept.credential
        return kept.identity

    def _renew(self, version: int) -> None:
        """Read again the entries that a change of rights has ended, so that their callers are known
        in an outage.
        """
        with self._guard:
            former, self._former = self._former, {}
        found = self._read_again(kept.identity for kept in former.values())
        with self._guard:
            for key, kept in former.items() if version == self._version else ():
                if kept.identity in found and key not in self._by_secret:
                    self._put(found[kept.identity], key, kept.credential)

    def _is_fresh(self) -> bool:
        at, change_stamp = self._monotonic(), self._database.change_stamp()
        with self._guard:
            return (
                change_stamp is not None
                and change_stamp == self._stamp
                and at <= self._read_at + FRESH_S
            )

    def _put(self, identity: Identity, key: str = "", credential: Credential | None = None) -> None:
        """Add an entry, by its secret too if that is known; called with the lock held."""
        _put(self._by_credential, identity.credential_id, identity)
        if credential is not None:
            _put(self._by_secret, key, _Kept(identity, credential))

    def _is_running(self, identity: Identity) -> bool:
        return identity.expires_at is None or identity.expires_at > self._now()

    def _read_again(self, identities: Iterable[Identity]) -> dict[Identity, Identity]:
        """Return the identities that are still valid, each with its present rights."""
        running = [one for one in identities if self._is_running(one)]
        if not running:
            return {}
        with self._database.read() as connection:
            valid = find_by_ids(
                connection, sorted({one.credential_id for one in running}), now=self._now()
            )
            rights = load_rights(connection, self._default_quotas)
        present = {
            one: _identity(credential, user, rights) for one, (credential, user) in valid.items()
        }
        return {one: present[one.credential_id] for one in running if one.credential_id in present}

    def _note_uses(self) -> None:
        """Once a minute, record in the database which credentials were used since."""
        at = self._monotonic()
        if at - self._noted_at < NOTED_EVERY_S:
            return
        self._noted_at = at
        with self._guard:
            used, self._used = self._used, {}
        self._credentials.record_use(used.values())


def _identity(credential: Credential, user: User, rights: Rights) -> Identity:
    return Identity(
        principal=rights.principal(user, credential),
        credential_id=credential.id,
        expires_at=credential.expires_at,
        scopes=credential.scopes,
        must_choose_password=credential.must_choose_password,
    )


def _put(kept: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Add an entry, and evict the least recently used ones beyond `MOST_KEPT`."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)
