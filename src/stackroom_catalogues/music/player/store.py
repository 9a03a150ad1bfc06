"""Likes, playlists and plays of users; those of other users are reported as unknown."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, select

from stackroom.api import ConflictError, InputError, NotFoundError, OwnDatabase, OwnStorage
from stackroom.api.server import users
from stackroom_catalogues.music.player.items import Like, PlayCount, Playlist
from stackroom_catalogues.music.tables import likes as _likes
from stackroom_catalogues.music.tables import play_counts as _counts
from stackroom_catalogues.music.tables import playlist_tracks as _tracks
from stackroom_catalogues.music.tables import playlists as _playlists

STORAGES_KEPT = 8
MOST_LIKES = 10_000
MOST_PLAYLISTS = 200
MOST_TRACKS = 2_000
MOST_TRACKS_IN_ALL = 20_000
"""Tracks in all playlists of a user together: all of them are listed at once."""
LONGEST_NAME = 200
NUL = "\0"
"""The character that PostgreSQL cannot store."""


class Player:
    """Implements `OwnStore`; changes are made by `changes.OwnRecords`."""

    def __init__(self, database: OwnDatabase) -> None:
        database.create_missing(_likes.metadata)
        self._database = database

    def list_likes(self, user: str, *, offset: int = 0, limit: int = MOST_LIKES) -> tuple[list[Like], int]:
        """Return a page of a user's likes, the newest first, and the total."""
        mine = select(_likes).join(users, users.c.id == _likes.c.user_id).where(users.c.name == user)
        newest_first = mine.order_by(_likes.c.liked_at.desc(), _likes.c.record_id)
        with self._database.read() as connection:
            rows = connection.execute(newest_first.offset(offset).limit(limit)).all()
            total = _count(connection, mine)
        return [Like(record_id=row.record_id, kind=row.kind, liked_at=row.liked_at) for row in rows], total

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

    def list_plays(self, user: str) -> list[PlayCount]:
        """Return the tracks that a user played, the most played first."""
        mine = select(_counts).join(users, users.c.id == _counts.c.user_id).where(users.c.name == user)
        order = (_counts.c.plays.desc(), _counts.c.played_at.desc(), _counts.c.track_id)
        with self._database.read() as connection:
            return [_play_count(row) for row in connection.execute(mine.order_by(*order))]


@lru_cache(maxsize=STORAGES_KEPT)
def open_player(storage: OwnStorage) -> Player:
    """Return the likes, playlists and plays of a storage, opened once."""
    return Player(storage.database)


def new_playlist_id() -> str:
    """Return an id that no playlist has."""
    return secrets.token_hex(8)


def put_like(connection: Connection, user_id: int, record_id: str, kind: str, now: datetime) -> None:
    """Add a like, unless there is one."""
    if find_like_kind(connection, user_id, record_id) is not None:
        return
    _require_room(connection, _likes, _likes.c.user_id == user_id, MOST_LIKES, "likes")
    row = {"user_id": user_id, "record_id": record_id, "kind": kind, "liked_at": now}
    connection.execute(_likes.insert(), row)


def find_like_kind(connection: Connection, user_id: int, record_id: str) -> str | None:
    """Return the kind of a record that a user likes; None where they do not."""
    mine = select(_likes.c.kind).where(_likes.c.user_id == user_id, _likes.c.record_id == record_id)
    found: str | None = connection.execute(mine).scalar()
    return found


def drop_like(connection: Connection, user_id: int, record_id: str) -> None:
    """Remove a like, if there is one."""
    connection.execute(_likes.delete().where(_likes.c.user_id == user_id, _likes.c.record_id == record_id))


def insert_playlist(connection: Connection, user_id: int, playlist: Playlist) -> None:
    """Add a playlist."""
    _require_playlist(playlist)
    _require_room(connection, _playlists, _playlists.c.user_id == user_id, MOST_PLAYLISTS, "playlists")
    row = {"id": playlist.id, "user_id": user_id, "name": playlist.name, "updated_at": playlist.updated_at}
    connection.execute(_playlists.insert(), row)
    _put_tracks(connection, user_id, playlist)


def update_playlist(connection: Connection, user_id: int, playlist: Playlist) -> None:
    """Replace the name and the tracks of a playlist of the user's."""
    _require_playlist(playlist)
    changed = _playlists.update().where(_playlists.c.id == playlist.id)
    connection.execute(changed.values(name=playlist.name, updated_at=playlist.updated_at))
    connection.execute(_tracks.delete().where(_tracks.c.playlist_id == playlist.id))
    _put_tracks(connection, user_id, playlist)


def drop_playlist(connection: Connection, playlist_id: str) -> None:
    """Remove a playlist of the user's."""
    connection.execute(_playlists.delete().where(_playlists.c.id == playlist_id))


def find_playlist(connection: Connection, user_id: int, playlist_id: str) -> Playlist | None:
    """Return a playlist of a user; None where they have none of this id."""
    if NUL in playlist_id:
        return None
    mine = select(_playlists).where(_playlists.c.user_id == user_id, _playlists.c.id == playlist_id)
    rows = connection.execute(mine).all()
    return _with_tracks(connection, rows)[0] if rows else None


def find_count(connection: Connection, user_id: int, track_id: str) -> PlayCount | None:
    """Return how often a user played a track; None where they never did."""
    row = connection.execute(select(_counts).where(_of_track(user_id, track_id))).first()
    return None if row is None else _play_count(row)


def put_count(connection: Connection, user_id: int, count: PlayCount, now: datetime) -> None:
    """Set how often a user played a track; 0 forgets it."""
    connection.execute(_counts.delete().where(_of_track(user_id, count.track_id)))
    if count.plays > 0:
        row = {"track_id": count.track_id, "plays": count.plays, "seconds": count.seconds}
        connection.execute(_counts.insert(), {**row, "user_id": user_id, "played_at": now})


def _of_track(user_id: int, track_id: str) -> ColumnElement[bool]:
    return (_counts.c.user_id == user_id) & (_counts.c.track_id == track_id)


def _play_count(row: Row[Any]) -> PlayCount:
    return PlayCount(track_id=row.track_id, plays=row.plays, seconds=row.seconds)


def hold_user(connection: Connection, name: str) -> int:
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


def _put_tracks(connection: Connection, user_id: int, playlist: Playlist) -> None:
    """Insert the tracks of a playlist that has none yet."""
    tracks = playlist.tracks
    theirs = _playlists.c.user_id == user_id
    others = select(func.count()).select_from(_tracks.join(_playlists)).where(theirs)
    together = connection.execute(others).scalar_one() + len(tracks)
    if together > MOST_TRACKS_IN_ALL:
        most = MOST_TRACKS_IN_ALL
        raise ConflictError(
            f"your playlists would have {together} tracks together, and {most} is the limit; remove some first"
        )
    rows = [{"playlist_id": playlist.id, "position": at, "track_id": one} for at, one in enumerate(tracks, start=1)]
    if rows:
        connection.execute(_tracks.insert(), rows)


def _require_playlist(playlist: Playlist) -> None:
    name, tracks = playlist.name, playlist.tracks
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
