"""A file that is on its way: `NAME.part` with what came so far, and `NAME.part.json` with what it is a part of.

The two lie beside the file that they become, so that the last step is a rename on one filesystem. Killed at any step,
what is left is nothing, a part that can be gone on with, or the whole file.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class PartNotes:
    """What a server said about the file that a part is of."""

    url: str
    etag: str | None
    last_modified: str | None
    size: int | None

    @property
    def validator(self) -> str | None:
        """What the rest of the file is asked for with; None where the server gave nothing that can be relied on."""
        is_strong = self.etag is not None and not self.etag.startswith("W/")
        return self.etag if is_strong else self.last_modified


class PartFile:
    """The part of one file. Only one process at a time may use it; the caller sees to that."""

    def __init__(self, destination: Path) -> None:
        self.destination = destination
        self.path = destination.with_name(f"{destination.name}.part")
        self._notes_path = destination.with_name(f"{destination.name}.part.json")

    @property
    def size(self) -> int:
        """How many bytes there are."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def find_notes(self) -> PartNotes | None:
        """Return what is known of the file, None where there is nothing to go on with."""
        if self.size == 0:
            return None
        try:
            notes = PartNotes(**json.loads(self._notes_path.read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None
        return notes if notes.size is None or self.size <= notes.size else None

    def restart(self, notes: PartNotes) -> None:
        """Begin anew."""
        # Emptied before the notes change: old bytes must never stand beside the notes of another file.
        with self.path.open("wb"):
            pass
        temporary = self._notes_path.with_name(f"{self._notes_path.name}.new")
        temporary.write_text(json.dumps(asdict(notes)), encoding="utf-8")
        temporary.replace(self._notes_path)

    def open_to_append(self) -> BinaryIO:
        """Open the part to write on at its end."""
        return self.path.open("ab")

    def discard(self) -> None:
        """Take away everything that came so far."""
        for path in (self.path, self._notes_path):
            with suppress(FileNotFoundError):
                path.unlink()

    def install(self) -> None:
        """Make the part, which is whole and checked, the file itself. Commit point: the rename."""
        sync_file(self.path)
        self.path.replace(self.destination)
        sync_folder(self.destination.parent)
        self.discard()


def sync_file(path: Path) -> None:
    """Make what is in a file durable."""
    with path.open("r+b" if os.name == "nt" else "rb") as file:  # what is not open for writing is not synced there
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "nt":
        return  # folders cannot be opened there, and renames are kept without it
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
