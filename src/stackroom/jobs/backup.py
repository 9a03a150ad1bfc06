"""Back-ups: consistent copies of all data that cannot be rebuilt, with checksums.

    BACKUPS/20261115T030000Z/manifest.json       sha256 and size of every other file; notes
                                                 on what is missing
    BACKUPS/20261115T030000Z/control.sqlite      accounts, audit, jobs
    BACKUPS/20261115T030000Z/catalogues/NAME/    records, ledger, spec and installation entry

Indexes and packs are not included: they are rebuilt from the records. `stackroom restore` copies
the files into an empty library. A back-up is written under a temporary name and then renamed, so it
is complete or absent.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import orjson
from sqlalchemy import update

from stackroom.checksums import SEAL_ENDING, sha256_of, sync_file, sync_folder
from stackroom.control.control import Control
from stackroom.control.database.engine import ControlDatabase, copy_database, find_file
from stackroom.control.database.tables import job_lease, job_runs, utc_now
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    InputError,
    NotFoundError,
    StorageError,
)
from stackroom.frozen import frozen
from stackroom.jobs.job import JobContext, RunState
from stackroom.jobs.lease import NOBODY
from stackroom.library import LEDGER_FILE, PACK_FOLDER, PLACE_FILE, TABLES_FOLDER, Installed
from stackroom.maps.map_file import MAP_FILE
from stackroom.packs.installed import SOURCE_FILE
from stackroom.settings import CONFIG_FILE, LOCAL_FILE, Settings, is_remote
from stackroom.shelf.embedded.folder_index import FORMER_INDEX_FOLDER
from stackroom.shelf.embedded.index_files import DAMAGED_FOLDER
from stackroom.shelf.embedded.shelf_index import INDEX_FOLDER
from stackroom.shelf.lock import LOCK_FILE
from stackroom.shelf.opening import SpecLibrary
from stackroom.shelf.port import Checkpoint
from stackroom.shelf.store_place import FORMER_FILE, STORE_FILE, find_place, has_records_file

BACKUP_JOB = "backup"
MANIFEST = "manifest.json"
FORMAT = 1
UNFINISHED = ".new"  # suffix of a folder that is being written or removed
BACKUPS_FOLDER = "backups"
NAME = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
PAGES_AT_ONCE = 2_000
BUSY_TIMEOUT_MS = 5_000
BACKUPS = 3  # how many are kept
CATALOGUES = "catalogues"
DERIVED = frozenset(
    {INDEX_FOLDER, FORMER_INDEX_FOLDER, DAMAGED_FOLDER, PACK_FOLDER, LOCK_FILE, MAP_FILE}
)
"""Parts of a catalogue's folder that are made again from the rest."""
TEMPORARY = (".new", ".lock", "-wal", "-shm", "-journal", SEAL_ENDING)

CopyFile = Callable[[Path, Path, Checkpoint], None]  # copies a file to another place


def copy_file(source: Path, target: Path, _checkpoint: Checkpoint) -> None:
    """Copy a file that is only ever replaced as a whole."""
    shutil.copyfile(source, target)
    target.chmod(0o600)


@frozen
class BackupItem:
    """One item of a back-up: its path there, the file here, and the function that copies it."""

    name: str
    path: Path
    copy: CopyFile = copy_file


@frozen
class BackupPlan:
    """The items of a back-up in order, and notes on what is not included."""

    items: tuple[BackupItem, ...]
    notes: tuple[str, ...] = ()


def copy_store(source: Path, target: Path, checkpoint: Checkpoint) -> None:
    """Copy a snapshot of an SQLite file that others may be writing to, and this process by APSW
    only.

    Two copies of SQLite in one process, APSW's and Python's, must not open the same file: when one
    closes it, the other's locks are gone.
    """
    try:
        with (
            closing(apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)) as origin,
            closing(apsw.Connection(str(target))) as copied,
        ):
            origin.set_busy_timeout(BUSY_TIMEOUT_MS)
            origin.execute("BEGIN")
            origin.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # starts the snapshot
            with copied.backup("main", origin, "main") as backup:
                while not backup.done:
                    backup.step(PAGES_AT_ONCE)
                    checkpoint()
            problem = copied.pragma("quick_check")
    except apsw.Error as error:
        raise StorageError(
            f"{source}: the back-up could not be made: {error}; run: stackroom doctor"
        ) from error
    target.chmod(0o600)
    if problem != "ok":
        raise StorageError(
            f"{source}: its copy is not whole ({problem}); check it: stackroom job run"
            " integrity_check"
        )


def plan_backup(
    home: SpecLibrary,
    control: Control | None,
    *,
    now: Callable[[], datetime] = utc_now,
    with_models: bool = False,
) -> BackupPlan:
    """Return what of a library is backed up, and notes on what is not; `control` is None where it
    has no accounts.
    """
    library, folder = home.library, home.settings.home
    notes = [f"'{name}' is not in it: {problem}" for name, problem in library.check().items()]
    items: list[BackupItem] = []
    for installed in library.list_installed():
        try:
            notes += _followed_notes(home, installed)
            items += _catalogue_items(installed)
        except StorageError as error:  # what names its database is damaged
            notes.append(f"'{installed.name}' is not in it: {error.message}")
    apart: dict[Path, CopyFile] = {
        folder / LOCAL_FILE: copy_database,
        folder / CONFIG_FILE: copy_file,
    }
    if control is not None and (database := find_file(control.database)) is not None:
        apart = {database: partial(_copy_control, now=now), **apart}
    elif control is not None:
        notes.append(
            f"the control database is PostgreSQL ({control.database.name}) and not in it: use its"
            " own tools, such as pg_dump"
        )
    items += [
        BackupItem(name=path.name, path=path, copy=copy)
        for path, copy in apart.items()
        if path.is_file()
    ]
    models = [home.settings.models_folder] if with_models else []
    for whole in (folder / TABLES_FOLDER, *models):
        items += [
            BackupItem(name=f"{whole.name}/{name}", path=path) for name, path in _iter_files(whole)
        ]
    return BackupPlan(items=tuple(items), notes=tuple(notes))


def _copy_control(
    source: Path, target: Path, checkpoint: Checkpoint, *, now: Callable[[], datetime]
) -> None:
    copy_database(source, target, checkpoint)
    with closing(ControlDatabase.open(f"sqlite:///{target}")) as copied:
        settle_copy(copied, at=now())


def _followed_notes(home: SpecLibrary, installed: Installed) -> Iterator[str]:
    """Bring the copy of a catalogue in a database up to it, and yield what is not in the back-up
    nevertheless.
    """
    if (place := find_place(installed.folder)) is None:
        return
    if place.search:
        yield (
            f"the records of '{installed.name}' are in {place.shown} alone and not in it: back up"
            " the database"
        )
        return
    try:
        with closing(home.open_shelf(installed)) as shelf:
            shelf.store.state()
            stale = shelf.store.why_stale()
    except ExpectedError as error:
        stale = error.message
    if stale is not None:
        yield f"'{installed.name}' may lack records: {stale}"


def _catalogue_items(installed: Installed) -> Iterator[BackupItem]:
    """Yield the parts of a catalogue, the ledger first: with an older one, rows are only read
    again.
    """
    folder, name = installed.folder, f"{CATALOGUES}/{installed.name}"
    apart = {*DERIVED, LEDGER_FILE, STORE_FILE, FORMER_FILE}
    files = [LEDGER_FILE]
    if has_records_file(folder):
        apart.add(PLACE_FILE)  # restored, it is a catalogue without a database
        files.append(STORE_FILE)
    for file in files:
        if (folder / file).is_file():
            yield BackupItem(name=f"{name}/{file}", path=folder / file, copy=copy_store)
    if (folder / PACK_FOLDER / SOURCE_FILE).is_file():
        apart.discard(PACK_FOLDER)  # a release, without which it could not be updated
    for file, path in _iter_files(folder):
        if file.partition("/")[0] not in apart:
            yield BackupItem(name=f"{name}/{file}", path=path)


def _iter_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files below a folder, each with its name there, but for temporary ones."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(TEMPORARY):
            yield path.relative_to(folder).as_posix(), path


def settle_copy(database: ControlDatabase, *, at: datetime) -> None:
    """Clear the state of running processes from the copy of a control database.

    The run that makes the back-up is marked as done in the copy: it can only be restored if it was
    completed.
    """
    is_this_run = (job_runs.c.job == BACKUP_JOB, job_runs.c.state == RunState.RUNNING)
    with database.begin() as connection:
        connection.execute(update(job_lease).values(NOBODY))
        connection.execute(
            update(job_runs).where(*is_this_run).values(state=RunState.DONE, ended_at=at)
        )


def find_backup(given: str | None, settings: Settings) -> Path:
    """Return a back-up, or the newest one of a folder of them."""
    folder = backups_folder(given, settings)
    known = [folder] if (folder / MANIFEST).is_file() else list_backups(folder)
    if not known:
        raise NotFoundError(
            f"{folder}: there is no back-up; name its folder: stackroom restore FOLDER"
        )
    return known[-1]


def backups_folder(given: str | None, settings: Settings) -> Path:
    """Return the folder of back-ups: a given one, that of the settings, or the library's own."""
    place = given or settings.backup.to or str(settings.home / BACKUPS_FOLDER)
    if is_remote(place):
        raise InputError(f"{place}: back-ups are kept in a folder")
    return Path(place).expanduser()


def make_backup(
    plan: BackupPlan, folder: Path, *, at: datetime, keep: int, context: JobContext
) -> Path:
    """Write a back-up and return its folder; remove the oldest beyond `keep`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        needed = sum(size_of_backup(item.path) for item in plan.items)
        free = shutil.disk_usage(folder).free
        if 2 * needed > free:
            sizes = f"{free / 1e6:,.0f} MB are free, and a back-up of {needed / 1e6:,.0f} MB"
            raise StorageError(f"{folder}: {sizes} is made only where twice as much is")
        for leftover in folder.glob(f"*{UNFINISHED}"):
            shutil.rmtree(leftover, ignore_errors=True)
        # Unique: one that was paused and held to be dead must not continue in this folder.
        with TemporaryDirectory(
            prefix="backup-", suffix=UNFINISHED, dir=folder, ignore_cleanup_errors=True
        ) as staging:
            fresh = Path(staging)
            _fill(fresh, plan, at=at, context=context)
            if problems := check_backup(fresh):
                raise StorageError(f"the back-up is not kept: {'; '.join(problems)}")
            target = _put_in_place(fresh, folder, at)
        for outdated in list_backups(folder)[: -max(keep, 1)]:
            leaving = outdated.with_name(f"{outdated.name}{UNFINISHED}")
            outdated.rename(leaving)  # half removed, it must not count as a back-up
            shutil.rmtree(leaving, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"{folder}: the back-up could not be written: {error.strerror or error}; make room, or"
            " set another folder"
        ) from error
    return target


def restore_files(backup: Path, home: Path, names: Sequence[str]) -> None:
    """Copy files and folders of a back-up into a library, each in one step, none over another.

    Everything is copied beside its place first; a copy that fails leaves the library as it was.
    """
    fresh = {
        name: home / f".{Path(name).name}.{secrets.token_hex(4)}{UNFINISHED}" for name in names
    }
    try:
        for name, copied in fresh.items():
            source, target = backup / name, home / name
            if target.exists():
                raise ConflictError(
                    f"{target} is there already, and nothing was restored; move it away first"
                )
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copied)
            _sync(copied)
        for name, copied in fresh.items():
            copied.rename(home / name)  # commit point of each
            sync_folder((home / name).parent)
    except OSError as error:
        raise StorageError(
            f"{home}: cannot be written: {error.strerror or error}; make room, and try again"
        ) from error
    finally:
        for copied in fresh.values():
            shutil.rmtree(copied, ignore_errors=True) if copied.is_dir() else copied.unlink(
                missing_ok=True
            )


def list_backups(folder: Path) -> list[Path]:
    """Return the complete back-ups in a folder, the oldest first."""
    found = folder.iterdir() if folder.is_dir() else ()
    complete = {
        one.name: one for one in found if NAME.fullmatch(one.name) and (one / MANIFEST).is_file()
    }
    return [complete[name] for name in sorted(complete, key=backup_order)]


def load_checksums(backup: Path) -> dict[str, str]:
    """Return the files of a back-up with their sha256, as its manifest has them; none is outside of
    its folder.
    """
    try:
        files: dict[str, Any] = orjson.loads((backup / MANIFEST).read_bytes())["files"]
        outside = [
            name for name in files if not (backup / name).resolve().is_relative_to(backup.resolve())
        ]
        if not outside:
            return {name: str(entry["sha256"]) for name, entry in files.items()}
        reason = f"it names {outside[0]}"
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = repr(error)
    raise StorageError(f"{backup / MANIFEST} is damaged: {reason}")


def check_backup(backup: Path) -> list[str]:
    """Return the problems of a back-up: files that are missing or differ from its manifest."""
    try:
        wanted = load_checksums(backup)
    except StorageError as error:
        return [error.message]
    there = {name: sha256 for name, sha256 in wanted.items() if (backup / name).is_file()}
    missing = [f"{backup / name} is missing" for name in wanted if name not in there]
    return missing + [
        f"{backup / name} is damaged: its sha256 is not the manifest's"
        for name, sha256 in there.items()
        if sha256_of(backup / name) != sha256
    ]


def _fill(fresh: Path, plan: BackupPlan, *, at: datetime, context: JobContext) -> None:
    for number, item in enumerate(plan.items):
        context.progress(number, len(plan.items), f"copying {item.name}")
        (fresh / item.name).parent.mkdir(parents=True, exist_ok=True)
        item.copy(item.path, fresh / item.name, context.check_stopped)
    context.progress(len(plan.items), len(plan.items), "checking")
    files = {
        path.relative_to(fresh).as_posix(): {
            "sha256": sha256_of(path),
            "size_bytes": path.stat().st_size,
        }
        for path in sorted(fresh.rglob("*"))
        if path.is_file()
    }
    manifest = {"format": FORMAT, "made_at": at.isoformat(), "files": files, "notes": plan.notes}
    (fresh / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    _sync(fresh)


def _sync(fresh: Path) -> None:
    """Sync a folder with everything in it, so that the rename never exposes empty files."""
    for path in (*fresh.rglob("*"), fresh):
        (sync_folder if path.is_dir() else sync_file)(path)


def _put_in_place(fresh: Path, folder: Path, at: datetime) -> Path:
    wanted = folder / f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    taken = [one.name for one in folder.glob(f"{wanted.name}*") if NAME.fullmatch(one.name)]
    last = max((backup_order(name)[1] for name in taken), default=0)
    target = wanted.with_name(f"{wanted.name}-{last + 1}") if last else wanted
    os.replace(fresh, target)  # commit point: the back-up is complete
    sync_folder(folder)
    return target


def backup_order(name: str) -> tuple[str, int]:
    """Return the sort key of a back-up's name: its time, and its number among those of one
    second.
    """
    time, _, number = name.partition("-")
    return time, int(number or 1)


def size_of_backup(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
