"""A file of a table that is received in pieces, in a folder of its own, private as the library."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from stackroom.errors import ConflictError, InputError, StorageError, TooLargeError
from stackroom.sources.compressed import COMPRESSED
from stackroom.sources.opener import ENDINGS, is_table_file

SUFFIXES = [*ENDINGS, *(f"{ending}{packed}" for ending in ENDINGS for packed in COMPRESSED)]
# how many times the size of a file has to be free: for the file, the catalogue and its indexes
ROOM = 3
LEAST_FREE_BYTES = 200 * 2**20  # the bytes that stay free beside that
UNSAFE = re.compile(r"[^\w.-]+")
LONGEST_NAME_BYTES = 200


def require_table(file: str) -> str:
    """Return the safe form of a file's name; refuse one whose suffix is of no table."""
    bare = PureWindowsPath(PurePosixPath(file).name).name
    safe = UNSAFE.sub("_", bare).encode()[-LONGEST_NAME_BYTES:].decode(errors="ignore").strip("._-")
    if not is_table_file(Path(safe)):
        raise InputError(
            f"'file': '{bare[:80]}' is no table, by its suffix; right are {', '.join(ENDINGS)},"
            f" each also compressed ({', '.join(COMPRESSED)})"
        )
    return safe


def make_file(folder: Path, name: str, size_bytes: int) -> Path:
    """Make an empty file in a new folder; refuse where the disk has too little room."""
    try:
        folder.mkdir(parents=True, mode=0o700)
        (folder / name).touch(mode=0o600)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise StorageError(
            f"the library cannot be written: {error.strerror}; check its permissions"
        ) from error
    if free < ROOM * size_bytes + LEAST_FREE_BYTES:
        shutil.rmtree(folder, ignore_errors=True)
        raise StorageError(
            "'size_bytes': there is too little room on the server's disk for"
            f" {size_bytes / 2**20:,.1f} MiB: {free / 2**20:,.0f} MiB are free, and {ROOM}"
            f" times the file and {LEAST_FREE_BYTES >> 20} MiB are needed"
        )
    return folder / name


@dataclass(slots=True, kw_only=True)
class ReceivedFile:
    """A file, and how much of it has arrived."""

    path: Path
    size_bytes: int
    received: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all of it has arrived."""
        return self.received == self.size_bytes

    def write(self, piece: bytes, *, offset: int) -> None:
        """Append a piece; refuse one that does not follow the last, or ends after the file."""
        if self.is_whole:
            raise ConflictError(
                "the whole file was received already; begin another table to send another"
            )
        if offset != self.received:
            raise ConflictError(
                f"'offset': {offset} is not where the next piece begins, which is {self.received}"
            )
        if self.received + len(piece) > self.size_bytes:
            raise TooLargeError(
                f"the file has {self.size_bytes} bytes, as was said, and this piece ends after it;"
                " send less"
            )
        try:
            with self.path.open("ab") as file:
                file.truncate(offset)
                file.write(piece)
        except OSError as error:
            raise StorageError(
                f"the file cannot be written: {error.strerror}; make room, and send the piece again"
            ) from error
        self.received += len(piece)
