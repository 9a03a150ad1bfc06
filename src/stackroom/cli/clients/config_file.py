"""A configuration file: an entry is added, replaced or removed, the result is read back, and the
file replaced.

Each format edits in its own way (`formats`). What holds for all is here: everything
else in the file has the same values after an edit, and a removal gives back the bytes that the
entry was added to, where they are known.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from stackroom.errors import ConflictError, InputError
from stackroom.frozen import frozen

PRIVATE = 0o600
BOM = "\ufeff"
NAME = "stackroom"


def backup_of(path: Path) -> Path:
    """Return the place of a file's back-up."""
    return path.with_name(f"{path.name}.bak")


def read_text(path: Path) -> str | None:
    """Return a configuration, with its line endings; None where there is none."""
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else None
    except UnicodeDecodeError as error:
        problem = (
            f"{path} is not UTF-8 text (byte {error.start}); nothing was written: save it as UTF-8"
        )
        raise InputError(problem) from error
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}; check its permissions"
        ) from error


def update_file(
    path: Path,
    edit: Callable[[str | None], str | None],
    *,
    is_private: bool,
    keep_former: bool = True,
) -> bool:
    """Replace a file by its edited text, or remove it where the edit returns None; return whether
    it changed.

    The former text of a file that stays is kept as `.bak`. A private file, and its back-up, can be
    read by its owner only.
    """
    before = read_text(path)
    after = edit(before)
    if after == before:
        return False
    try:
        if keep_former and before is not None and after is not None:
            backup = backup_of(path)
            backup.unlink(missing_ok=True)
            descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
            with os.fdopen(descriptor, "wb") as copy:
                copy.write(before.encode("utf-8"))
            if not is_private:
                shutil.copymode(path, backup)
        _replace(path, before, after, is_private=is_private)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror}; check its permissions"
        ) from error
    return True


def _replace(path: Path, before: str | None, after: str | None, *, is_private: bool) -> None:
    """Replace the file, unless it has changed since it was read."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write((after or "").encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if not is_private:  # the mode of the file; of a new one, that of the user's umask
            os.umask(umask := os.umask(0o077))
            fresh.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~umask)
        if read_text(path) != before:
            raise ConflictError(
                f"{path} is being written by another program; close the client and try again"
            )
        if after is None:
            target.unlink()
        else:
            os.replace(fresh, target)  # the commit point
    finally:
        fresh.unlink(missing_ok=True)


Entry = Mapping[str, Any]


class ConfigTextError(ValueError):
    """Text that is not of its format, or not laid out so that an entry can be added; the message
    says where.
    """


@frozen
class ConfigFormat:
    """Reads and edits the text of one format; each function raises ConfigTextError."""

    parse: Callable[[str], dict[str, Any]]  # the values of a file; {} for an empty one
    insert: Callable[[str, str, Entry], str]
    """The text with the entry in a section at the top of the file, in place of a former one."""
    remove: Callable[[str, str], str]  # the text without the entry, which it has


def find_entry(form: ConfigFormat, text: str, section: str) -> Any | None:
    """Return the entry that a configuration has, or None."""
    servers = form.parse(text).get(section)
    return servers.get(NAME) if isinstance(servers, dict) else None


def add_entry(form: ConfigFormat, text: str, section: str, entry: Entry) -> str:
    """Return the text with the entry; everything else in it has the same values."""
    after = form.insert(text, section, entry)
    _require_others_kept(form, text, after, section, entry)
    return after


def remove_entry(form: ConfigFormat, text: str, section: str, *, backup: str | None) -> str:
    """Return the text without the entry.

    It is the back-up, or nothing, where adding the entry to that gives the text: then the file is
    as it was before.
    """
    entry = find_entry(form, text, section)
    if entry is None:
        return text
    for origin in (backup or "", ""):
        # an entry that somebody edited may be no object
        with suppress(ConfigTextError, TypeError, AttributeError):
            if (
                find_entry(form, origin, section) is None
                and form.insert(origin, section, entry) == text
            ):
                return origin
    after = form.remove(text, section)
    _require_others_kept(form, text, after, section, None)
    return after


def _require_others_kept(
    form: ConfigFormat, text: str, after: str, section: str, entry: Entry | None
) -> None:
    if find_entry(form, after, section) != entry or _others(form, after, section) != _others(
        form, text, section
    ):
        raise ConfigTextError(f"'{section}' is laid out in a way that cannot be edited safely")


def _others(form: ConfigFormat, text: str, section: str) -> dict[str, Any]:
    """Return the values of a configuration without the entry, and without its section where that is
    empty.
    """
    values = dict(form.parse(text))
    servers = values.pop(section, None)
    rest = (
        {key: value for key, value in servers.items() if key != NAME}
        if isinstance(servers, dict)
        else servers
    )
    return {**values, section: rest} if rest else values


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"
