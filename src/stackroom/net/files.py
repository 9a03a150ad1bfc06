"""Files that are written to last: checksums, flushing to disk, permissions, and locks on their folders."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from stackroom.errors import BusyError, StorageError

BLOCK_BYTES = 1 << 20


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def install_file(part: Path, destination: Path) -> None:
    """Move a complete file to its destination in the same folder. Commit point: the rename."""
    sync_file(part)
    part.replace(destination)
    sync_folder(destination.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a file durably, in place of an earlier one, so that a reader finds one or the other."""
    fresh = path.with_name(f"{path.name}.new")
    try:
        fresh.write_bytes(content)
        install_file(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def holding_lock(file: Path, *, wait_s: float, busy: str, failed: str) -> Iterator[None]:
    """Hold a lock file in a folder that is made for it; `busy` and `failed` tell that another has it or the disk fails.

    Failures of the disk within the block are told in the same way.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(file, timeout=wait_s):
            yield
    except filelock.Timeout as error:
        raise BusyError(busy) from error
    except (OSError, NotImplementedError) as error:  # no file can be locked on some file systems
        raise StorageError(f"{failed}: {getattr(error, 'strerror', None) or error}") from error


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
