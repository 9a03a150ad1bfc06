"""Likes and playlists as they are returned, and how many of them a user can have."""

from datetime import datetime

from pydantic import Field

from stackroom import api

MOST_LIKES = 10_000
MOST_PLAYLISTS = 200
MOST_TRACKS = 2_000
LONGEST_NAME = 200


class LikeEntry(api.GenericResult):
    """A record that the caller likes."""

    id: str
    kind: str
    liked_at: datetime


class PlaylistResult(api.GenericResult):
    """A playlist of the caller's."""

    id: str
    name: str
    updated_at: datetime
    tracks: list[str]
    missing: list[str] = Field(description="ids whose records no longer exist")
