"""A partial download: `NAME.part` with the bytes so far, and `NAME.part.json` with the file's URL and validators.

Both are beside the destination, so that the last step is a rename within one file system. A process killed at any step
leaves nothing, a resumable part, or the complete file.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class PartNotes:
    """The server's description of the file that is being downloaded."""

    url: str
    etag: str | None
    last_modified: str | None
    size: int | None

    @property
    def validator(self) -> str | None:
        """The validator for If-Range: a strong ETag or the modification date; None without one."""
        is_strong = self.etag is not None and not self.etag.startswith("W/")
        return self.etag if is_strong else self.last_modified


class PartFile:
    """The partial file of one download. The caller must ensure that one process at a time uses it."""

    def __init__(self, destination: Path) -> None:
        self.destination = destination
        self.path = destination.with_name(f"{destination.name}.part")
        self._notes_path = destination.with_name(f"{destination.name}.part.json")

    @property
    def size(self) -> int:
        """The number of bytes so far."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def find_notes(self) -> PartNotes | None:
        """Return the notes on the file; None where there is nothing to resume."""
        if self.size == 0:
            return None
        try:
            notes = PartNotes(**json.loads(self._notes_path.read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None
        return notes if notes.size is None or self.size <= notes.size else None

    def restart(self, notes: PartNotes) -> None:
        """Start over with an empty part and these notes."""
        # Emptied before the notes change: old bytes must never be combined with the notes of another file.
        with self.path.open("wb"):
            pass
        temporary = self._notes_path.with_name(f"{self._notes_path.name}.new")
        temporary.write_text(json.dumps(asdict(notes)), encoding="utf-8")
        temporary.replace(self._notes_path)

    def open_to_append(self) -> BinaryIO:
        """Open the part for appending."""
        return self.path.open("ab")

    def discard(self) -> None:
        """Delete the part and its notes."""
        for path in (self.path, self._notes_path):
            with suppress(FileNotFoundError):
                path.unlink()

    def install(self) -> None:
        """Move the complete, verified part to its destination. Commit point: the rename."""
        sync_file(self.path)
        self.path.replace(self.destination)
        sync_folder(self.destination.parent)
        self.discard()


def sync_file(path: Path) -> None:
    """Flush a file's content to disk."""
    with path.open("r+b" if os.name == "nt" else "rb") as file:  # Windows syncs only files that are open for writing
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    if os.name == "nt":
        return  # Windows cannot open folders, and keeps renames without it
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def open_like(place: Path, folder: Path) -> None:
    """Open a new file or folder, with what is in it, to those who may read the folder that it is put into.

    What is written by a command of a library is its owner's only; what goes into a shared folder is for more.
    """
    allowed = folder.stat().st_mode & 0o777
    for path in (place, *(place.rglob("*") if place.is_dir() else ())):
        if not path.is_symlink():
            path.chmod((0o700 | allowed) if path.is_dir() else (0o600 | (allowed & 0o666)))
