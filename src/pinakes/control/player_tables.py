"""The tables of likes and playlists in the control database as they are now; `m0006_player` makes them."""

from sqlalchemy import Column, ForeignKey, Integer, Table, Text

from pinakes.control.database.tables import METADATA
from pinakes.control.database.time_columns import Moment

likes = Table(
    "likes",
    METADATA,
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("record_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("liked_at", Moment, nullable=False),
)

playlists = Table(
    "playlists",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

playlist_tracks = Table(
    "playlist_tracks",
    METADATA,
    Column("playlist_id", Text, ForeignKey("playlists.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("track_id", Text, nullable=False),
)
