"""What belongs to a listener: likes, playlists and plays."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """A record that a user likes."""

    record_id: str
    kind: str
    liked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Playlist:
    """An ordered list of tracks of one user, or a rule: a saved search that is run whenever it is asked for."""

    id: str
    name: str
    updated_at: datetime
    tracks: tuple[str, ...]
    rule: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayCount:
    """How often a user played a track, and for how long in all."""

    track_id: str
    plays: int
    seconds: int
