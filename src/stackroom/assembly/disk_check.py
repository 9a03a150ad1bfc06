"""Checking the disk of a library: whether it can be written to, and how much room is left."""

import errno
import os
import shutil
from pathlib import Path

LEAST_FREE_BYTES = 100 * 2**20
"""With less room, the disk is reported before writes fail."""
PROBE_BYTES = 64 * 2**10
CANNOT_BE_WRITTEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""Errors of a library that is only read, which is no fault."""


def check_disk(folder: Path, *, least_free_bytes: int = LEAST_FREE_BYTES) -> str | None:
    """Return what is wrong with the disk of a folder; write a small file to it and remove it again."""
    if not folder.is_dir():
        return "the library's folder is missing; put it back, or mount its disk"
    try:
        _write_and_remove(folder / f".probe-{os.getpid()}")
    except OSError as error:
        if error.errno not in CANNOT_BE_WRITTEN:
            return f"writing fails: {error.strerror or type(error).__name__}; make room, or mend the disk"
        return None
    free = shutil.disk_usage(folder).free
    if free < least_free_bytes:
        return f"only {free / 2**20:.0f} MiB are free; make room before writes fail"
    return None


def _write_and_remove(path: Path) -> None:
    try:
        with path.open("wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        path.unlink(missing_ok=True)
