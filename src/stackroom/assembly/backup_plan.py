"""The plan of a back-up: everything of a library that cannot be derived from the rest."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

from stackroom.assembly.app import App
from stackroom.checksums import SEAL_ENDING
from stackroom.control.control import Control
from stackroom.control.database.backup import copy_database, find_file
from stackroom.control.database.engine import ControlDatabase
from stackroom.control.database.time_columns import utc_now
from stackroom.control.database.url import LOCAL_FILE
from stackroom.jobs.backup import BackupItem, BackupPlan, file_item, settle_copy, store_item
from stackroom.library import LEDGER_FILE, PACK_FOLDER, Installed
from stackroom.maps.map_file import MAP_FILE
from stackroom.packs.installed import SOURCE_FILE
from stackroom.settings import CONFIG_FILE
from stackroom.shelf.embedded.quarantine import DAMAGED_FOLDER
from stackroom.shelf.embedded.shelf import FORMER_INDEX_FOLDER, INDEX_FOLDER, STORE_FILE
from stackroom.shelf.lock import LOCK_FILE
from stackroom.shelf.port import Checkpoint

CATALOGUES = "catalogues"
DERIVED = frozenset({INDEX_FOLDER, FORMER_INDEX_FOLDER, DAMAGED_FOLDER, PACK_FOLDER, LOCK_FILE, MAP_FILE})
"""Parts of a catalogue's folder that are made again from the rest."""
TEMPORARY = (".new", ".lock", "-wal", "-shm", "-journal", SEAL_ENDING)


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
