"""The tables of jobs in the control database; `m0003_jobs` makes them.

`job_settings` has what was changed of a job, and when it is due next. `job_runs` has every run. `job_lease` has one
row: which process runs jobs.
"""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, Table, Text, text

from pinakes.control.database.time_columns import Moment

METADATA = MetaData()

IS_LIVE = "state IN ('queued', 'running')"

job_settings = Table(
    "job_settings",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("schedule", Text),
    Column("enabled", Boolean),
    Column("next_at", Moment),
)

job_runs = Table(
    "job_runs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("holder", Text),
    Column("is_cancelling", Boolean, nullable=False),
    Column("queued_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("ended_at", Moment),
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
"""At most one run of a job is queued or running: `job_runs_live` sees to it."""

job_lease = Table(
    "job_lease",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("holder", Text),
    Column("place", Text),
    Column("process", Text),
    Column("beat", BigInteger, nullable=False),
    Column("expires_at", Moment),
)
