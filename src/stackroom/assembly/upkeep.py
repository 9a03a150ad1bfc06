"""The tasks that run beside every server, whatever its transport."""

from stackroom.assembly.app import App
from stackroom.assembly.audit_gaps import AuditRepair
from stackroom.assembly.collections.sync_task import sync_tasks
from stackroom.assembly.damage_check import DamageCheck
from stackroom.assembly.release_task import release_task
from stackroom.background.status_file import status_task
from stackroom.control.audit.gaps import AuditGaps
from stackroom.control.database.engine import ControlDatabase


def add_upkeep(app: App, database: ControlDatabase | None) -> None:
    """Add the tasks over the library, and that over the audit where there is a control database."""
    status = status_task(app.background, app.settings.home)
    app.background.add(status, DamageCheck(app).task(), release_task(app), *sync_tasks(app.settings))
    if database is not None:
        app.background.add(AuditRepair(AuditGaps(database), app.list_served).task())
