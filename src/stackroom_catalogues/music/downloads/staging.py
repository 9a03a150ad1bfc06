"""Staging folders of downloads, and the installation of their files in the music folder.

    MUSIC/.downloads/lock         held by the process that works on downloads
    MUSIC/.downloads/KEY/album/   files, each complete or a `.part`
    MUSIC/Artist/Album/           the installed album

An album whose folder is new is installed by one rename. Into an existing folder its files are moved one by one: a file
with the same content is not duplicated, one with other content is left alone, and the new file is called 'NAME (2)'. A
file leaves the staging folder only by being installed, so after a kill the next worker sees what is left to do.
"""

import errno
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from stackroom.api import StorageError
from stackroom.api.server import open_like, sha256_of, sync_file, sync_folder
from stackroom_catalogues.music.downloads.items import AlbumFile, DownloadFile, DownloadState
from stackroom_catalogues.music.downloads.names import iter_variants

HIDDEN = ".downloads"
ALBUM = "album"
FORGOTTEN_S = 30 * 24 * 3600.0
"""Age at which the staging folder of a failed or unknown download is removed."""


class Staging:
    """The staging folders of one music folder."""

    def __init__(self, music: Path) -> None:
        self._music = music
        self._root = music / HIDDEN

    @property
    def lock_file(self) -> Path:
        """The file that the process holds which works on downloads."""
        return self._root / "lock"

    def open_folder(self, key: str) -> Path:
        """Return the folder in which the files of a download gather, created if it is missing."""
        folder = self._root / key / ALBUM
        with _failures(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def target(self, folder: str) -> Path:
        """Return the folder of an installed album."""
        return self._music / folder

    def find_installed(self, folder: str, file: DownloadFile) -> Path | None:
        """Return the installed file with the same content; None where it is not installed."""
        if file.sha256 is None:
            return None
        for path in _variants(self.target(folder), file.name):
            if _has_content(path, file.size, file.sha256):
                return path
        return None

    def install(self, staged: Path, folder: str, files: Sequence[DownloadFile]) -> Path:
        """Install an album and return its folder; files that are installed already stay as they are."""
        target = self.target(folder)
        with _failures(target):
            there = {path for path in _places(target) if path.exists()}
            _install(staged, target, files)
            for path in _places(target) - there:
                open_like(path, self._music)
            sync_folder(self._music)
        missing = [file.name for file in files if self.find_installed(folder, file) is None]
        if missing:
            raise StorageError(f"{target}: {len(missing)} files were not installed, such as '{missing[0]}'")
        return target

    def remove(self, key: str) -> None:
        """Remove the staging folder of a download."""
        shutil.rmtree(self._root / key, ignore_errors=True)

    def remove_empty(self, key: str) -> None:
        """Remove the staging folder of a download that has no file in it."""
        if not any((self._root / key / ALBUM).glob("*")):
            self.remove(key)

    def sweep(self, states_of: Callable[[Sequence[str]], Mapping[str, DownloadState]]) -> None:
        """Remove the staging folders of downloads that are done, cancelled or abandoned, and those without a file."""
        keys = [path.name for path in self._root.glob("*") if path.is_dir()]
        states = states_of(keys) if keys else {}
        for key in keys:
            state = states.get(key)
            is_abandoned = state in (None, DownloadState.FAILED) and _idle_s(self._root / key) > FORGOTTEN_S
            if is_abandoned or state in (DownloadState.DONE, DownloadState.CANCELLED):
                self.remove(key)
            elif state is DownloadState.FAILED:
                self.remove_empty(key)


def _places(target: Path) -> set[Path]:
    """Return the folders of an artist and of an album, and the files in it."""
    return {target.parent, target, *target.glob("*")}


def drop_unproven(staged: Path, files: Sequence[AlbumFile]) -> None:
    """Remove complete files for which a new list has no checksum; partial files name their source themselves."""
    proven = {file.name for file in files if file.sha256 is not None}
    for path in staged.iterdir():
        is_part = path.name.endswith((".part", ".part.json"))
        if not is_part and path.name not in proven:
            path.unlink()


def _install(staged: Path, target: Path, files: Sequence[DownloadFile]) -> None:
    """Install an album. Commit point: the rename of the folder, or of each file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _clear_rest(staged, files)
    if not target.exists() and _renamed(staged, target):
        sync_folder(target.parent)
        return
    target.mkdir(exist_ok=True)
    for file in files:
        if file.sha256 is not None and (staged / file.name).exists():
            _install_file(staged / file.name, target, file.size, file.sha256)
    sync_folder(target)
    sync_folder(target.parent)


def _clear_rest(staged: Path, files: Sequence[DownloadFile]) -> None:
    """Remove files that are not in the album's list, such as partial files of an older one."""
    names = {file.name for file in files}
    for path in staged.iterdir() if staged.exists() else ():
        if path.name not in names:
            path.unlink()


def _renamed(staged: Path, target: Path) -> bool:
    """Rename the folder, if it exists on the same filesystem; tell whether it was renamed."""
    if not staged.exists() or not any(staged.iterdir()):
        return False
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


def _install_file(staged: Path, target: Path, size: int | None, sha256: str) -> None:
    """Move a file into a folder, under the first of its names that is free; drop it where one has the same content."""
    for path in _variants(target, staged.name, with_free=True):
        if not path.exists():
            _move(staged, path)
            return
        if _has_content(path, size, sha256):
            staged.unlink()
            return
    raise StorageError(f"{target}: there are too many files called '{staged.name}'")


def _variants(folder: Path, name: str, *, with_free: bool = False) -> Iterator[Path]:
    """Yield the existing files with a name or its alternatives, up to the first that is free."""
    for variant in iter_variants(name):
        path = folder / variant
        if path.exists() or with_free:
            yield path
        if not path.exists():
            return


def _move(staged: Path, path: Path) -> None:
    try:
        staged.rename(path)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    # On another filesystem: copied to a hidden name first, so that the file appears complete or not at all.
    beside = path.with_name(f".{path.name}.part")
    shutil.copyfile(staged, beside)
    sync_file(beside)
    beside.rename(path)
    staged.unlink()


def _has_content(path: Path, size: int | None, sha256: str) -> bool:
    try:
        return size in (None, path.stat().st_size) and sha256_of(path) == sha256
    except OSError:
        return False


def _idle_s(folder: Path) -> float:
    """Return the time since a file was last added to or removed from a download."""
    try:
        changed_at = max(path.stat().st_mtime for path in (folder, *folder.glob(ALBUM)))
    except FileNotFoundError:
        return 0.0
    return time.time() - changed_at


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error
