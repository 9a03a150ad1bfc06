"""Disks of a few megabytes that tests fill to the last block."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[bool]:
    """Mount a file system of its own on a folder; the value tells whether that could be done, which
    needs root.
    """
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "stackroom-tests", str(folder)]
    is_root = os.name == "posix" and os.geteuid() == 0
    is_mounted = is_root and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Fill a disk to the last block, and free it again."""
    filler = disk / "filler"
    try:
        for size in (1 << 16, 512):
            with suppress(OSError), filler.open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(size))
        yield
    finally:
        filler.unlink(missing_ok=True)
