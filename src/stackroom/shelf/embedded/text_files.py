"""The files of a text index: their checksums, and opening them where nothing can be written.

Tantivy never changes a file of a segment; each commit adds files and replaces `meta.json`. The manifest is beside the
folder, is removed before a commit and written after it. Tantivy ends each file of a segment with a CRC-32 of its own,
by which files are checked that a killed writer left without a checksum.
"""

import os
import struct
import zlib
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
from stackroom.shelf.frozen_file import scratch_folder

META_FILE = "meta.json"
"""Tantivy's file that names the committed segments."""
LOCK_ENDING = ".lock"
FOOTER_MAGIC = 1337
FOOTER_ENDS = struct.Struct("<II")


class TextFiles:
    """The folder of a text index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = folder.with_name(f"{folder.name}.checksums.json")
        self._known: dict[str, FileSum] = {}

    def usable_folder(self) -> Path:
        """Return the folder to open: of one that cannot be written to, links to its files, since locks are written."""
        if not os.access(self.folder.parent, os.W_OK) and self.folder.is_dir():
            links = scratch_folder(self)
            for name in self.list_names():
                (links / name).symlink_to(self.folder / name)
            return links
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder

    def list_names(self) -> list[str]:
        """Return the names of the files, without locks."""
        return sorted(path.name for path in self.folder.iterdir() if not path.name.endswith(LOCK_ENDING))

    def forget_sums(self) -> None:
        """Remove the manifest, before a commit; what it has of files that stay is kept in mind."""
        try:
            self._known = find_sums(self.manifest) or {}
        except DamagedChecksumsError:
            self._known = {}
        self._known.pop(META_FILE, None)
        self._known = {name: known for name, known in self._known.items() if not name.startswith(".")}
        self.manifest.unlink(missing_ok=True)

    def save_sums(self) -> None:
        """Write the manifest, after a commit."""
        sums = measure_files(self.folder, self._list_committed(), known=self._known)
        save_sums(self.manifest, sums, is_synced=False)  # lost with the power, the index is built anew

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
        """Return the names of the files that the last commit is made of: a killed writer leaves others."""
        try:
            segments = orjson.loads((self.folder / META_FILE).read_bytes())["segments"]
            numbers = tuple(str(one["segment_id"]).replace("-", "") for one in segments)
        except (OSError, ValueError, KeyError, TypeError):
            return [META_FILE]
        return [name for name in self.list_names() if name.endswith(".json") or name.startswith(numbers)]


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
