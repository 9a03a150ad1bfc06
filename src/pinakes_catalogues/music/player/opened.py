"""The likes, playlists and plays of a storage, opened once for each."""

from functools import lru_cache

from pinakes.api import OwnStorage
from pinakes_catalogues.music.player.changes import OwnRecords
from pinakes_catalogues.music.player.store import Player

KEPT = 8


@lru_cache(maxsize=KEPT)
def open_player(storage: OwnStorage) -> Player:
    """Return the player of a storage."""
    return Player(storage.database)


@lru_cache(maxsize=KEPT)
def open_changes(storage: OwnStorage) -> OwnRecords:
    """Return the changes of a storage."""
    return OwnRecords(storage.database)
