"""Jobs: their settings, their runs and who runs them; and the anchor of an audit of which old rows were pruned."""

from sqlalchemy import BigInteger, Boolean, Column, Connection, Index, Integer, MetaData, Table, Text, text

FIRST_HASH = "0" * 64
IS_LIVE = "state IN ('queued', 'running')"


def upgrade(connection: Connection) -> None:
    """Make the tables, with nobody who runs jobs and nothing pruned."""
    metadata = MetaData()
    _settings(metadata)
    _runs(metadata)
    lease = _lease(metadata)
    anchor = _anchor(metadata)
    metadata.create_all(connection, checkfirst=False)
    connection.execute(lease.insert(), {"id": 1, "beat": 0})
    connection.execute(anchor.insert(), {"id": 1, "number": 0, "hash": FIRST_HASH})


def _settings(metadata: MetaData) -> None:
    Table(
        "job_settings",
        metadata,
        Column("name", Text, primary_key=True),
        Column("schedule", Text),
        Column("enabled", Boolean),
        Column("next_at", BigInteger),
    )


def _runs(metadata: MetaData) -> None:
    Table(
        "job_runs",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("job", Text, nullable=False),
        Column("state", Text, nullable=False),
        Column("cause", Text, nullable=False),
        Column("requested_by", Text, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("holder", Text),
        Column("is_cancelling", Boolean, nullable=False),
        Column("queued_at", BigInteger, nullable=False),
        Column("started_at", BigInteger),
        Column("ended_at", BigInteger),
        Column("done", BigInteger),
        Column("total", BigInteger),
        Column("message", Text, nullable=False),
        Column("output", Text, nullable=False),
        Column("output_dropped", BigInteger, nullable=False),
        Column("error", Text),
        Index("job_runs_by_job", "job", "id"),
        Index("job_runs_live", "job", unique=True, sqlite_where=text(IS_LIVE), postgresql_where=text(IS_LIVE)),
        sqlite_autoincrement=True,
    )


def _lease(metadata: MetaData) -> Table:
    return Table(
        "job_lease",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("holder", Text),
        Column("place", Text),
        Column("process", Text),
        Column("beat", BigInteger, nullable=False),
        Column("expires_at", BigInteger),
    )


def _anchor(metadata: MetaData) -> Table:
    return Table(
        "audit_anchor",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("number", BigInteger, nullable=False),
        Column("hash", Text, nullable=False),
    )
