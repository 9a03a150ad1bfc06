"""Downloads that were asked for, and the files of each."""

from sqlalchemy import BigInteger, Boolean, Column, Connection, ForeignKey, Index, Integer, MetaData, Table, Text


def upgrade(connection: Connection) -> None:
    """Make an empty queue."""
    metadata = MetaData()
    _downloads(metadata)
    _files(metadata)
    metadata.create_all(connection, checkfirst=False)


def _downloads(metadata: MetaData) -> None:
    Table(
        "downloads",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("key", Text, nullable=False, unique=True),
        Column("open_key", Text, unique=True),
        Column("user_name", Text, nullable=False),
        Column("provider", Text, nullable=False),
        Column("artist", Text),
        Column("album", Text),
        Column("url", Text),
        Column("folder", Text),
        Column("priority", Integer, nullable=False),
        Column("state", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("lost", Integer, nullable=False),
        Column("next_attempt_at", BigInteger, nullable=False),
        Column("claim_token", Text),
        Column("claimed_until", BigInteger),
        Column("is_installing", Boolean, nullable=False),
        Column("received_bytes", BigInteger, nullable=False),
        Column("total_bytes", BigInteger),
        Column("error_code", Text),
        Column("error", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        Index("downloads_by_state", "state", "priority", "id"),
        Index("downloads_by_user", "user_name", "created_at"),
        sqlite_autoincrement=True,
    )


def _files(metadata: MetaData) -> None:
    Table(
        "download_files",
        metadata,
        Column("download_id", Integer, ForeignKey("downloads.id", ondelete="CASCADE"), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("name", Text, nullable=False),
        Column("url", Text, nullable=False),
        Column("size", BigInteger),
        Column("sha256", Text),
        Column("is_fetched", Boolean, nullable=False),
    )
