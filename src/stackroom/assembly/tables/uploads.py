"""The files of uploaded tables: one folder each in `HOME/tables`, private as the library is.

TABLES/ID/FILE      the file; it stays as long as a catalogue has it for a source
TABLES/ID/.upload   the process that receives it; gone when a catalogue is built of it. No file has such a name
"""

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

import orjson

from stackroom.background.identity import identity_of_this_process, is_certainly_gone
from stackroom.errors import ConflictError, ExpectedError, InputError, StorageError
from stackroom.library import Installed, Library, replace_file
from stackroom.shelf.lock import CatalogueLock
from stackroom.sources.compressed import COMPRESSED
from stackroom.sources.location import SourceLocation
from stackroom.sources.opener import ENDINGS, is_table_file

logger = logging.getLogger(__name__)

FOLDER = "tables"
UPLOAD_FILE = ".upload"
DAY_S = 86_400.0
UNSAFE = re.compile(r"[^\w.-]+")
LONGEST_NAME_BYTES = 200
ROOM = 3
"""How many times the size of a file has to be free: for the file, the catalogue and its indexes."""
LEAST_FREE_BYTES = 200 * 2**20
"""The bytes that stay free beside that."""
LOCK_TIMEOUT_S = 10.0
SUFFIXES = [*ENDINGS, *(f"{one}{packed}" for one in ENDINGS for packed in COMPRESSED)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """The place of a file that is being received, or was."""

    folder: Path
    file: Path

    def note(self) -> None:
        """Note which process receives it."""
        replace_file(self.folder / UPLOAD_FILE, orjson.dumps({"process": identity_of_this_process()}))

    def has_built(self, catalogue: Installed) -> bool:
        """Tell whether records of a catalogue come from the file."""
        return any(self._is_source(source) for source in catalogue.sources)

    def has_all_of(self, catalogue: Installed) -> bool:
        """Tell whether everything in a catalogue, complete or not, comes from the file."""
        if not catalogue.sources:
            return catalogue.upload == self.folder.name
        return all(self._is_source(source) for source in catalogue.sources)

    def _is_source(self, source: str) -> bool:
        return Path(SourceLocation.parse(source).location).parent == self.folder.resolve()

    def append(self, piece: bytes, *, offset: int) -> None:
        """Write a piece at its place; nothing of it stays where that fails."""
        try:
            with self.file.open("ab") as file:
                file.truncate(offset)
                file.write(piece)
        except OSError as error:
            raise StorageError(
                f"the file cannot be written: {error.strerror}; make room, and send the piece again"
            ) from error

    def keep(self) -> None:
        """Keep the file: a catalogue was built of it."""
        (self.folder / UPLOAD_FILE).unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the file."""
        shutil.rmtree(self.folder, ignore_errors=True)


def require_table(file: str) -> str:
    """Return the safe form of a file's name; refuse one whose suffix is of no table."""
    bare = PureWindowsPath(PurePosixPath(file).name).name
    shortened = UNSAFE.sub("_", bare).encode()[-LONGEST_NAME_BYTES:].decode(errors="ignore")
    safe = shortened.strip("._-")
    if not is_table_file(Path(safe)):
        raise InputError(
            f"'file': '{bare[:80]}' is no table, by its suffix; right are {', '.join(ENDINGS)}, each also compressed "
            f"({', '.join(COMPRESSED)})"
        )
    return safe


def make_upload(home: Path, upload_id: str, file: str, *, size_bytes: int) -> Upload:
    """Make the folder of a file that is going to be received; refuse it where the disk has too little room."""
    folder = home / FOLDER / upload_id
    upload = Upload(folder=folder, file=folder / file)
    try:
        folder.mkdir(parents=True, mode=0o700)
        free = shutil.disk_usage(folder).free
        if free < ROOM * size_bytes + LEAST_FREE_BYTES:
            upload.remove()
            raise StorageError(
                f"'size_bytes': there is too little room on the server's disk for {size_bytes / 2**20:,.1f} MiB: "
                f"{free / 2**20:,.0f} MiB are free, and {ROOM} times the file and "
                f"{LEAST_FREE_BYTES >> 20} MiB are needed"
            )
        upload.file.touch(mode=0o600)
        upload.note()
    except OSError as error:
        upload.remove()
        raise StorageError(f"the library cannot be written: {error.strerror}") from error
    return upload


def remove_catalogue(library: Library, name: str, upload: Upload) -> None:
    """Delete the catalogue of an upload; refuse one that has anything else in it, or is being written to."""
    if (place := library.find_place(name)) is None:
        return
    _require_all(upload, library, name)  # before a lock file is made in a folder of others
    with CatalogueLock(place.folder, name).held(LOCK_TIMEOUT_S):
        _require_all(upload, library, name)
        library.uninstall(place)
    library.remove(name)


def _require_all(upload: Upload, library: Library, name: str) -> None:
    place = library.find_place(name)
    if place is None or not upload.has_all_of(place):
        raise ConflictError(
            f"the catalogue '{name}' has records that are not of this table, so it stays; "
            f"to remove all of it, delete its folder in the library"
        )


def remove_left_over(home: Path, library: Library, *, now: Callable[[], float] = time.time) -> None:
    """Delete the files that nobody waits for: of processes that have ended, and of catalogues that are gone.

    While a catalogue is damaged, nothing is deleted: what its sources are is not known.
    """
    if damaged := library.check():
        logger.warning("uploaded tables that are left over are kept: damaged is %s", ", ".join(sorted(damaged)))
        return
    used = [source for installed in library.list_installed() for source in installed.sources]
    for folder in _iter_folders(home):
        try:
            _tidy(folder, library, used, now=now())
        except (OSError, ExpectedError) as error:  # another server of this library may delete it too
            logger.warning("%s: what is left over is not deleted: %s", folder, error)


def _tidy(folder: Path, library: Library, used: Sequence[str], *, now: float) -> None:
    """Delete a file that is left over, and the catalogue that was being built of it."""
    is_old, noted = now - folder.stat().st_mtime >= DAY_S, _read_note(folder)
    is_left = is_old or (noted is not None and is_certainly_gone(str(noted.get("process", ""))))
    if not is_left:
        return
    if any(folder.name in source for source in used):  # also where the library was moved since
        (folder / UPLOAD_FILE).unlink(missing_ok=True)
        return
    upload = Upload(folder=folder, file=folder)
    for name in library.list_unfinished():
        if (place := library.find_place(name)) is not None and upload.has_all_of(place):
            library.remove(name)
    upload.remove()


def _iter_folders(home: Path) -> Iterator[Path]:
    folder = home / FOLDER
    return (path for path in (folder.iterdir() if folder.is_dir() else ()) if path.is_dir() and not path.is_symlink())


def _read_note(folder: Path) -> dict[str, object] | None:
    """Return the note of a file that is being received; None where there is none."""
    try:
        known = orjson.loads((folder / UPLOAD_FILE).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, orjson.JSONDecodeError):
        return {}
    return known if isinstance(known, dict) else {}
