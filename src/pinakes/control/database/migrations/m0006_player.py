"""What users like, and their playlists."""

from sqlalchemy import BigInteger, Column, Connection, ForeignKey, Integer, MetaData, Table, Text


def upgrade(connection: Connection) -> None:
    """Make the tables."""
    metadata = MetaData()
    Table("users", metadata, Column("id", Integer, primary_key=True))
    likes = Table(
        "likes",
        metadata,
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        Column("record_id", Text, primary_key=True),
        Column("kind", Text, nullable=False),
        Column("liked_at", BigInteger, nullable=False),
    )
    playlists = Table(
        "playlists",
        metadata,
        Column("id", Text, primary_key=True),
        Column("user_id", Integer, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
        Column("name", Text, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
    )
    tracks = Table(
        "playlist_tracks",
        metadata,
        Column("playlist_id", Text, ForeignKey("playlists.id", ondelete="CASCADE"), primary_key=True),
        Column("position", Integer, primary_key=True, autoincrement=False),
        Column("track_id", Text, nullable=False),
    )
    metadata.create_all(connection, tables=[likes, playlists, tracks], checkfirst=False)
