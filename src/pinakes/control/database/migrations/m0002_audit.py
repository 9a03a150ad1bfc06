"""The audit and its head."""

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, MetaData, Table, Text

FIRST_HASH = "0" * 64


def upgrade(connection: Connection) -> None:
    """Make an empty audit."""
    metadata = MetaData()
    _audit(metadata)
    head = Table(
        "audit_head",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("number", BigInteger, nullable=False),
        Column("hash", Text, nullable=False),
    )
    metadata.create_all(connection, checkfirst=False)
    connection.execute(head.insert(), {"id": 1, "number": 0, "hash": FIRST_HASH})


def _audit(metadata: MetaData) -> None:
    Table(
        "audit",
        metadata,
        Column("number", BigInteger, primary_key=True, autoincrement=False),
        Column("at", BigInteger, nullable=False),
        Column("call_id", Text, nullable=False),
        Column("principal", Text, nullable=False),
        Column("via", Text, nullable=False),
        Column("operation", Text, nullable=False),
        Column("target", Text, nullable=False),
        Column("parameters", Text, nullable=False),
        Column("outcome", Text, nullable=False),
        Column("error_code", Text),
        Column("duration_us", BigInteger, nullable=False),
        Column("result_bytes", BigInteger, nullable=False),
        Column("result_digest", Text, nullable=False),
        Column("hash", Text, nullable=False),
        Index("audit_by_call", "call_id"),
        Index("audit_by_principal", "principal", "number"),
        Index("audit_by_moment", "at"),
    )
