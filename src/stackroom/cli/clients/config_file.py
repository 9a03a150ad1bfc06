"""A configuration file on disk: read, and replaced as a whole with a back-up; a link stays a link."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from stackroom.errors import ConflictError, InputError

PRIVATE = 0o600
ATTEMPTS = 5
"""How often an edit is made anew where a running client has written the file in the meantime."""


def backup_of(path: Path) -> Path:
    """Return the place of a file's back-up."""
    return path.with_name(f"{path.name}.bak")


def read_text(path: Path) -> str | None:
    """Return a configuration, with its line endings; None where there is none."""
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); nothing was written") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def update_file(
    path: Path, edit: Callable[[str | None], str | None], *, is_private: bool, keep_former: bool = True
) -> bool:
    """Replace a file by its edited text, or remove it where the edit returns None; return whether it changed.

    The former text of a file that stays is kept as `.bak`. A private file, and its back-up, can be read by its owner
    only.
    """
    for _attempt in range(ATTEMPTS):
        before = read_text(path)
        after = edit(before)
        if after == before:
            return False
        try:
            if keep_former and before is not None and after is not None:
                _keep_former(path, before, is_private=is_private)
            if _replace(path, before, after, is_private=is_private):
                return True
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    raise ConflictError(f"{path} is being written by another program; close the client and try again")


def _replace(path: Path, before: str | None, after: str | None, *, is_private: bool) -> bool:
    """Replace the file, unless it has changed since it was read."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = None if after is None else _write_beside(target, after, is_private=is_private)
    try:
        if read_text(path) != before:
            return False
        if fresh is None:
            target.unlink()
        else:
            os.replace(fresh, target)  # the commit point
        return True
    finally:
        if fresh is not None:
            fresh.unlink(missing_ok=True)


def _keep_former(path: Path, text: str, *, is_private: bool) -> None:
    backup = backup_of(path)
    with suppress(FileNotFoundError):
        backup.unlink()
    descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with os.fdopen(descriptor, "wb") as copy:
        copy.write(text.encode("utf-8"))
    if not is_private:
        shutil.copymode(path, backup)


def _write_beside(target: Path, text: str, *, is_private: bool) -> Path:
    """Write a text to a new file in the folder of the target, with the mode that the target will have."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if not is_private:
            fresh.chmod(_mode_of(target))
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return fresh


def _mode_of(target: Path) -> int:
    """Return the mode of a file; for a new one that of the user's umask."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    os.umask(umask := os.umask(0o077))
    return 0o666 & ~umask
