"""Likes, playlists and plays of users; those of other users are reported as unknown."""

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, func, select

from stackroom.api import ConflictError, InputError, NotFoundError
from stackroom.api.server import OwnDatabase, OwnStorage, users, utc_now
from stackroom_catalogues.music.player.listening import (
    LONGEST_NAME,
    MOST_LIKES,
    MOST_PLAYLISTS,
    MOST_TRACKS,
    LikeEntry,
    PlaylistResult,
)
from stackroom_catalogues.music.tables import likes as _likes
from stackroom_catalogues.music.tables import play_counts as _counts
from stackroom_catalogues.music.tables import playlist_tracks as _tracks
from stackroom_catalogues.music.tables import playlists as _playlists

STORAGES_KEPT = 8
# tracks in all playlists of a user together: all of them are listed at once
MOST_TRACKS_IN_ALL = 20_000
NUL = "\0"  # the character that PostgreSQL cannot store


class Player:
    """The likes, playlists and plays in one database. Each change is one transaction, under a lock
    of its user.
    """

    def __init__(self, database: OwnDatabase, *, now: Callable[[], datetime] = utc_now) -> None:
        database.create_missing(_likes.metadata)
        self._database = database
        self._now = now

    def list_likes(
        self, user: str, *, offset: int = 0, limit: int = MOST_LIKES
    ) -> tuple[list[LikeEntry], int]:
        """Return a page of a user's likes, the newest first, and the total."""
        mine = _owned(_likes, user)
        newest_first = mine.order_by(_likes.c.liked_at.desc(), _likes.c.record_id)
        with self._database.read() as connection:
            rows = connection.execute(newest_first.offset(offset).limit(limit)).all()
            total = _count(connection, mine)
        return [
            LikeEntry(id=row.record_id, kind=row.kind, liked_at=row.liked_at) for row in rows
        ], total

    def like(self, user: str, record_id: str, kind: str) -> bool:
        """Add a like; tell whether there was none."""
        with self._database.begin() as connection:
            user_id = _hold_user(connection, user)
            mine = select(_likes).where(_likes.c.user_id == user_id)
            if connection.execute(mine.where(_likes.c.record_id == record_id)).first() is not None:
                return False
            _require_room(connection, mine, MOST_LIKES, "likes")
            row = {
                "user_id": user_id,
                "record_id": record_id,
                "kind": kind,
                "liked_at": self._now(),
            }
            connection.execute(_likes.insert(), row)
        return True

    def unlike(self, user: str, record_id: str) -> bool:
        """Remove a like; tell whether there was one."""
        if NUL in record_id:
            raise InputError("'id' contains U+0000, which no id has; leave it out")
        with self._database.begin() as connection:
            mine = _likes.c.user_id == _hold_user(connection, user)
            liked = _likes.delete().where(mine, _likes.c.record_id == record_id)
            return bool(connection.execute(liked).rowcount)

    def list_playlists(
        self, user: str, *, offset: int = 0, limit: int = MOST_PLAYLISTS
    ) -> tuple[list[PlaylistResult], int]:
        """Return a page of a user's playlists, by name, and the total."""
        mine = _owned(_playlists, user)
        by_name = mine.order_by(_playlists.c.name, _playlists.c.id)
        with self._database.read() as connection:
            rows = connection.execute(by_name.offset(offset).limit(limit)).all()
            return _with_tracks(connection, rows), _count(connection, mine)

    def get_playlist(self, user: str, playlist_id: str) -> PlaylistResult:
        """Return a playlist of a user; refuse an unknown id."""
        with self._database.read() as connection:
            return _get_playlist(connection, user, playlist_id)

    def put_playlist(
        self, user: str, playlist_id: str | None, name: str, tracks: Sequence[str] | None
    ) -> PlaylistResult:
        """Replace the name and the tracks of a playlist, or add one; without tracks, they stay as
        they are.
        """
        with self._database.begin() as connection:
            user_id = _hold_user(connection, user)
            former = _get_playlist(connection, user, playlist_id) if playlist_id else None
            if tracks is None:
                tracks = former.tracks if former else []
            new_id = former.id if former else secrets.token_hex(8)
            changed = _playlist(new_id, name, self._now(), tracks)
            _require_playlist(changed)
            row = {"id": new_id, "name": name, "updated_at": changed.updated_at}
            if former:
                known = _playlists.update().where(_playlists.c.id == new_id)
                connection.execute(known.values(row))
                connection.execute(_tracks.delete().where(_tracks.c.playlist_id == new_id))
            else:
                mine = select(_playlists).where(_playlists.c.user_id == user_id)
                _require_room(connection, mine, MOST_PLAYLISTS, "playlists")
                connection.execute(_playlists.insert(), {**row, "user_id": user_id})
            _put_tracks(connection, user_id, changed)
        return changed

    def delete_playlist(self, user: str, playlist_id: str) -> None:
        """Remove a playlist; refuse an unknown id."""
        with self._database.begin() as connection:
            _hold_user(connection, user)
            found = _get_playlist(connection, user, playlist_id)
            connection.execute(_playlists.delete().where(_playlists.c.id == found.id))

    def list_plays(self, user: str, *, latest_first: bool = False) -> dict[str, int]:
        """Return how often a user played which tracks, the most played first, or those played
        last.
        """
        mine = _owned(_counts, user)
        most_first = () if latest_first else (_counts.c.plays.desc(),)
        order = (*most_first, _counts.c.played_at.desc(), _counts.c.track_id)
        with self._database.read() as connection:
            return {row.track_id: row.plays for row in connection.execute(mine.order_by(*order))}

    def add_play(self, user: str, track_id: str, seconds: int) -> None:
        """Count that a user played a track."""
        with self._database.begin() as connection:
            row = {"user_id": _hold_user(connection, user), "track_id": track_id}
            known = (_counts.c.user_id == row["user_id"]) & (_counts.c.track_id == track_id)
            more = {
                "plays": _counts.c.plays + 1,
                "seconds": _counts.c.seconds + seconds,
                "played_at": self._now(),
            }
            if connection.execute(_counts.update().where(known).values(more)).rowcount == 0:
                first = {"plays": 1, "seconds": seconds, "played_at": self._now()}
                connection.execute(_counts.insert(), {**row, **first})


@lru_cache(maxsize=STORAGES_KEPT)
def open_player(storage: OwnStorage) -> Player:
    """Return the likes, playlists and plays of a storage, opened once."""
    return Player(storage.database)


def _hold_user(connection: Connection, name: str) -> int:
    """Lock a user until the end of the transaction, and return their id."""
    found = connection.execute(
        select(users.c.id).where(users.c.name == name).with_for_update()
    ).scalar()
    if found is None:
        raise NotFoundError(f"no user '{name[:80]}'; log in again")
    return int(found)


def _count(connection: Connection, rows: Select[Any]) -> int:
    return int(connection.execute(select(func.count()).select_from(rows.subquery())).scalar_one())


def _owned(table: Table, user: str) -> Select[Any]:
    """Return the rows of a table that a user has."""
    return select(table).join(users, users.c.id == table.c.user_id).where(users.c.name == user)


def _get_playlist(connection: Connection, user: str, playlist_id: str) -> PlaylistResult:
    wanted = _owned(_playlists, user).where(_playlists.c.id == playlist_id)
    rows = connection.execute(wanted).all() if NUL not in playlist_id else []
    if not rows:
        raise NotFoundError(f"no playlist '{playlist_id[:80]}'; GET /v1/playlists lists yours")
    return _with_tracks(connection, rows)[0]


def _with_tracks(connection: Connection, rows: Sequence[Row[Any]]) -> list[PlaylistResult]:
    """Return the playlists of rows with their tracks, in the same order."""
    tracks: dict[str, list[str]] = {row.id: [] for row in rows}
    theirs = select(_tracks.c.playlist_id, _tracks.c.track_id).where(
        _tracks.c.playlist_id.in_(list(tracks))
    )
    for playlist_id, track_id in connection.execute(
        theirs.order_by(_tracks.c.playlist_id, _tracks.c.position)
    ):
        tracks[playlist_id].append(track_id)
    return [_playlist(row.id, row.name, row.updated_at, tracks[row.id]) for row in rows]


def _playlist(
    playlist_id: str, name: str, updated_at: datetime, tracks: Sequence[str]
) -> PlaylistResult:
    """Return a playlist; which of its tracks are missing is for its reader to say."""
    return PlaylistResult(
        id=playlist_id, name=name, updated_at=updated_at, tracks=list(tracks), missing=[]
    )


def _put_tracks(connection: Connection, user_id: int, playlist: PlaylistResult) -> None:
    """Insert the tracks of a playlist that has none yet."""
    others = select(_tracks).join(_playlists).where(_playlists.c.user_id == user_id)
    together, most = _count(connection, others) + len(playlist.tracks), MOST_TRACKS_IN_ALL
    if together > most:
        raise ConflictError(
            f"your playlists would have {together} tracks together, and {most} is the limit; remove"
            " some first"
        )
    places = enumerate(playlist.tracks, start=1)
    if rows := [
        {"playlist_id": playlist.id, "position": at, "track_id": track} for at, track in places
    ]:
        connection.execute(_tracks.insert(), rows)


def _require_playlist(playlist: PlaylistResult) -> None:
    if not playlist.name.strip() or len(playlist.name) > LONGEST_NAME:
        raise InputError(f"'name' must have 1 to {LONGEST_NAME} characters")
    if NUL in playlist.name:
        raise InputError("'name' contains U+0000, which cannot be stored; leave it out")
    if (count := len(playlist.tracks)) > MOST_TRACKS:
        raise InputError(
            f"'tracks': a playlist has at most {MOST_TRACKS} tracks, not {count}; make two of it"
        )


def _require_room(connection: Connection, mine: Select[Any], most: int, what: str) -> None:
    if (count := _count(connection, mine)) >= most:
        raise ConflictError(f"you have {count} {what}, and {most} is the limit; remove one first")
