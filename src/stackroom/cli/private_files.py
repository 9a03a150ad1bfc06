"""The library's files, kept from other users of the machine.

A library is private: folders 0700, files 0600. Where the owner has opened its folder to a group and
to nobody else (0750 or 0770), what is written in it is for that group too. A stricter umask of the
process stays.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GROUP, OTHERS = 0o070, 0o007


def keep_private(home: Path) -> None:
    """Let this process write private files from now on: its umask, for all of its threads."""
    before = os.umask(GROUP | OTHERS)
    os.umask(before | umask_for(home))


def umask_for(home: Path) -> int:
    """Return the umask for files of a library: nothing for others, and for the group what its
    folder allows.
    """
    try:
        mode = home.stat().st_mode
    except OSError:
        return GROUP | OTHERS
    # A folder that is open to others was made by a usual umask, and not opened to a group on
    # purpose.
    return GROUP | OTHERS if mode & OTHERS else OTHERS | (GROUP & ~mode)


@contextmanager
def sharing(folder: Path) -> Iterator[None]:
    """Give what is written into a folder meanwhile the modes of the umask that the user has: it is
    not the library's.

    The umask itself stays private until then, since files of the library may be written beside.
    """
    os.umask(umask := os.umask(GROUP | OTHERS))
    before = _inodes_in(folder)
    yield
    for path, inode in _inodes_in(folder).items():
        if before.get(path) != inode:
            path.chmod((0o777 if path.is_dir() else 0o666) & ~umask)


def _inodes_in(folder: Path) -> dict[Path, int]:
    """Return the files and folders at and below a path."""
    paths = [folder, *folder.rglob("*")] if folder.is_dir() else []
    return {path: path.lstat().st_ino for path in paths if not path.is_symlink()}
