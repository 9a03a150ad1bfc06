"""The maintenance of a library: its operations over catalogues, control database and settings, for jobs to run."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

from stackroom.analytics.events import EventLog
from stackroom.api.server import NO_PARTS, ServerParts
from stackroom.assembly.app import App
from stackroom.assembly.build import Recipe, add_catalogue, own_recipe, package_recipe
from stackroom.assembly.locations import TABLE_PREFIX, open_provider, open_rows
from stackroom.assembly.update_guard import accept_rebuilt
from stackroom.checksums import SEAL_ENDING
from stackroom.control.control import Control
from stackroom.control.database.engine import ControlDatabase, check_database, copy_database, find_file
from stackroom.control.database.tables import utc_now
from stackroom.control.opening import LOCAL_FILE
from stackroom.errors import ModelError
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import UNREQUESTED, IngestReport, IngestRequest
from stackroom.jobs.backup import BackupItem, BackupPlan, file_item, settle_copy, store_item
from stackroom.jobs.builtin_jobs import MaintenanceOperations, Retention, RowsRead, Source, list_refresh_jobs
from stackroom.jobs.job import JobSpec
from stackroom.library import CALIBRATION_FILE, LEDGER_FILE, PACK_FOLDER, Installed
from stackroom.maps.map_file import MAP_FILE
from stackroom.packs.installed import SOURCE_FILE
from stackroom.packs.update import list_released, update_catalogue
from stackroom.search.evidence import calibrate, save_calibration
from stackroom.settings import CONFIG_FILE
from stackroom.shelf.embedded.index_files import DAMAGED_FOLDER
from stackroom.shelf.embedded.shelf import FORMER_INDEX_FOLDER, INDEX_FOLDER, STORE_FILE
from stackroom.shelf.lock import LOCK_FILE
from stackroom.shelf.port import Checkpoint, Problem
from stackroom.sources.location import LIMIT_MARK, SourceLocation
from stackroom.sources.port import RowSource
from stackroom.tools.health import check_catalogue

CATALOGUES = "catalogues"
DERIVED = frozenset({INDEX_FOLDER, FORMER_INDEX_FOLDER, DAMAGED_FOLDER, PACK_FOLDER, LOCK_FILE, MAP_FILE})
"""Parts of a catalogue's folder that are made again from the rest."""
TEMPORARY = (".new", ".lock", "-wal", "-shm", "-journal", SEAL_ENDING)
logger = logging.getLogger(__name__)
BACKUPS_FOLDER = "backups"


def plan_backup(app: App, control: Control, *, now: Callable[[], datetime] = utc_now) -> BackupPlan:
    """Return what of a library is backed up, and notes on what is not."""
    items = [item for installed in app.library.list_installed() for item in _catalogue_items(installed)]
    notes = [f"'{name}' is not in it: {problem}" for name, problem in app.library.check().items()]
    database = find_file(control.database)
    if database is None:
        notes.append(
            f"the control database is PostgreSQL ({control.database.name}) and not in it: use its own tools, such as "
            "pg_dump"
        )
    else:
        copy = partial(_copy_control, database, now=now)
        items.append(BackupItem(name=database.name, copy=copy, size_bytes=database.stat().st_size))
    local = app.settings.home / LOCAL_FILE
    if local.is_file():
        items.append(BackupItem(name=local.name, copy=partial(copy_database, local), size_bytes=local.stat().st_size))
    config = app.settings.home / CONFIG_FILE
    if config.is_file():
        items.append(file_item(config.name, config))
    return BackupPlan(items=tuple(items), notes=tuple(notes))


def _copy_control(source: Path, target: Path, checkpoint: Checkpoint, *, now: Callable[[], datetime]) -> None:
    copy_database(source, target, checkpoint)
    with closing(ControlDatabase.open(f"sqlite:///{target}")) as copied:
        settle_copy(copied, at=now())


def _catalogue_items(installed: Installed) -> Iterator[BackupItem]:
    """Yield the parts of a catalogue.

    The ledger comes before the records: an older ledger only means that rows are read again, while a newer one would
    take rows for written that are not.
    """
    folder, name = installed.folder, f"{CATALOGUES}/{installed.name}"
    for file in (LEDGER_FILE, STORE_FILE):
        if (folder / file).is_file():
            yield store_item(f"{name}/{file}", folder / file)
    apart = {*DERIVED, LEDGER_FILE, STORE_FILE}
    if (folder / PACK_FOLDER / SOURCE_FILE).is_file():
        apart.discard(PACK_FOLDER)  # a release, without which it could not be updated
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_file() and place.parts[0] not in apart and not path.name.endswith(TEMPORARY):
            yield file_item(f"{name}/{place.as_posix()}", path)


def build_maintenance(
    app: App,
    control: Control,
    *,
    parts: ServerParts = NO_PARTS,
    retention: Retention | None = None,
    now: Callable[[], datetime] = utc_now,
) -> MaintenanceOperations:
    """Return the operations that this library's jobs consist of."""
    return MaintenanceOperations(
        list_sources=partial(list_sources, app),
        refresh=lambda source, rows_read: _summary(refresh_from_source(app, source, rows_read)),
        list_catalogues=lambda: sorted(
            {*(installed.name for installed in app.library.list_installed()), *app.library.check()}
        ),
        verify_index=partial(verify_index, app),
        rebuild_index=partial(rebuild_index, app),
        check_catalogue=partial(check_installed, app),
        mend_catalogue=lambda name, checkpoint: app.open_catalogue(name).shelf.mend(checkpoint=checkpoint),
        check_control=partial(check_database, control.database),
        verify_audit=control.audit.verify,
        plan_backup=partial(plan_backup, app, control, now=now),
        backups=app.settings.home / BACKUPS_FOLDER,
        prune_audit=control.audit.prune,
        recalibrate=partial(recalibrate, app),
        now=now,
        prunings={**parts.prunings, "events": EventLog(control.database).prune},
        retention=retention or Retention(),
        list_released=lambda: [one.name for one in list_released(app)],
        update_release=partial(update_release, app),
    )


def list_catalogue_jobs(app: App, maintenance: Callable[[], MaintenanceOperations]) -> list[JobSpec]:
    """Return the jobs of the catalogues that are installed now."""
    return list_refresh_jobs(
        [installed.name for installed in app.library.list_installed() if installed.sources], maintenance
    )


def list_sources(app: App) -> list[Source]:
    """Return the sources of every catalogue, without sample data of an installation that was removed."""
    return [
        Source(catalogue=installed.name, location=location, is_folder=_is_folder(app, location))
        for installed in app.library.list_installed()
        for location in installed.sources
        if not _is_former_sample(app, installed, location)
    ]


def refresh_from_source(
    app: App, source: Source, rows_read: RowsRead, *, request: IngestRequest = UNREQUESTED
) -> IngestReport:
    """Bring a catalogue up to one of its sources, as a request of the ingest asks."""
    installed = app.library.get_installed(source.catalogue)
    model = app.open_catalogue(installed.name).shelf.reader().model
    if model is not None and model != app.embedder_of(model).model:
        raise ModelError(
            f"its vectors are by {model}, but the embedder is {app.embedder.model}; set that, or add the source again"
        )
    return add_catalogue(
        app,
        _open(app, installed, source.location),
        recipe=_recipe(app, installed),
        name=installed.name,
        progress=lambda report: rows_read(report.rows),
        embed=model is not None,
        request=request,
    )


def update_release(app: App, name: str) -> str:
    """Bring a catalogue to the newest release of its place; conflicts with hand edits are named, and these kept."""
    report = update_catalogue(app, name)
    if report.version == report.former:
        return f"{report.version} is the newest release"
    conflicts = f"; {len(report.conflicts)} hand edits kept over it" if report.conflicts else ""
    return f"{report.former} → {report.version}, {report.fetch_bytes:,} bytes fetched{conflicts}"


def verify_index(app: App, name: str, checkpoint: Checkpoint) -> list[Problem]:
    """Return how the indexes of a catalogue differ from its records, or that these cannot be read."""
    return list(app.open_catalogue(name).shelf.check(checkpoint=checkpoint))


def rebuild_index(app: App, name: str) -> str:
    """Build the indexes of a catalogue anew; keep the former ones of a graded catalogue if it answers worse."""
    records = app.open_catalogue(name).shelf.rebuild(accept=accept_rebuilt(app, name))
    return f"{records} records indexed"


def check_installed(app: App, name: str, checkpoint: Checkpoint) -> list[Problem]:
    """Return what is wrong with a catalogue, which the app then reports as degraded until the next check."""
    problems = list(check_catalogue(app.open_catalogue(name), checkpoint=checkpoint))
    app.note_problems(name, problems)
    return problems


def recalibrate(app: App, name: str) -> str:
    """Measure what a cosine means in a catalogue, and keep it."""
    catalogue = app.open_catalogue(name)
    reader = catalogue.shelf.reader()
    if reader.model is None:
        return "it has no vectors"
    embedder = catalogue.searcher.embedder
    if embedder is None or reader.model != embedder.model:
        raise ModelError(f"its vectors are by {reader.model}, but the embedder is {app.embedder.model}; build it again")
    calibration = calibrate(reader, embedder)
    if calibration is None:
        return "there is nothing to measure"
    save_calibration(calibration, app.library.get_installed(name).folder / CALIBRATION_FILE)
    return f"unrelated queries have a cosine of {calibration.middle:.3f} ± {calibration.spread:.3f}"


def _open(app: App, installed: Installed, name: str) -> RowSource:
    """Return the source that a catalogue was built from, by its name; a provider is asked for as many as are known."""
    package = None if installed.own_declaration else app.package_of(installed)
    providing = partial(open_provider, app)
    if _is_provider(app, name):
        with closing(Ledger(installed.folder / LEDGER_FILE)) as ledger:
            known = len(ledger.origins(name))
        return open_rows(package, f"{name}{LIMIT_MARK}{known}" if known else name, open_provider=providing)
    place = SourceLocation.parse(name)
    return open_rows(package, place.location, options=place.options, open_provider=providing)


def _is_provider(app: App, name: str) -> bool:
    prefix, colon, _query = name.partition(":")
    return bool(colon) and app.packages.find_provider(prefix) is not None


def _is_folder(app: App, name: str) -> bool:
    is_elsewhere = _is_provider(app, name) or name.startswith(f"{TABLE_PREFIX}:")
    return not is_elsewhere and SourceLocation.parse(name).is_folder


def _is_former_sample(app: App, installed: Installed, name: str) -> bool:
    if installed.own_declaration or installed.spec_name not in app.packages.names:
        return False
    return app.package_of(installed).is_former_sample(name)


def _recipe(app: App, installed: Installed) -> Recipe:
    if installed.own_declaration is None:
        return package_recipe(app.package_of(installed))
    return own_recipe(app.spec_of(installed))


def _summary(report: IngestReport) -> str:
    parts = [f"{report.rows} rows", f"{report.written} written", f"{report.unchanged} unchanged"]
    parts += [f"{report.removed} removed"] if report.removed else []
    left_out = report.rejected + report.duplicates
    parts += [f"{left_out} left out"] if left_out else []
    return "; ".join([", ".join(parts), *report.notes])
