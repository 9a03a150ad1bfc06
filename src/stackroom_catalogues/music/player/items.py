"""What belongs to a listener: likes, playlists and plays, and where they are read.

The store and its changes load the database's library, so that they are opened when something is first asked of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from stackroom.api import OwnStorage, deferred


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayCount:
    """How often a user played a track, and for how long in all."""

    track_id: str
    plays: int
    seconds: int


class OwnStore(Protocol):
    """The likes, playlists and plays of users."""

    def list_likes(self, user: str, *, offset: int = 0, limit: int = ...) -> tuple[list[Like], int]:
        """Return a page of a user's likes, the newest first, and the total."""

    def list_playlists(self, user: str, *, offset: int = 0, limit: int = ...) -> tuple[list[Playlist], int]:
        """Return a page of a user's playlists by name, and the total."""

    def get_playlist(self, user: str, playlist_id: str) -> Playlist:
        """Return a playlist of a user; refuse an unknown id."""

    def list_plays(self, user: str) -> list[PlayCount]:
        """Return the tracks that a user played, the most played first."""


open_player: Callable[[OwnStorage], OwnStore] = deferred("stackroom_catalogues.music.player.store:open_player")
open_changes = deferred("stackroom_catalogues.music.player.changes:open_changes")
