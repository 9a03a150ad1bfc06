"""The table of events as it is now; `migrations` make it."""

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text

METADATA = MetaData()

events = Table(
    "events",
    METADATA,
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
