"""What the machine allows a library: room on its disk, whether it can be written to, and how many
files are open.
"""

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from stackroom.errors import StorageError

LEAST_FREE_BYTES = 100 * 2**20  # with less room, the disk is reported before writes fail
PROBE_BYTES = 64 * 2**10
CANNOT_BE_WRITTEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""Errors of a library that is only read, which is no fault."""
MOST_FILES = 65_536
OPEN_FILES = Path("/proc/self/fd")
SHARE_OF_CATALOGUES = 0.25
"""The share of the files that catalogues may take when they are opened; other threads open them
again, with more.
"""
NEARLY_ALL = 0.9
HOW = "raise it: ulimit -n, or LimitNOFILE in the systemd unit"


def check_disk(folder: Path, *, least_free_bytes: int = LEAST_FREE_BYTES) -> str | None:
    """Return what is wrong with the disk of a folder; write a small file to it and remove it
    again.
    """
    if not folder.is_dir():
        return "the library's folder is missing; put it back, or mount its disk"
    probe = folder / f".probe-{os.getpid()}"
    try:
        with probe.open("wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in CANNOT_BE_WRITTEN:
            return (
                f"writing fails: {error.strerror or type(error).__name__}; make room, or mend the"
                " disk"
            )
        return None
    finally:
        with suppress(OSError):
            probe.unlink()
    if (free := shutil.disk_usage(folder).free) < least_free_bytes:
        return f"only {free / 2**20:.0f} MiB are free; make room before writes fail"
    return None


try:
    import resource
except ImportError:  # there are no such limits on Windows
    resource = None  # type: ignore[assignment]


def allow_many_files() -> int:
    """Raise the soft limit of open files to the hard one, as far as is useful; return how many may
    be open.
    """
    if resource is None:
        return MOST_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def require_files(name: str) -> None:
    """Refuse to open a catalogue where too few files would be left for everything else."""
    if (limit := _find_limit()) is not None and _count_open() > limit * SHARE_OF_CATALOGUES:
        raise StorageError(
            f"catalogue '{name}' is not opened: this process may have {limit} files open, too few"
            f" for so many catalogues; {HOW}"
        )


def check_files() -> str | None:
    """Return that nearly all files that the process may open are open; None where there is room."""
    limit, count = _find_limit(), _count_open()
    if limit is None or count < limit * NEARLY_ALL:
        return None
    return f"{count} of {limit} open files are in use; {HOW}"


def _find_limit() -> int | None:
    """Return how many files the process may have open; None where that is not limited, or not
    known.
    """
    if resource is None:
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _count_open() -> int:
    """Return how many files are open; as many as there may be where that cannot be read for want of
    one.
    """
    try:
        return len(os.listdir(OPEN_FILES))
    except FileNotFoundError:
        return 0  # another system, which has no such list
    except OSError:
        return _find_limit() or 0
