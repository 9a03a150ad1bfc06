"""The base segments in the folder of an index, and the pointer that names the current one."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from stackroom.shelf.embedded.segment import Segment, open_segment, save_segment

POINTER_FILE = "CURRENT"
LATE_PREFIX = "late-"
"""Begins the name of a base that is being written beside the current one, to replace it with more vectors."""


class BaseFolder:
    """Opens and replaces the base segment; whoever replaces it holds the lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def name(self) -> str | None:
        """Return the name of the current base, or None where none was built yet."""
        try:
            return (self._folder / POINTER_FILE).read_text(encoding="ascii", errors="replace").strip()
        except FileNotFoundError:
            return None

    def open(self, name: str) -> Segment:
        """Return a base by its name, memory-mapped."""
        return open_segment(self._folder / name)

    def swap(self, segment: Segment) -> None:
        """Write a segment and make it the base."""
        for leftover in self._folder.glob("base-*.new"):
            shutil.rmtree(leftover)
        fresh = self._folder / f"{segment.name}.new"
        save_segment(segment, fresh)
        self.swap_in(fresh, segment.name)

    def write_late(self, segment: Segment, *, like: str) -> Path | None:
        """Write a base with other vectors beside the current one; None where that is no longer there."""
        for leftover in self._folder.glob(f"{LATE_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh = self._folder / f"{LATE_PREFIX}{os.getpid()}"
        try:
            save_segment(segment, fresh, like=self._folder / like)
        except FileNotFoundError:
            shutil.rmtree(fresh, ignore_errors=True)
            return None
        return fresh

    def swap_in(self, fresh: Path, name: str) -> None:
        """Make a segment that was written the base, and remove the former one."""
        shutil.rmtree(self._folder / name, ignore_errors=True)
        os.replace(fresh, self._folder / name)
        pointer = self._folder / f"{POINTER_FILE}.new"
        pointer.write_text(name, encoding="utf-8")
        os.replace(pointer, self._folder / POINTER_FILE)  # commit point: readers open the new base from here on
        outdated = [other for other in self._folder.glob("base-*") if other.name != name]
        outdated += [other for other in self._folder.parent.iterdir() if other != self._folder]
        for other in outdated:
            shutil.rmtree(other, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Return the size of the files below a folder, leaving out those that go meanwhile."""
    size_bytes = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size_bytes += path.stat().st_size if path.is_file() else 0
    return size_bytes
