"""Tables of the music package in the control database: the download queue, likes, playlists and
plays.

`open_key` is a hash of the user and what they requested while the download is open, and is unique:
the same request is not queued twice. `key` names the folder in which files gather, `folder` the
album's folder below the music folder.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

from stackroom.api.server import Moment, users

METADATA = MetaData()

downloads = Table(
    "download_queue",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("open_key", Text, unique=True),
    Column("user_name", Text, nullable=False),
    Column("provider", Text, nullable=False),
    *(Column(name, Text) for name in ("artist", "album", "url", "folder")),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_attempt_at", Moment, nullable=False),
    Column("is_installing", Boolean, nullable=False, default=False),
    Column("received_bytes", BigInteger, nullable=False, default=0),
    Column("total_bytes", BigInteger),
    *(Column(name, Text) for name in ("error_code", "error")),
    *(Column(name, Moment, nullable=False) for name in ("created_at", "updated_at")),
    Column("call_id", Text),
    Index("download_queue_by_state", "state", "id"),
    Index("download_queue_by_user", "user_name", "created_at"),
    sqlite_autoincrement=True,
)

likes = Table(
    "likes",
    METADATA,
    Column("user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE"), primary_key=True),
    Column("record_id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("liked_at", Moment, nullable=False),
)

playlists = Table(
    "playlists",
    METADATA,
    Column("id", Text, primary_key=True),
    Column(
        "user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE"), nullable=False, index=True
    ),
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

play_counts = Table(
    "play_counts",
    METADATA,
    Column("user_id", Integer, ForeignKey(users.c.id, ondelete="CASCADE"), primary_key=True),
    Column("track_id", Text, primary_key=True),
    Column("plays", Integer, nullable=False),
    Column("seconds", BigInteger, nullable=False),
    Column("played_at", Moment, nullable=False),
)
