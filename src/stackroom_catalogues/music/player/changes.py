"""Changes of a user's likes, playlists and plays by a call: planned, made in one transaction, and undone.

Each is a function from the present value to the new one, so that a preview and the change itself are one computation.
Commit point: the end of the transaction of `OwnRecords.edit` or `undo`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, select

from stackroom.api import ConflictError, NotFoundError, OwnCall, OwnChange, OwnDatabase, OwnOutcome, OwnStorage
from stackroom.api.server import users, utc_now
from stackroom_catalogues.music.player import store
from stackroom_catalogues.music.player.items import PlayCount, Playlist
from stackroom_catalogues.music.player.own import LIKE, NEW, PLAY, PLAYLIST, Value, Wanted
from stackroom_catalogues.music.tables import own_changes as _log

MOST_KEPT = 500
"""Changes of each user that can be undone; older ones are forgotten."""

Place = tuple[str, str]
"""The kind and the id of a record of the user's."""


class OwnRecords:
    """Makes and undoes changes of what belongs to a user."""

    def __init__(self, database: OwnDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        database.create_missing(_log.metadata)
        self._database = database
        self._now = now

    def edit(self, user: str, wanted: Sequence[Wanted], call: OwnCall) -> OwnOutcome:
        """Make changes, all or none; without a call id, only return them."""
        if call.call_id is None:
            with self._database.read() as connection:
                return OwnOutcome(changes=_plan(connection, _find_user(connection, user), wanted))
        with self._database.begin() as connection:
            user_id = store.hold_user(connection, user)
            return self._make(connection, user_id, _plan(connection, user_id, wanted), call, undoes=None)

    def undo(self, user: str, undone: str, call: OwnCall) -> OwnOutcome:
        """Take back the changes of a call; refuse where they were changed since."""
        if call.call_id is None:
            with self._database.read() as connection:
                return OwnOutcome(changes=_plan_undo(connection, _find_user(connection, user), undone))
        with self._database.begin() as connection:
            user_id = store.hold_user(connection, user)
            return self._make(connection, user_id, _plan_undo(connection, user_id, undone), call, undoes=undone)

    def has_call(self, user: str, call_id: str) -> bool:
        """Tell whether a user changed something under this id of a call."""
        if store.NUL in call_id:
            return False
        mine = select(_log.c.id).join(users, users.c.id == _log.c.user_id)
        with self._database.read() as connection:
            return connection.execute(mine.where(users.c.name == user, _log.c.call_id == call_id)).first() is not None

    def _make(
        self,
        connection: Connection,
        user_id: int,
        changes: Sequence[OwnChange],
        call: OwnCall,
        *,
        undoes: str | None,
    ) -> OwnOutcome:
        planned = OwnOutcome(changes=changes)
        if call.token is not None and call.token != planned.token:
            raise ConflictError("something has changed since the preview; preview again for a new plan")
        now = self._now()
        made = [_write(connection, user_id, change, now) for change in changes]
        rows = [
            {
                "user_id": user_id,
                "call_id": call.call_id,
                "kind": one.kind,
                "subject": one.id,
                "before": one.before and json.dumps(one.before),
                "after": one.after and json.dumps(one.after),
                "undoes": undoes,
                "changed_at": now,
            }
            for one in made
        ]
        if rows:
            connection.execute(_log.insert(), rows)
            _trim(connection, user_id)
        return OwnOutcome(changes=made)


@lru_cache(maxsize=store.STORAGES_KEPT)
def open_changes(storage: OwnStorage) -> OwnRecords:
    """Return the changes of a storage, opened once."""
    return OwnRecords(storage.database)


def _find_user(connection: Connection, name: str) -> int:
    """Return the id of a user, without a lock."""
    found = connection.execute(select(users.c.id).where(users.c.name == name)).scalar()
    if found is None:
        raise NotFoundError(f"no user '{name[:80]}'")
    return int(found)


def _plan(connection: Connection, user_id: int, wanted: Sequence[Wanted]) -> list[OwnChange]:
    """Return the changes of records, one for each that differs in the end."""
    before: dict[Place, Value | None] = {}
    after: dict[Place, Value | None] = {}
    for number, one in enumerate(wanted):
        place = (one.kind, one.id if one.id is not None else f"{NEW}{number}")
        if place not in before:
            before[place] = after[place] = None if one.id is None else _load(connection, user_id, one.kind, one.id)
        after[place] = one.change(after[place])
    return [
        OwnChange(kind=kind, id=subject, before=before[kind, subject], after=after[kind, subject])
        for kind, subject in before
        if before[kind, subject] != after[kind, subject]
    ]


def _plan_undo(connection: Connection, user_id: int, undone: str) -> list[OwnChange]:
    """Return the changes that take back those of a call, the last first."""
    mine = select(_log).where(_log.c.user_id == user_id)
    again = connection.execute(mine.where(_log.c.undoes == undone)).first()
    if again is not None:
        raise ConflictError(f"call {undone} is undone already, by call {again.call_id}; undo that to have it back")
    rows = connection.execute(mine.where(_log.c.call_id == undone).order_by(_log.c.id.desc())).all()
    if not rows:
        raise NotFoundError(f"no call '{undone[:80]}' of yours changed anything")
    return [_taken_back(row, _load(connection, user_id, row.kind, row.subject)) for row in rows]


def _taken_back(row: Row[Any], present: Value | None) -> OwnChange:
    before, after = _read(row.before), _read(row.after)
    if row.kind == PLAY:
        return OwnChange(kind=PLAY, id=row.subject, before=present, after=_without(present, before, after))
    if present != after:
        raise ConflictError(f"the {row.kind} '{row.subject}' was changed since call {row.call_id}; change it by hand")
    return OwnChange(kind=row.kind, id=row.subject, before=present, after=before)


def _without(present: Value | None, before: Value | None, after: Value | None) -> Value | None:
    """Return the plays of a track without those that a call added, whatever was played since."""
    names = ("plays", "seconds")
    left = {name: _number_in(present, name) - _number_in(after, name) + _number_in(before, name) for name in names}
    return left if left["plays"] > 0 else None


def _number_in(value: Value | None, name: str) -> int:
    """Return the plays or the seconds of a value; 0 where there is none."""
    return int((value or {}).get(name, 0))


def _read(text: str | None) -> dict[str, Any] | None:
    return None if text is None else json.loads(text)


def _trim(connection: Connection, user_id: int) -> None:
    """Forget the oldest changes of a user beyond the number that is kept."""
    mine = select(_log.c.id).where(_log.c.user_id == user_id)
    oldest = connection.execute(mine.order_by(_log.c.id.desc()).offset(MOST_KEPT).limit(1)).scalar()
    if oldest is not None:
        connection.execute(_log.delete().where(_log.c.user_id == user_id, _log.c.id <= oldest))


def _load(connection: Connection, user_id: int, kind: str, subject: str) -> Value | None:
    """Return the present value of a record of the user's; None where there is none."""
    return _LOADERS[kind](connection, user_id, subject)


def _load_like(connection: Connection, user_id: int, subject: str) -> Value | None:
    kind = store.find_like_kind(connection, user_id, subject)
    return None if kind is None else {"of": kind}


def _load_playlist(connection: Connection, user_id: int, subject: str) -> Value | None:
    found = store.find_playlist(connection, user_id, subject)
    return None if found is None else {"name": found.name, "tracks": list(found.tracks)}


def _load_plays(connection: Connection, user_id: int, subject: str) -> Value | None:
    found = store.find_count(connection, user_id, subject)
    return None if found is None else {"plays": found.plays, "seconds": found.seconds}


_LOADERS: Mapping[str, Callable[[Connection, int, str], Value | None]] = {
    LIKE: _load_like,
    PLAYLIST: _load_playlist,
    PLAY: _load_plays,
}


def _write(connection: Connection, user_id: int, change: OwnChange, now: datetime) -> OwnChange:
    """Make one change; a new playlist gets its id."""
    return _WRITERS[change.kind](connection, user_id, change, now)


def _write_like(connection: Connection, user_id: int, change: OwnChange, now: datetime) -> OwnChange:
    if change.after is None:
        store.drop_like(connection, user_id, change.id)
    else:
        store.put_like(connection, user_id, change.id, str(change.after["of"]), now)
    return change


def _write_playlist(connection: Connection, user_id: int, change: OwnChange, now: datetime) -> OwnChange:
    if change.after is None:
        store.drop_playlist(connection, change.id)
        return change
    name, tracks = str(change.after["name"]), tuple(change.after["tracks"])
    playlist_id = store.new_playlist_id() if change.id.startswith(NEW) else change.id
    playlist = Playlist(id=playlist_id, name=name, updated_at=now, tracks=tracks)
    put = store.insert_playlist if change.before is None else store.update_playlist
    put(connection, user_id, playlist)
    return replace(change, id=playlist_id)


def _write_plays(connection: Connection, user_id: int, change: OwnChange, now: datetime) -> OwnChange:
    plays, seconds = (_number_in(change.after, name) for name in ("plays", "seconds"))
    store.put_count(connection, user_id, PlayCount(track_id=change.id, plays=plays, seconds=seconds), now)
    return change


_WRITERS: Mapping[str, Callable[[Connection, int, OwnChange, datetime], OwnChange]] = {
    LIKE: _write_like,
    PLAYLIST: _write_playlist,
    PLAY: _write_plays,
}
