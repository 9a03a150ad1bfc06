"""The duties of jobs, as a library does them: over its catalogues, its control database and its settings."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import apsw
import numpy as np

from pinakes import __version__
from pinakes.analytics.events import EventLog
from pinakes.api.server import NO_PARTS, ServerParts
from pinakes.assembly.app import CALIBRATION_FILE, LEDGER_FILE, PACK_FOLDER, App
from pinakes.assembly.build import Recipe, add_catalogue, open_provider, open_rows, own_recipe, package_recipe
from pinakes.assembly.lance_conversion import TABLES_FOLDER
from pinakes.assembly.published import TABLE_PREFIX
from pinakes.catalogue.spec import CatalogueSpec, Role
from pinakes.control.control import Control
from pinakes.control.database.backup import check_database, copy_database, find_file
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.time_columns import utc_now
from pinakes.errors import ModelError, StorageError
from pinakes.ingest.ledger import Ledger
from pinakes.ingest.pipeline import UNREQUESTED, IngestReport, IngestRequest
from pinakes.jobs.backup import BackupItem, BackupPlan, Checkpoint, file_item, settle_copy, store_item
from pinakes.jobs.builtin_jobs import MaintenanceOperations, Retention, RowsRead, Source
from pinakes.library import EMBEDDED, Installed
from pinakes.model.record import Key
from pinakes.model.scope import WHOLE
from pinakes.net.package_index import fetch_latest_version
from pinakes.packs.builder import check_pack
from pinakes.search.calibrate import calibrate, save_calibration
from pinakes.settings import CONFIG_FILE
from pinakes.shelf.embedded.shelf import INDEX_FOLDER, STORE_FILE, EmbeddedShelf
from pinakes.shelf.lock import LOCK_FILE
from pinakes.shelf.port import Shelf, ShelfReader
from pinakes.sources.port import Readings, RecallingSource, RowSource, SourceRow
from pinakes.sources.provider_query import LIMIT_MARK
from pinakes.text.query import analyse_query
from pinakes.tools.relations import check_relations

PACKAGE = "pinakes"
BACKUPS_FOLDER = "backups"
CATALOGUES = "catalogues"
DERIVED = frozenset({INDEX_FOLDER, PACK_FOLDER, LOCK_FILE})
"""What of a catalogue's folder is made again from the rest, or copied in a way of its own."""
PASSING = (".new", ".lock", "-wal", "-shm", "-journal")
SCAN_KEYS = 5_000
VERIFY_ATTEMPTS = 5
VERIFY_PAUSE_S = 0.2
WORDS_CHECKED = 500
"""How many records are looked for by their own titles, spread over a catalogue."""
CHECK_EVERY_ROWS = 100
SELECTION = re.compile(r"\s*(select|with|values)\b", re.IGNORECASE)


def build_maintenance(
    app: App,
    control: Control,
    *,
    parts: ServerParts = NO_PARTS,
    retention: Retention | None = None,
    now: Callable[[], datetime] = utc_now,
) -> MaintenanceOperations:
    """Return the duties of this library's jobs."""
    return MaintenanceOperations(
        list_sources=partial(list_sources, app),
        refresh=lambda source, rows_read: _summary(refresh_from_source(app, source, rows_read)),
        list_catalogues=lambda: sorted({*(one.name for one in app.library.list_installed()), *app.library.check()}),
        verify_index=partial(verify_index, app),
        rebuild_index=partial(rebuild_index, app),
        check_catalogue=partial(check_catalogue, app),
        check_control=partial(check_database, control.database),
        verify_audit=control.audit.verify,
        plan_backup=partial(plan_backup, app, control, parts=parts, now=now),
        backups=app.settings.home / BACKUPS_FOLDER,
        prune_audit=control.audit.prune,
        recalibrate=partial(recalibrate, app),
        find_latest_version=lambda: None if app.settings.offline else fetch_latest_version(PACKAGE),
        version=__version__,
        now=now,
        prunings={**parts.prunings, "events": EventLog(control.database).prune},
        retention=retention or Retention(),
    )


@contextmanager
def _damage_told() -> Iterator[None]:
    """Make what SQLite cannot read of a catalogue a failure that is foreseen, and of that catalogue alone."""
    try:
        yield
    except apsw.Error as error:
        raise StorageError(
            f"its files cannot be read: {error}; put them back from a back-up, or add it again"
        ) from error


def list_sources(app: App) -> list[Source]:
    """Return the sources of every catalogue; without sample data of an installation that is there no more."""
    return [
        Source(catalogue=one.name, location=location, is_folder=_is_folder(app, location))
        for one in app.library.list_installed()
        for location in one.sources
        if not _is_former_sample(app, one, location)
    ]


@_damage_told()
def refresh_from_source(
    app: App, source: Source, rows_read: RowsRead, *, request: IngestRequest = UNREQUESTED
) -> IngestReport:
    """Bring a catalogue up to one of its sources, on somebody's behalf."""
    installed = app.library.get_installed(source.catalogue)
    model = app.open_catalogue(installed.name).shelf.reader().model
    if model is not None and model != app.embedder.model:
        raise ModelError(
            f"its vectors are by {model}, but the embedder is {app.embedder.model}; set that, or add the source again"
        )
    return add_catalogue(
        app,
        _watched(_open(app, installed, source.location), rows_read),
        recipe=_recipe(app, installed),
        name=installed.name,
        progress=lambda report: rows_read(report.rows),
        embed=model is not None,
        request=request,
    )


@_damage_told()
def verify_index(app: App, name: str, checkpoint: Checkpoint) -> list[str]:
    """Return how the indexes of a catalogue differ from its records; where it is changed meanwhile, look again."""
    shelf = app.open_catalogue(name).shelf
    for _ in range(VERIFY_ATTEMPTS):
        reader = shelf.reader()
        indexed = list(_iter_keys(reader))
        checkpoint()
        differences = None if reader.stale else _find_differences(shelf, reader, indexed)
        if differences is not None:
            return [*differences, *_check_entries(reader, shelf.spec, indexed, checkpoint)]
        time.sleep(VERIFY_PAUSE_S)
    raise StorageError(f"it cannot be verified now: {reader.stale or 'it is changed all the time'}")


@_damage_told()
def rebuild_index(app: App, name: str) -> str:
    """Build the indexes of a catalogue anew, under its lock; whoever reads meanwhile has the old ones."""
    installed = app.library.get_installed(name)
    opened = app.open_catalogue(name).shelf
    with closing(EmbeddedShelf.open(installed.folder, opened.spec)) as shelf, shelf.exclusive():
        shutil.rmtree(installed.folder / INDEX_FOLDER, ignore_errors=True)
        shelf.publish()  # killed before this, the next reader does it
        return f"{shelf.reader().count(WHOLE)} records indexed"


@_damage_told()
def check_catalogue(app: App, name: str) -> list[str]:
    """Return what is wrong with a catalogue: its records and what they name, its ledger and its pack."""
    installed = app.library.get_installed(name)
    shelf = app.open_catalogue(name).shelf
    problems = shelf.store.check() if isinstance(shelf, EmbeddedShelf) else []
    reader = shelf.reader()
    reader.count(WHOLE)
    ledger, pack = installed.folder / LEDGER_FILE, installed.folder / PACK_FOLDER
    return [
        *problems,
        *check_relations(reader, shelf.spec),
        *(_check_file(ledger) if ledger.is_file() else ()),
        *(check_pack(pack) if pack.is_dir() else ()),
    ]


@_damage_told()
def recalibrate(app: App, name: str) -> str:
    """Measure what a cosine means in a catalogue, and keep it."""
    catalogue = app.open_catalogue(name)
    reader = catalogue.shelf.reader()
    if reader.model is None:
        return "it has no vectors"
    if reader.model != app.embedder.model:
        raise ModelError(f"its vectors are by {reader.model}, but the embedder is {app.embedder.model}")
    calibration = calibrate(reader, catalogue.spec, app.embedder)
    if calibration is None:
        return "there is nothing to measure"
    path = app.library.get_installed(name).folder / CALIBRATION_FILE
    fresh = path.with_name(f"{path.name}.new")
    save_calibration(calibration, fresh)
    os.replace(fresh, path)
    return f"relevant from a cosine of {calibration.relevant:.3f}, similar from {calibration.similar:.3f}"


def plan_backup(
    app: App, control: Control, *, parts: ServerParts = NO_PARTS, now: Callable[[], datetime] = utc_now
) -> BackupPlan:
    """Return what of a library is backed up: what cannot be made again."""
    items = [item for installed in app.library.list_installed() for item in _catalogue_items(installed)]
    notes = [f"'{name}' is not in it: {problem}" for name, problem in app.library.check().items()]
    database = find_file(control.database)
    if database is None:
        notes.append(
            f"the control database is PostgreSQL ({control.database.name}) and not in it: use its own tools, such as "
            "pg_dump"
        )
    else:
        copy = partial(_copy_control, database, parts=parts, now=now)
        items.append(BackupItem(name=database.name, copy=copy, size_bytes=database.stat().st_size))
    config = app.settings.home / CONFIG_FILE
    if config.is_file():
        items.append(file_item(config.name, config))
    return BackupPlan(items=tuple(items), notes=tuple(notes))


def _copy_control(
    source: Path,
    target: Path,
    checkpoint: Checkpoint,
    *,
    parts: ServerParts,
    now: Callable[[], datetime],
) -> None:
    copy_database(source, target, checkpoint)
    with closing(ControlDatabase.open(f"sqlite:///{target}")) as copied:
        settle_copy(copied, at=now())
        parts.release_claims(copied)


class _ProgressRows:
    """Implements `RowSource` over another, and tells how far it has been read."""

    def __init__(self, source: RowSource, rows_read: RowsRead) -> None:
        self._source = source
        self._rows_read = rows_read

    @property
    def name(self) -> str:
        """What the other is called."""
        return self._source.name

    @property
    def is_whole(self) -> bool:
        """Whether the other is."""
        return self._source.is_whole

    def count_rows(self) -> int | None:
        """Return how many rows the other has."""
        return self._source.count_rows()

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows of the other."""
        for number, row in enumerate(self._source.iter_rows(start=start), start=start + 1):
            if number % CHECK_EVERY_ROWS == 0:
                self._rows_read(number)
            yield row


class _ProgressRecallingRows(_ProgressRows):
    """Implements `RecallingSource` over another."""

    def __init__(self, source: RecallingSource, rows_read: RowsRead) -> None:
        super().__init__(source, rows_read)
        self._recalling = source

    def recall(self, readings: Readings) -> str:
        """Give the other what it remembers, and return its stamp."""
        return self._recalling.recall(readings)


def _watched(source: RowSource, rows_read: RowsRead) -> RowSource:
    if isinstance(source, RecallingSource):
        return _ProgressRecallingRows(source, rows_read)
    return _ProgressRows(source, rows_read)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where rows are, as `open_rows` wants it said."""

    location: str
    table: str | None = None
    query: str | None = None


def _open(app: App, installed: Installed, location: str) -> RowSource:
    """Return the source that a catalogue was built from, by the name that it had."""
    place = _place_of(app, installed, location)
    package = None if installed.own_declaration else app.package_of(installed)
    providing = partial(open_provider, app)
    return open_rows(package, place.location, table=place.table, query=place.query, open_provider=providing)


def _place_of(app: App, installed: Installed, location: str) -> _Place:
    if _is_provider(app, location):
        with closing(Ledger(installed.folder / LEDGER_FILE)) as ledger:
            known = len(ledger.origins(location))
        return _Place(location=f"{location}{LIMIT_MARK}{known}" if known else location)
    file, part = _split(location)
    if part is None:
        return _Place(location=file)
    return _Place(location=file, query=part) if SELECTION.match(part) else _Place(location=file, table=part)


def _split(location: str) -> tuple[str, str | None]:
    """Return the file of a source, and the table or query in it; either may have a '#' of its own."""
    if "#" not in location or Path(location).exists():
        return location, None
    for found in re.finditer("#", location):
        if Path(location[: found.start()]).is_file():
            return location[: found.start()], location[found.end() :]
    return location, None


def _is_provider(app: App, location: str) -> bool:
    prefix, colon, _query = location.partition(":")
    return bool(colon) and app.packages.find_provider(prefix) is not None


def _is_folder(app: App, location: str) -> bool:
    if _is_provider(app, location) or location.startswith(f"{TABLE_PREFIX}:"):
        return False
    path = Path(_split(location)[0])
    return path.is_dir() or (not path.exists() and not path.suffix)


def _is_former_sample(app: App, installed: Installed, location: str) -> bool:
    if installed.own_declaration or installed.spec_name not in app.packages.names:
        return False
    return app.package_of(installed).is_former_sample(location)


def _recipe(app: App, installed: Installed) -> Recipe:
    if installed.own_declaration is None:
        return package_recipe(app.package_of(installed))
    return own_recipe(app.spec_of(installed))


def _summary(report: IngestReport) -> str:
    parts = [f"{report.rows} rows", f"{report.written} written", f"{report.unchanged} unchanged"]
    parts += [f"{report.removed} removed"] if report.removed else []
    left_out = report.rejected + report.duplicates
    parts += [f"{left_out} left out"] if left_out else []
    return ", ".join(parts)


def _iter_keys(reader: ShelfReader) -> Iterator[Key]:
    after = None
    while keys := reader.scan(scope=WHOLE, after=after, limit=SCAN_KEYS):
        yield from keys
        after = keys[-1]


def _find_differences(shelf: Shelf, reader: ShelfReader, indexed: Sequence[Key]) -> list[str] | None:
    """Return how the keys that are indexed differ from those that are stored; None where those have changed since."""
    if not isinstance(shelf, EmbeddedShelf):
        counted = reader.count(WHOLE)
        return [] if counted == len(indexed) else [f"{counted} records are counted, and {len(indexed)} are listed"]
    with shelf.store.snapshot():
        if shelf.store.change_no() != reader.change_no:
            return None
        stored = {row.key for row in shelf.store.iter_rows()}
    known = set(indexed)
    missing, foreign = len(stored - known), len(known - stored)
    problems = [f"{missing} records are not indexed"] if missing else []
    return [*problems, f"{foreign} indexed records are not stored"] if foreign else problems


def _check_entries(reader: ShelfReader, spec: CatalogueSpec, keys: Sequence[Key], checkpoint: Checkpoint) -> list[str]:
    """Return what is wrong with what is indexed of these records."""
    problems = []
    for start in range(0, len(keys), SCAN_KEYS):
        checkpoint()
        if reader.model is not None and not np.isfinite(reader.vectors(keys[start : start + SCAN_KEYS])).all():
            problems.append(f"vectors among the records {start} to {start + SCAN_KEYS} are not finite")
    unfound = _unfound(reader, spec, keys)
    if unfound:
        problems.append(f"{len(unfound)} of its records are not found by their own words, such as '{unfound[0]}'")
    return problems


def _unfound(reader: ShelfReader, spec: CatalogueSpec, keys: Sequence[Key]) -> list[str]:
    """Return titles of records that are not found by the words in them, among a sample."""
    title = spec.field_with_role(Role.TITLE)
    if title is None or not title.searched:
        return []
    sample = keys[:: max(1, len(keys) // WORDS_CHECKED)]
    unfound = []
    for key, record in reader.fetch(sample, scope=WHOLE).items():
        query = analyse_query(str(record.get(title.name) or ""), synonyms={})
        if query.terms and reader.count_with_terms(query, [key]) != 1:
            unfound.append(str(record.get(title.name)))
    return unfound


def _check_file(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a file of ours."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as database:
            found = [str(row[0]) for row in database.execute("PRAGMA integrity_check")]
    except apsw.Error as error:
        return [f"{path}: {error}"]
    return [] if found == ["ok"] else [f"{path}: {one}" for one in found]


def _catalogue_items(installed: Installed) -> Iterator[BackupItem]:
    """Yield the parts of a catalogue.

    The ledger comes before the records: one that is older only has rows looked at again, while one that is newer would
    take rows for written that are not.
    """
    folder, name = installed.folder, f"{CATALOGUES}/{installed.name}"
    for file in (LEDGER_FILE, STORE_FILE):
        if (folder / file).is_file():
            yield store_item(f"{name}/{file}", folder / file)
    apart = {*DERIVED, LEDGER_FILE, STORE_FILE}
    if installed.shelf == EMBEDDED:
        apart.add(TABLES_FOLDER)  # left over from its conversion
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        is_other = place.parts[0] not in apart and not path.name.endswith(PASSING)
        if is_other and path.is_file():
            yield file_item(f"{name}/{place.as_posix()}", path)
