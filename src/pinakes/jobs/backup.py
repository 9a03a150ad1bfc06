"""Back-ups: consistent copies of what a library cannot make again, with their checksums.

    BACKUPS/20261115T030000Z/manifest.json        sha256 and size of every other file; what is not in it, and why
    BACKUPS/20261115T030000Z/control.sqlite       accounts, audit, jobs
    BACKUPS/20261115T030000Z/catalogues/NAME/     records, ledger, spec and what it is installed as

Indexes and packs are not in it: they follow from the records. To restore, copy the files into an empty folder and make
that the library; indexes are then made anew. A back-up is written under another name and moved into place, so there is
a whole one or none.

What only holds for the processes of the moment is not in the copy of the control database: who runs jobs, who has which
download, and that the back-up is being made.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import orjson
from sqlalchemy import update

from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.tables import job_lease, job_runs
from pinakes.errors import StorageError
from pinakes.jobs.context import JobContext
from pinakes.jobs.lease import NOBODY
from pinakes.jobs.runs import RunState
from pinakes.net.checksum import sha256_of
from pinakes.net.partial import sync_file, sync_folder
from pinakes.shelf.port import Checkpoint

BACKUP_JOB = "backup"
"""What the job is called that makes back-ups."""
MANIFEST = "manifest.json"
FORMAT = 1
UNFINISHED = ".new"
"""What the name of a folder ends with that is being written, or removed."""
NAME = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
PAGES_AT_ONCE = 2_000
BUSY_TIMEOUT_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupItem:
    """Something that is backed up: where it stands in the back-up, how it gets there, and about how large it is."""

    name: str
    copy: Callable[[Path, Checkpoint], None]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPlan:
    """What is backed up, in this order, and what is to be said of what is not."""

    items: tuple[BackupItem, ...]
    notes: tuple[str, ...] = ()


def file_item(name: str, path: Path) -> BackupItem:
    """Return a file that is replaced as a whole when it changes."""
    return BackupItem(name=name, copy=lambda target, _checkpoint: _copy_file(path, target), size_bytes=_size(path))


def store_item(name: str, path: Path) -> BackupItem:
    """Return an SQLite file that this process opens by APSW and nothing else.

    Two copies of SQLite in one process, APSW's and Python's, must not open the same file: when one closes it, the
    other's locks are gone.
    """
    return BackupItem(
        name=name, copy=lambda target, checkpoint: _copy_store(path, target, checkpoint), size_bytes=_size(path)
    )


def settle_copy(database: ControlDatabase, *, at: datetime) -> None:
    """Take out of the copy of a control database what holds only for the processes that have the original open.

    The run that makes the copy is done in it: there is a back-up to restore only where it was.
    """
    is_this_run = (job_runs.c.job == BACKUP_JOB, job_runs.c.state == RunState.RUNNING)
    with database.begin() as connection:
        connection.execute(update(job_lease).values(NOBODY))
        connection.execute(update(job_runs).where(*is_this_run).values(state=RunState.DONE, ended_at=at))


def make_backup(plan: BackupPlan, folder: Path, *, at: datetime, keep: int, context: JobContext) -> Path:
    """Write a back-up and return its folder; the oldest are removed, so that only so many are kept."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _require_room(plan, folder)
        fresh = _fresh_folder(folder)
        try:
            _fill(fresh, plan, at=at, context=context)
            _require_whole(fresh)
            target = _put_in_place(fresh, folder, at)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        _keep_newest(folder, keep)
    except OSError as error:
        raise StorageError(f"{folder}: the back-up could not be written: {error.strerror or error}") from error
    return target


def list_backups(folder: Path) -> list[Path]:
    """Return the back-ups in a folder that are whole, the oldest first."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted((one for one in found if NAME.fullmatch(one.name) and (one / MANIFEST).is_file()), key=_order)


def check_backup(backup: Path) -> list[str]:
    """Return what is wrong with a back-up; nothing when every file is as its manifest says."""
    try:
        files: dict[str, Any] = orjson.loads((backup / MANIFEST).read_bytes())["files"]
        wanted = {name: str(entry["sha256"]) for name, entry in files.items()}
    except (OSError, orjson.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        return [f"{backup / MANIFEST} is damaged: {error!r}"]
    problems = [f"{backup / name} is missing" for name in wanted if not (backup / name).is_file()]
    return problems + [
        f"{backup / name} is damaged: its sha256 is not the manifest's"
        for name, sha256 in wanted.items()
        if (backup / name).is_file() and sha256_of(backup / name) != sha256
    ]


def _require_whole(fresh: Path) -> None:
    """Refuse to put in place, and to remove older ones for, what does not read back as it was written."""
    if problems := check_backup(fresh):
        raise StorageError(f"the back-up is not kept: {'; '.join(problems)}")


def _require_room(plan: BackupPlan, folder: Path) -> None:
    needed, free = sum(item.size_bytes for item in plan.items), shutil.disk_usage(folder).free
    if 2 * needed > free:
        raise StorageError(
            f"{folder}: {_megabytes(free)} are free, and a back-up of {_megabytes(needed)} is made only where twice "
            "as much is"
        )


def _fresh_folder(folder: Path) -> Path:
    """Return an empty folder to write to; what one that was stopped has left is removed.

    Its name is nobody else's: a process that was taken for dead while it was only paused must not go on in this one.
    """
    for leftover in folder.glob(f"*{UNFINISHED}"):
        shutil.rmtree(leftover, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="backup-", suffix=UNFINISHED, dir=folder))


def _fill(fresh: Path, plan: BackupPlan, *, at: datetime, context: JobContext) -> None:
    for number, item in enumerate(plan.items):
        context.progress(number, len(plan.items), f"copying {item.name}")
        (fresh / item.name).parent.mkdir(parents=True, exist_ok=True)
        item.copy(fresh / item.name, context.check_cancelled)
    context.progress(len(plan.items), len(plan.items), "checking")
    manifest = {"format": FORMAT, "made_at": at.isoformat(), "files": _files(fresh), "notes": plan.notes}
    (fresh / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    _sync(fresh)


def _files(fresh: Path) -> dict[str, dict[str, Any]]:
    files = {path.relative_to(fresh).as_posix(): path for path in sorted(fresh.rglob("*")) if path.is_file()}
    return {name: {"sha256": sha256_of(path), "size_bytes": path.stat().st_size} for name, path in files.items()}


def _sync(fresh: Path) -> None:
    """Make everything below a folder durable, so that the move into place never leads to empty files."""
    for path in (*fresh.rglob("*"), fresh):
        if path.is_dir():
            sync_folder(path)
        else:
            sync_file(path)


def _put_in_place(fresh: Path, folder: Path, at: datetime) -> Path:
    name = f"{at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    target = next(one for one in _names(folder, name) if not one.exists())
    os.replace(fresh, target)  # commit point: the back-up is there, whole
    sync_folder(folder)
    return target


def _names(folder: Path, name: str) -> Iterator[Path]:
    yield folder / name
    for number in range(2, 1000):
        yield folder / f"{name}-{number}"


def _order(backup: Path) -> tuple[str, int]:
    name, _, number = backup.name.partition("-")
    return name, int(number or 1)


def _keep_newest(folder: Path, keep: int) -> None:
    for outdated in list_backups(folder)[: -max(keep, 1)]:
        leaving = outdated.with_name(f"{outdated.name}{UNFINISHED}")
        outdated.rename(leaving)  # half removed, it must not be taken for a back-up, nor stay for ever
        shutil.rmtree(leaving, ignore_errors=True)


def _copy_file(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o600)


def _copy_store(source: Path, target: Path, checkpoint: Checkpoint) -> None:
    """Copy an SQLite file as it is at one moment, whatever is written to it meanwhile."""
    try:
        with (
            closing(apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)) as origin,
            closing(apsw.Connection(str(target))) as copied,
        ):
            origin.set_busy_timeout(BUSY_TIMEOUT_MS)
            origin.execute("BEGIN")
            origin.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # from here on it sees this moment
            with copied.backup("main", origin, "main") as backup:
                while not backup.done:
                    backup.step(PAGES_AT_ONCE)
                    checkpoint()
            problem = copied.pragma("quick_check")
    except apsw.Error as error:
        raise StorageError(f"{source}: the back-up could not be made: {error}") from error
    target.chmod(0o600)
    if problem != "ok":
        raise StorageError(f"{source}: its copy is not whole ({problem}); check it: pinakes job run integrity_check")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.0f} MB"
