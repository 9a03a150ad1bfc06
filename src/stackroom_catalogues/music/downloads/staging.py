"""Staging folders of downloads, and the installation of their files in the music folder.

    MUSIC/.downloads/lock         held by the process that works on downloads
    MUSIC/.downloads/KEY/         files, each complete or a `.part`
    MUSIC/Artist/Album/           the installed album

An album whose folder is new is installed by one rename. Into an existing folder its files are moved
one by one: a file with the same content is not duplicated, one with other content is left alone,
and the new file is called 'NAME (2)'. A file leaves the staging folder only by being installed, so
after a kill the next worker sees what is left to do.
"""

import filecmp
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stackroom.api import StorageError
from stackroom.api.server import open_like, sync_folder
from stackroom_catalogues.music.downloads.manifest import iter_variants

HIDDEN = ".downloads"


class Staging:
    """The staging folders of one music folder."""

    def __init__(self, music: Path) -> None:
        self._music = music
        self._root = music / HIDDEN
        self.lock_file = self._root / "lock"
        """The file that the process holds which works on downloads."""

    def open_folder(self, key: str) -> Path:
        """Return the folder in which the files of a download gather, created if it is missing."""
        folder = self._root / key
        with _failures(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def keep_only(self, staged: Path, names: Collection[str]) -> None:
        """Remove files that are not of the album, such as partial ones of an older list."""
        with _failures(staged):
            for path in staged.iterdir():
                if path.name not in names:
                    path.unlink()

    def install(self, staged: Path, folder: str) -> Path:
        """Install the files of an album that are not installed yet, and return its folder."""
        target = self._music / folder
        with _failures(target):
            there = {path for path in _places(target) if path.exists()}
            _install(staged, target)
            for path in _places(target) - there:
                open_like(path, self._music)
            sync_folder(self._music)
        return target

    def remove(self, key: str) -> None:
        """Remove the staging folder of a download."""
        shutil.rmtree(self._root / key, ignore_errors=True)

    def remove_empty(self, key: str) -> None:
        """Remove the staging folder of a download that has no file in it."""
        with suppress(OSError):
            (self._root / key).rmdir()

    def sweep(self, kept: Collection[str]) -> None:
        """Remove the staging folders of all downloads but these."""
        for path in self._root.glob("*"):
            if path.is_dir() and path.name not in kept:
                self.remove(path.name)


def _places(target: Path) -> set[Path]:
    """Return the folders of an artist and of an album, and the files in it."""
    return {target.parent, target, *target.glob("*")}


def _install(staged: Path, target: Path) -> None:
    """Install what has come of an album. Commit point: the rename of the folder, or of each
    file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    files = sorted(staged.iterdir())
    if target.exists():
        for path in files:
            _install_file(path, target)
        sync_folder(target)
    elif files:
        staged.rename(target)
    else:
        raise StorageError(
            f"{target}: the files of the album are gone from the staging folder; retry the download"
        )
    sync_folder(target.parent)


def _install_file(staged: Path, target: Path) -> None:
    """Move a file into a folder, under the first of its names that is free; drop it where one has
    the same content.
    """
    for name in iter_variants(staged.name):
        path = target / name
        if not path.exists():
            staged.rename(path)
            return
        if filecmp.cmp(staged, path, shallow=False):
            staged.unlink()
            return
    raise StorageError(
        f"{target}: there are too many files called '{staged.name}'; remove some, then retry"
    )


@contextmanager
def _failures(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written: {error.strerror or error}; make room or allow it"
        ) from error
