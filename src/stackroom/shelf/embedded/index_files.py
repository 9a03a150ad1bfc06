"""The files of an index: base segments, the pointer to the current one, the text index, and what
was found damaged.

Tantivy never changes a file of a segment; each commit adds files and replaces `meta.json`. The
manifest of checksums is beside the folder, is removed before a commit and written after it. Tantivy
ends each file of a segment with a CRC-32 of its own, by which files are checked that a killed
writer left without a checksum. Damaged files that were replaced are moved aside, a few of them, to
`FOLDER/damaged/`.
"""

import os
import shutil
import struct
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import orjson

from stackroom.checksums import (
    DamagedChecksumsError,
    FileSum,
    Pace,
    find_changed,
    find_sums,
    keep_going,
    measure_files,
    save_sums,
)
from stackroom.shelf.embedded.segment import Segment, save_segment
from stackroom.shelf.sqlite_files import scratch_folder

POINTER_FILE = "CURRENT"
LATE_PREFIX = "late-"
"""Begins the name of a base that is being written beside the current one, to replace it with more
vectors.
"""
DAMAGED_FOLDER = "damaged"
KEPT = 2
META_FILE = "meta.json"  # tantivy's file that names the committed segments
LOCK_ENDING = ".lock"
FOOTER_MAGIC = 1337
FOOTER_ENDS = struct.Struct("<II")


class BaseFolder:
    """Opens and replaces the base segment; replacing it requires the lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def name(self) -> str | None:
        """Return the name of the current base, or None if none was built yet."""
        try:
            return (
                (self.folder / POINTER_FILE).read_text(encoding="ascii", errors="replace").strip()
            )
        except FileNotFoundError:
            return None

    def swap(self, segment: Segment) -> None:
        """Write a segment and make it the base."""
        for leftover in self.folder.glob("base-*.new"):
            shutil.rmtree(leftover)
        fresh = self.folder / f"{segment.name}.new"
        save_segment(segment, fresh)
        self.swap_in(fresh, segment.name)

    def write_late(self, segment: Segment, *, like: str) -> Path | None:
        """Write a base with other vectors beside the current one; return None if the current one is
        no longer there.
        """
        for leftover in self.folder.glob(f"{LATE_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh = self.folder / f"{LATE_PREFIX}{os.getpid()}"
        try:
            save_segment(segment, fresh, like=self.folder / like)
        except FileNotFoundError:
            shutil.rmtree(fresh, ignore_errors=True)
            return None
        return fresh

    def swap_in(self, fresh: Path, name: str) -> None:
        """Make a segment that was written the base, and remove the former one."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        os.replace(fresh, self.folder / name)
        pointer = self.folder / f"{POINTER_FILE}.new"
        pointer.write_text(name, encoding="utf-8")
        # commit point: readers open the new base from here on
        os.replace(pointer, self.folder / POINTER_FILE)
        outdated = [other for other in self.folder.glob("base-*") if other.name != name]
        outdated += [other for other in self.folder.parent.iterdir() if other != self.folder]
        for other in outdated:
            shutil.rmtree(other, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Return the size of the files below a folder, ignoring files that are removed meanwhile."""
    size_bytes = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size_bytes += path.stat().st_size if path.is_file() else 0
    return size_bytes


def quarantine(folder: Path, path: Path) -> Path:
    """Move a damaged file or folder of a catalogue aside, keep the last few of them, and return its
    new place.
    """
    aside = folder / DAMAGED_FOLDER
    aside.mkdir(exist_ok=True)
    for old in sorted(path for path in aside.iterdir() if path.is_dir())[: -(KEPT - 1)]:
        shutil.rmtree(old, ignore_errors=True)
    place = aside / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    place.mkdir()
    os.replace(path, place / path.name)
    return place / path.name


class TextFiles:
    """The folder of a text index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = folder.with_name(f"{folder.name}.checksums.json")
        self._known: dict[str, FileSum] = {}

    def usable_folder(self) -> Path:
        """Return the folder to open: a folder of links if the index cannot be written to, since
        tantivy writes lock files.
        """
        if not os.access(self.folder.parent, os.W_OK) and self.folder.is_dir():
            links = scratch_folder(self)
            for name in self.list_names():
                (links / name).symlink_to(self.folder / name)
            return links
        # never that of a catalogue which was removed
        for folder in (*self.folder.parents[1::-1], self.folder):
            folder.mkdir(exist_ok=True)
        return self.folder

    def list_names(self) -> list[str]:
        """Return the names of the files, without locks."""
        return sorted(
            path.name for path in self.folder.iterdir() if not path.name.endswith(LOCK_ENDING)
        )

    def forget_sums(self) -> None:
        """Remove the manifest before a commit, and remember the checksums of files that stay."""
        self._known = {}
        with suppress(DamagedChecksumsError):
            for name, known in (find_sums(self.manifest) or {}).items():
                if name != META_FILE and not name.startswith("."):
                    self._known[name] = known
        self.manifest.unlink(missing_ok=True)

    def save_sums(self) -> None:
        """Write the manifest, after a commit."""
        sums = measure_files(self.folder, self._list_committed(), known=self._known)
        # lost with the power, the index is built anew
        save_sums(self.manifest, sums, is_synced=False)

    def list_damaged(self, *, pace: Pace = keep_going) -> list[str]:
        """Return the files that are missing, or do not have their checksums."""
        try:
            sums = find_sums(self.manifest)
        except DamagedChecksumsError:
            return [self.manifest.name]
        if sums is not None:
            return find_changed(self.folder, sums, pace=pace)
        return [name for name in self._list_committed() if not _is_sound(self.folder / name)]

    def _list_committed(self) -> list[str]:
        """Return the names of the files that the last commit is made of: a killed writer leaves
        others.
        """
        try:
            segments = orjson.loads((self.folder / META_FILE).read_bytes())["segments"]
            numbers = tuple(str(segment["segment_id"]).replace("-", "") for segment in segments)
        except (OSError, ValueError, KeyError, TypeError):
            return [META_FILE]
        return [
            name for name in self.list_names() if name.endswith(".json") or name.startswith(numbers)
        ]


def _is_sound(path: Path) -> bool:
    """Tell whether a file has the checksum in its last bytes, or is JSON."""
    try:
        content = path.read_bytes()
        if path.suffix == ".json":
            orjson.loads(content)
            return True
        size_bytes, magic = FOOTER_ENDS.unpack(content[-FOOTER_ENDS.size :])
        body = content[: -FOOTER_ENDS.size - size_bytes]
        told = orjson.loads(content[len(body) : -FOOTER_ENDS.size])["crc"]
    except (OSError, struct.error, ValueError, KeyError, TypeError):
        return False
    return bool(magic == FOOTER_MAGIC and told == zlib.crc32(body))
