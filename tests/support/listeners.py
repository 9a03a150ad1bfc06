"""Likes, playlists and plays as they are changed under the checks of requests: straight in the database."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import count
from typing import Any

from stackroom.api import OwnCall
from stackroom.control.database.tables import utc_now
from stackroom.errors import NotFoundError
from stackroom_catalogues.music.player.changes import OwnRecords
from stackroom_catalogues.music.player.items import Playlist
from stackroom_catalogues.music.player.own import LIKE, PLAYLIST, Wanted
from stackroom_catalogues.music.player.store import Player

_CALLS = count(1)


class KeptBy:
    """The player's store of a database, with changes of one record each."""

    def __init__(self, database: Any, *, now: Callable[[], datetime] = utc_now) -> None:
        self.player = Player(database)
        self._records = OwnRecords(database, now=now)

    def like(self, user: str, record_id: str, kind: str) -> None:
        """Like a record."""
        self._change(user, LIKE, record_id, lambda present: present or {"of": kind})

    def unlike(self, user: str, record_id: str) -> None:
        """Like it no longer."""
        self._change(user, LIKE, record_id, lambda _present: None)

    def create_playlist(self, user: str, name: str, tracks: Sequence[str]) -> Playlist:
        """Make a playlist."""
        made = {"name": name, "tracks": list(tracks)}
        return self.player.get_playlist(user, self._change(user, PLAYLIST, None, lambda _present: made))

    def put_playlist(self, user: str, playlist_id: str, name: str, tracks: Sequence[str]) -> Playlist:
        """Give a playlist another name and other tracks."""
        new = {"name": name, "tracks": list(tracks)}
        self._change(user, PLAYLIST, playlist_id, lambda present: new if _known(present) else None)
        return self.player.get_playlist(user, playlist_id)

    def delete_playlist(self, user: str, playlist_id: str) -> None:
        """Take a playlist away."""
        self._change(user, PLAYLIST, playlist_id, lambda present: None if _known(present) else present)

    def _change(self, user: str, kind: str, subject: str | None, change: Callable[[Any], Any]) -> str:
        wanted = Wanted(kind=kind, id=subject, change=change)
        outcome = self._records.edit(user, [wanted], OwnCall(call_id=f"call-{next(_CALLS)}"))
        return outcome.changes[0].id if outcome.changes else subject or ""


def _known(present: Any) -> bool:
    if present is None:
        raise NotFoundError("no such playlist")
    return True
