"""Likes and playlists of users; those of other users are reported as unknown."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, select

from pinakes.api import ConflictError, InputError, NotFoundError
from pinakes.api.server import ControlDatabase, users, utc_now
from pinakes_catalogues.music.tables import likes as _likes
from pinakes_catalogues.music.tables import playlist_tracks as _tracks
from pinakes_catalogues.music.tables import playlists as _playlists

MOST_LIKES = 10_000
MOST_PLAYLISTS = 200
MOST_TRACKS = 2_000
MOST_TRACKS_IN_ALL = 20_000
"""Tracks in all playlists of a user together: all of them are listed at once."""
LONGEST_NAME = 200
NUL = "\0"
"""The character that PostgreSQL cannot store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """A record that a user likes."""

    record_id: str
    kind: str
    liked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Playlist:
    """An ordered list of tracks of one user."""

    id: str
    name: str
    updated_at: datetime
    tracks: tuple[str, ...]


class Player:
    """The likes and playlists of all users; each method acts for one user."""

    def __init__(self, database: ControlDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        database.create_missing(_likes.metadata)
        self._database = database
        self._now = now

    def list_likes(self, user: str, *, offset: int = 0, limit: int = MOST_LIKES) -> tuple[list[Like], int]:
        """Return a page of a user's likes, the newest first, and the total."""
        mine = select(_likes).join(users, users.c.id == _likes.c.user_id).where(users.c.name == user)
        newest_first = mine.order_by(_likes.c.liked_at.desc(), _likes.c.record_id)
        with self._database.read() as connection:
            rows = connection.execute(newest_first.offset(offset).limit(limit)).all()
            total = _count(connection, mine)
        return [Like(record_id=row.record_id, kind=row.kind, liked_at=row.liked_at) for row in rows], total

    def like(self, user: str, record_id: str, kind: str) -> None:
        """Add a like; idempotent."""
        with self._database.begin() as connection:
            user_id = _hold_user(connection, user)
            mine = _likes.c.user_id == user_id
            if connection.execute(select(_likes).where(mine, _likes.c.record_id == record_id)).first():
                return
            _require_room(connection, _likes, mine, MOST_LIKES, "likes")
            connection.execute(
                _likes.insert(),
                {"user_id": user_id, "record_id": record_id, "kind": kind, "liked_at": self._now()},
            )

    def unlike(self, user: str, record_id: str) -> None:
        """Remove a like; idempotent."""
        if NUL in record_id:
            return
        with self._database.begin() as connection:
            mine = _likes.c.user_id == _hold_user(connection, user)
            connection.execute(_likes.delete().where(mine, _likes.c.record_id == record_id))

    def list_playlists(self, user: str, *, offset: int = 0, limit: int = MOST_PLAYLISTS) -> tuple[list[Playlist], int]:
        """Return a page of a user's playlists, by name, and the total."""
        by_name = _playlists_of(user).order_by(_playlists.c.name, _playlists.c.id)
        with self._database.read() as connection:
            rows = connection.execute(by_name.offset(offset).limit(limit)).all()
            return _with_tracks(connection, rows), _count(connection, _playlists_of(user))

    def get_playlist(self, user: str, playlist_id: str) -> Playlist:
        """Return a playlist of a user; refuse an unknown id."""
        with self._database.read() as connection:
            (found,) = _with_tracks(connection, [_get_row(connection, user, playlist_id)])
            return found

    def create_playlist(self, user: str, name: str, tracks: Sequence[str]) -> Playlist:
        """Create a playlist."""
        _require_playlist(name, tracks)
        playlist_id = secrets.token_hex(8)
        with self._database.begin() as connection:
            user_id = _hold_user(connection, user)
            _require_room(connection, _playlists, _playlists.c.user_id == user_id, MOST_PLAYLISTS, "playlists")
            connection.execute(
                _playlists.insert(),
                {"id": playlist_id, "user_id": user_id, "name": name, "updated_at": self._now()},
            )
            _put_tracks(connection, user_id, playlist_id, tracks)
        return self.get_playlist(user, playlist_id)

    def put_playlist(self, user: str, playlist_id: str, name: str, tracks: Sequence[str] | None) -> Playlist:
        """Rename a playlist and replace its tracks; None keeps them."""
        _require_playlist(name, tracks or ())
        with self._database.begin() as connection:
            user_id = _hold_user(connection, user)
            _get_row(connection, user, playlist_id)
            changed = _playlists.update().where(_playlists.c.id == playlist_id)
            connection.execute(changed.values(name=name, updated_at=self._now()))
            if tracks is not None:
                connection.execute(_tracks.delete().where(_tracks.c.playlist_id == playlist_id))
                _put_tracks(connection, user_id, playlist_id, tracks)
        return self.get_playlist(user, playlist_id)

    def delete_playlist(self, user: str, playlist_id: str) -> None:
        """Delete a playlist."""
        with self._database.begin() as connection:
            _hold_user(connection, user)
            _get_row(connection, user, playlist_id)
            connection.execute(_playlists.delete().where(_playlists.c.id == playlist_id))


def _hold_user(connection: Connection, name: str) -> int:
    """Lock a user until the end of the transaction, and return their id."""
    found = connection.execute(select(users.c.id).where(users.c.name == name).with_for_update()).scalar()
    if found is None:
        raise NotFoundError(f"no user '{name[:80]}'")
    return int(found)


def _count(connection: Connection, rows: Select[Any]) -> int:
    return int(connection.execute(select(func.count()).select_from(rows.subquery())).scalar_one())


def _playlists_of(user: str) -> Select[Any]:
    return select(_playlists).join(users, users.c.id == _playlists.c.user_id).where(users.c.name == user)


def _get_row(connection: Connection, user: str, playlist_id: str) -> Row[Any]:
    wanted = _playlists_of(user).where(_playlists.c.id == playlist_id)
    row = connection.execute(wanted).first() if NUL not in playlist_id else None
    if row is None:
        raise NotFoundError(f"no playlist '{playlist_id[:80]}'")
    return row


def _with_tracks(connection: Connection, rows: Sequence[Row[Any]]) -> list[Playlist]:
    """Return the playlists of rows with their tracks, in the same order."""
    tracks: dict[str, list[str]] = {row.id: [] for row in rows}
    theirs = select(_tracks.c.playlist_id, _tracks.c.track_id).where(_tracks.c.playlist_id.in_(list(tracks)))
    for playlist_id, track_id in connection.execute(theirs.order_by(_tracks.c.playlist_id, _tracks.c.position)):
        tracks[playlist_id].append(track_id)
    return [Playlist(id=row.id, name=row.name, updated_at=row.updated_at, tracks=tuple(tracks[row.id])) for row in rows]


def _put_tracks(connection: Connection, user_id: int, playlist_id: str, tracks: Sequence[str]) -> None:
    """Insert the tracks of a playlist that has none."""
    theirs = _playlists.c.user_id == user_id
    others = select(func.count()).select_from(_tracks.join(_playlists)).where(theirs)
    together = connection.execute(others).scalar_one() + len(tracks)
    if together > MOST_TRACKS_IN_ALL:
        most = MOST_TRACKS_IN_ALL
        raise ConflictError(
            f"your playlists would have {together} tracks together, and {most} is the limit; remove some first"
        )
    rows = [{"playlist_id": playlist_id, "position": at, "track_id": one} for at, one in enumerate(tracks, start=1)]
    if rows:
        connection.execute(_tracks.insert(), rows)


def _require_playlist(name: str, tracks: Sequence[str]) -> None:
    if not name.strip() or len(name) > LONGEST_NAME:
        raise InputError(f"'name' must have 1 to {LONGEST_NAME} characters")
    if NUL in name:
        raise InputError("'name' contains U+0000, which cannot be stored; leave it out")
    if len(tracks) > MOST_TRACKS:
        raise InputError(f"'tracks': a playlist has at most {MOST_TRACKS} tracks, not {len(tracks)}")


def _require_room(connection: Connection, table: Table, mine: ColumnElement[bool], most: int, what: str) -> None:
    count = connection.execute(select(func.count()).select_from(table).where(mine)).scalar_one()
    if count >= most:
        raise ConflictError(f"you have {count} {what}, and {most} is the limit; remove one first")
