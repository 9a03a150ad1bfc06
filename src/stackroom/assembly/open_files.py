"""The limit of open files: raised as far as the system allows, and told before it is reached.

Each open catalogue has a few files open in each thread that reads it, and each connection is one.
"""

import os
from pathlib import Path

from stackroom.errors import StorageError

try:
    import resource
except ImportError:  # there are no such limits on Windows
    resource = None  # type: ignore[assignment]

MOST_FILES = 65_536
OPEN_FILES = Path("/proc/self/fd")
SHARE_OF_CATALOGUES = 0.25
"""The share of the files that catalogues may take when they are opened; other threads open them again, with more."""
NEARLY_ALL = 0.9
HOW = "raise it: ulimit -n, or LimitNOFILE in the systemd unit"


def allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def require_files(name: str) -> None:
    """Refuse to open a catalogue where too few files would be left for everything else."""
    limit = _find_limit()
    if limit is not None and _count_open() > limit * SHARE_OF_CATALOGUES:
        raise StorageError(
            f"catalogue '{name}' is not opened: this process may have {limit} files open, too few for so many "
            f"catalogues; {HOW}"
        )


def check_files() -> str | None:
    """Return that nearly all files that the process may open are open; None where there is room."""
    limit, count = _find_limit(), _count_open()
    if limit is None or count < limit * NEARLY_ALL:
        return None
    return f"{count} of {limit} open files are in use; {HOW}"


def _find_limit() -> int | None:
    """Return how many files the process may have open; None where that is not limited, or not known."""
    if resource is None:
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _count_open() -> int:
    """Return how many files are open; as many as there may be where that cannot be read for want of one."""
    try:
        return len(os.listdir(OPEN_FILES))
    except FileNotFoundError:
        return 0  # another system, which has no such list
    except OSError:
        return _find_limit() or 0
