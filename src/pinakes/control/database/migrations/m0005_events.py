"""What happened, for analytics: searches, plays, downloads, and what was served."""

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, MetaData, Table, Text


def upgrade(connection: Connection) -> None:
    """Make the table."""
    metadata = MetaData()
    Table(
        "events",
        metadata,
        Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
        Column("at", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("user_name", Text, nullable=False),
        Column("catalogue", Text, nullable=False),
        Column("tool", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("results", BigInteger),
        Column("seconds", BigInteger, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("duration_us", BigInteger, nullable=False),
        Index("events_by_kind", "kind", "at"),
        Index("events_by_moment", "at"),
        sqlite_autoincrement=True,
    )
    metadata.create_all(connection, checkfirst=False)
