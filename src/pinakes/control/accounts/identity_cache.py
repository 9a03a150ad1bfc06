"""The directory: secrets → who they belong to and what that person may do, kept in memory.

Kept is only what was read at the present version of the database. At every call a change_stamp tells whether that was
changed: by this process, or, where it is SQLite, by any. A change in PostgreSQL by another process is seen when the
version is looked at again, without which nothing is believed for more than a second. Where the database does not
answer, everybody is forgotten within that second. Secrets are kept as their SHA-256.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from pinakes.control.accounts.credentials import (
    Credential,
    Credentials,
    find_by_ids,
    find_by_secret,
    hash_secret,
    is_of_ours,
)
from pinakes.control.accounts.rights import Rights, load_rights
from pinakes.control.accounts.users import User, find_user
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.time_columns import utc_now
from pinakes.errors import StorageError
from pinakes.model.principal import Action, Identity, Principal, Quotas

LOG = logging.getLogger(__name__)
MOST_KEPT = 10_000
FRESH_S = 1.0
"""How long what is in memory is believed without looking at the version again."""
FOREIGN_KEPT_S = 300.0
"""How long a bearer token of an external issuer is believed without looking at its signature again."""
NOTED_EVERY_S = 60.0
FOREIGN_ID = "jwt-"
"""What the id of a bearer token of an external issuer begins with."""

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class Issuer(Protocol):
    """Somebody else who issues bearer tokens."""

    def verify(self, token: str) -> tuple[User, frozenset[Action] | None, datetime] | None:
        """Return whose token this is, what it is narrowed to (None: nothing), and when it ends; None: not valid."""
        ...


@dataclass(slots=True)
class _Kept:
    """An identity in memory, and what is noted of it."""

    identity: Identity
    credential: Credential | None
    believed_until: float = float("inf")
    is_used: bool = False


class IdentityCache:
    """Who is it? Safe to use from several threads."""

    def __init__(
        self,
        database: ControlDatabase,
        *,
        default_quotas: Quotas,
        external: Issuer | None = None,
        now: Callable[[], datetime] = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._credentials = Credentials(database, now=now)
        self._default_quotas = default_quotas
        self._external = external
        self._now = now
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._by_secret: OrderedDict[str, _Kept] = OrderedDict()
        self._by_credential: OrderedDict[str, Identity] = OrderedDict()
        self._glance: tuple[int, int] | None = None
        """What a change_stamp at the database gave before the version was looked at; another one makes memory old."""
        self._version = database.version()
        self._told_version = self._version
        """The version that `refresh` last compared with; `identify` may have seen a newer one since."""
        self._looked_at = float("-inf")
        """When the version was last asked for."""
        self._is_out = False
        """Whether the database did not answer when `refresh` last asked."""
        self._noted_at = monotonic()

    def recall(self, secret: str) -> Identity | None:
        """Return who it is, from memory only; None: ask `identify`."""
        key = hash_secret(secret)
        at, change_stamp = self._monotonic(), self._database.change_stamp()
        with self._guard:
            kept = self._by_secret.get(key)
            if kept is None or not self._is_fresh(at, change_stamp) or at > kept.believed_until:
                return None
            self._by_secret.move_to_end(key)
            kept.is_used = True
        return kept.identity if self._is_running(kept.identity) else None

    def identify(self, secret: str) -> Identity | None:
        """Return who it is, from the database or by the issuer's signature; None: nobody."""
        is_ours = is_of_ours(secret)
        if not is_ours and self._external is None:
            return None
        version = self._look_at_version()
        kept = self._from_database(secret) if is_ours else self._from_issuer(secret)
        if kept is None:
            return None
        if kept.credential is not None:
            self._credentials.note_used([kept.credential])
        self._keep(kept, hash_secret(secret), version=version)
        return kept.identity

    def refresh(self) -> bool:
        """Look at the database's version; where it changed, forget everybody and return True.

        A database that does not answer is logged; everybody is then forgotten a second after it last did.
        """
        try:
            version = self._look_at_version()
        except StorageError as error:
            if not self._is_out:
                LOG.warning("nobody is recognised until the control database answers: %s", error.message)
            self._is_out = True
            return False
        self._is_out = False
        self._note_uses()
        before, self._told_version = self._told_version, version
        return version != before

    def still_hold(self, identities: Sequence[Identity]) -> list[bool]:
        """Tell of each whether they still are who they were, with the same rights; for streams that stay open.

        Those that memory does not know are asked for together. While the database does not answer, nobody does who is
        not in memory.
        """
        known = self._known_among(identities)
        unknown = [one for one, is_known in zip(identities, known, strict=True) if not is_known]
        if not unknown or (self._is_out and self._monotonic() > self._looked_at + FRESH_S):
            return known
        try:
            held = self._held_among(unknown)
        except StorageError:
            return known
        return [is_known or one in held for one, is_known in zip(identities, known, strict=True)]

    def principal_of(self, user: User, credential: Credential | None = None) -> Principal:
        """Return somebody as a caller, narrowed to what a session or token allows."""
        scopes, catalogues = (None, None) if credential is None else (credential.scopes, credential.catalogues)
        with self._database.read() as connection:
            return load_rights(connection, self._default_quotas).principal(user, scopes=scopes, catalogues=catalogues)

    def _look_at_version(self) -> int:
        """Return the database's version, having forgotten what was read at another one."""
        # The change_stamp comes first: whatever changes from here on makes it another one.
        asked_at, change_stamp = self._monotonic(), self._database.change_stamp()
        version = self._database.version()
        with self._guard:
            if asked_at < self._looked_at:  # somebody who asked later was answered sooner
                return version
            if version != self._version:
                self._by_secret.clear()
                self._by_credential.clear()
                self._version = version
            self._looked_at, self._glance = asked_at, change_stamp
        return version

    def _is_fresh(self, at: float, change_stamp: tuple[int, int] | None) -> bool:
        """Tell whether memory is to be believed; under the guard."""
        return change_stamp is not None and change_stamp == self._glance and at <= self._looked_at + FRESH_S

    def _keep(self, kept: _Kept, key: str, *, version: int) -> None:
        with self._guard:
            # What was read while somebody's rights changed is used once, and not kept.
            if version == self._version:
                _put(self._by_secret, key, kept)
                _put(self._by_credential, kept.identity.credential_id, kept.identity)

    def _from_database(self, secret: str) -> _Kept | None:
        with self._database.read() as connection:
            found = find_by_secret(connection, secret, now=self._now())
            if found is None:
                return None
            credential, user = found
            rights = load_rights(connection, self._default_quotas)
        return _Kept(_identity(credential, user, rights), credential)

    def _from_issuer(self, token: str) -> _Kept | None:
        found = None if self._external is None else self._external.verify(token)
        if found is None:
            return None
        user, scopes, expires_at = found
        with self._database.read() as connection:
            rights = load_rights(connection, self._default_quotas)
        identity = Identity(
            principal=rights.principal(user, scopes=scopes),
            credential_id=f"{FOREIGN_ID}{hash_secret(token)[:16]}",
            expires_at=expires_at,
            scopes=scopes,
        )
        return _Kept(identity, None, believed_until=self._monotonic() + FOREIGN_KEPT_S)

    def _is_running(self, identity: Identity) -> bool:
        return identity.expires_at is None or identity.expires_at > self._now()

    def _known_among(self, identities: Iterable[Identity]) -> list[bool]:
        """Tell of each whether it is in memory as it is, and not over."""
        at, change_stamp = self._monotonic(), self._database.change_stamp()
        with self._guard:
            is_fresh = self._is_fresh(at, change_stamp)
            kept = [self._by_credential.get(one.credential_id) == one for one in identities]
        return [is_fresh and is_kept and self._is_running(one) for one, is_kept in zip(identities, kept, strict=True)]

    def _held_among(self, identities: Iterable[Identity]) -> set[Identity]:
        """Return those that are, by the database, who they were; they are kept."""
        version = self._look_at_version()
        running = [one for one in identities if self._is_running(one)]
        with self._database.read() as connection:
            held = _held_now(connection, running, load_rights(connection, self._default_quotas), now=self._now())
        with self._guard:
            for one in held if version == self._version else ():
                _put(self._by_credential, one.credential_id, one)
        return held

    def _note_uses(self) -> None:
        """Once a minute, note in the database which sessions and tokens were recalled since."""
        at = self._monotonic()
        if at - self._noted_at < NOTED_EVERY_S:
            return
        self._noted_at = at
        with self._guard:
            used = [kept for kept in self._by_secret.values() if kept.is_used]
            for kept in used:
                kept.is_used = False
        self._credentials.note_used(kept.credential for kept in used if kept.credential is not None)


def _identity(credential: Credential, user: User, rights: Rights) -> Identity:
    return Identity(
        principal=rights.principal(user, scopes=credential.scopes, catalogues=credential.catalogues),
        credential_id=credential.id,
        expires_at=credential.expires_at,
        scopes=credential.scopes,
    )


def _held_now(
    connection: Connection, identities: Sequence[Identity], rights: Rights, *, now: datetime
) -> set[Identity]:
    """Return those that are, by the database, who they were."""
    foreign = [one for one in identities if one.credential_id.startswith(FOREIGN_ID)]
    ids = sorted({one.credential_id for one in identities}.difference(one.credential_id for one in foreign))
    found = find_by_ids(connection, ids, now=now)
    present = {_identity(credential, user, rights) for credential, user in found.values()}
    return present.intersection(identities) | {one for one in foreign if _is_foreign_held(connection, one, rights)}


def _is_foreign_held(connection: Connection, identity: Identity, rights: Rights) -> bool:
    user = find_user(connection, identity.principal.name)
    if user is None or user.disabled:
        return False
    return rights.principal(user, scopes=identity.scopes) == identity.principal


def _put(kept: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Keep a value; where there are too many, forget the one that was used longest ago."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)
