"""The steps that make the control database what it is now, in order; what is released is never changed again.

A step is written out in full and does not look at `control.tables`, which shows only the present.
"""

from collections.abc import Callable

from sqlalchemy import Connection

from pinakes.control.database.migrations import (
    m0001_accounts,
    m0002_audit,
    m0003_jobs,
    m0004_downloads,
    m0005_events,
    m0006_player,
    m0007_download_details,
)

MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    m0001_accounts.upgrade,
    m0002_audit.upgrade,
    m0003_jobs.upgrade,
    m0004_downloads.upgrade,
    m0005_events.upgrade,
    m0006_player.upgrade,
    m0007_download_details.upgrade,
)
"""The n-th step leads to version n."""
