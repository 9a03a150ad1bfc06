"""The plan of a back-up: everything of a library that cannot be derived from the rest."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

from pinakes.api.server import NO_PARTS, ServerParts
from pinakes.assembly.app import App
from pinakes.assembly.lance_conversion import TABLES_FOLDER
from pinakes.checksums import SEAL_ENDING
from pinakes.control.control import Control
from pinakes.control.database.backup import copy_database, find_file
from pinakes.control.database.engine import ControlDatabase
from pinakes.control.database.time_columns import utc_now
from pinakes.control.database.url import LOCAL_FILE
from pinakes.jobs.backup import BackupItem, BackupPlan, file_item, settle_copy, store_item
from pinakes.library import EMBEDDED, LEDGER_FILE, PACK_FOLDER, Installed
from pinakes.maps.map_file import MAP_FILE
from pinakes.packs.releases.installed_pack import SOURCE_FILE
from pinakes.settings import CONFIG_FILE
from pinakes.shelf.embedded.quarantine import DAMAGED_FOLDER
from pinakes.shelf.embedded.shelf import FORMER_INDEX_FOLDER, INDEX_FOLDER, STORE_FILE
from pinakes.shelf.lock import LOCK_FILE
from pinakes.shelf.port import Checkpoint

CATALOGUES = "catalogues"
DERIVED = frozenset({INDEX_FOLDER, FORMER_INDEX_FOLDER, DAMAGED_FOLDER, PACK_FOLDER, LOCK_FILE, MAP_FILE})
"""Parts of a catalogue's folder that are made again from the rest."""
TEMPORARY = (".new", ".lock", "-wal", "-shm", "-journal", SEAL_ENDING)


def plan_backup(
    app: App, control: Control, *, parts: ServerParts = NO_PARTS, now: Callable[[], datetime] = utc_now
) -> BackupPlan:
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
        copy = partial(_copy_control, database, parts=parts, now=now)
        items.append(BackupItem(name=database.name, copy=copy, size_bytes=database.stat().st_size))
    local = app.settings.home / LOCAL_FILE
    if local.is_file():
        items.append(BackupItem(name=local.name, copy=partial(copy_database, local), size_bytes=local.stat().st_size))
    config = app.settings.home / CONFIG_FILE
    if config.is_file():
        items.append(file_item(config.name, config))
    return BackupPlan(items=tuple(items), notes=tuple(notes))


def _copy_control(
    source: Path, target: Path, checkpoint: Checkpoint, *, parts: ServerParts, now: Callable[[], datetime]
) -> None:
    copy_database(source, target, checkpoint)
    with closing(ControlDatabase.open(f"sqlite:///{target}")) as copied:
        settle_copy(copied, at=now())
        parts.release_claims(copied)


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
    if installed.shelf == EMBEDDED:
        apart.add(TABLES_FOLDER)  # left over from its conversion
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_file() and place.parts[0] not in apart and not path.name.endswith(TEMPORARY):
            yield file_item(f"{name}/{place.as_posix()}", path)
