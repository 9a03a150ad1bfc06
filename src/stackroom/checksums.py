"""Checksums of files: measured when a file is written, compared when it is checked; and putting
whole files in their places.

A *manifest* is a JSON file with the size and the SHA-256 (its first half) of other files, and a
checksum of itself. A file that changes in place has its manifest removed before the change and
written after it (`Seal`), so that a kill in between leaves a file without a checksum, and never one
with a wrong one. JSON files of our own carry their checksum inside (`dump_checked`).
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import orjson

BLOCK_BYTES = 1 << 20
KEY = "checksum"
SEAL_ENDING = ".checksum"

# a function called after each block that was read; it may wait, or raise to end the reading
Pace = Callable[[], None]


def keep_going() -> None:
    """Let a reading go on at full speed."""


class FileSum(NamedTuple):
    """The size of a file, and the checksum of its content."""

    size_bytes: int
    sha256: str


Sums = Mapping[str, FileSum]  # checksums by the names of files, relative to one folder


class DamagedChecksumsError(ValueError):
    """A manifest, or the content of a file that carries its checksum, does not have the checksum
    that it names.
    """


def sum_of(content: bytes) -> str:
    """Return the checksum of some bytes."""
    return hashlib.sha256(content).hexdigest()[:32]


def sha256_of(path: Path) -> str:
    """Return the whole SHA-256 of a file, in hexadecimal, as others state it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def measure_file(path: Path, *, pace: Pace = keep_going) -> FileSum:
    """Return size and checksum of a file."""
    digest, size_bytes = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            size_bytes += len(block)
            pace()
    return FileSum(size_bytes, digest.hexdigest()[:32])


class SummedFile:
    """A new file whose content is measured while it is written; it is synced to disk when it is
    closed.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self._size_bytes = 0

    def __enter__(self) -> "SummedFile":
        return self

    def __exit__(self, *_error: object) -> None:
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())

    def write(self, content: bytes) -> int:
        """Write some bytes."""
        self._digest.update(content)
        self._size_bytes += len(content)
        return self._file.write(content)

    def sum(self) -> FileSum:
        """Return size and checksum of what was written."""
        return FileSum(self._size_bytes, self._digest.hexdigest()[:32])


def measure_files(
    folder: Path, names: Iterable[str], *, known: Sums | None = None
) -> dict[str, FileSum]:
    """Return the checksums of files in a folder; those that are known are not read."""
    known = known or {}
    return {name: known.get(name) or measure_file(folder / name) for name in sorted(names)}


def sync_file(path: Path) -> None:
    """Flush a file's content to disk."""
    # Windows syncs only files that are open for writing
    with path.open("r+b" if os.name == "nt" else "rb") as file:
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


def install_file(part: Path, destination: Path) -> None:
    """Move a complete file to its destination in the same folder. Commit point: the rename."""
    sync_file(part)
    part.replace(destination)
    sync_folder(destination.parent)


def open_like(place: Path, folder: Path) -> None:
    """Let those who may read a folder also read a new file or folder in it."""
    allowed = folder.stat().st_mode & 0o777
    for path in (place, *(place.rglob("*") if place.is_dir() else ())):
        if not path.is_symlink():
            path.chmod((0o700 | allowed) if path.is_dir() else (0o600 | (allowed & 0o666)))


def save_sums(path: Path, sums: Sums, *, is_checked: bool = False, is_synced: bool = True) -> None:
    """Write a manifest in place of an earlier one, synced to disk; `is_checked`: the files were
    found whole before.
    """
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(
        dump_checked(
            {"files": {name: list(one) for name, one in sums.items()}, "checked": is_checked}
        )
    )
    if is_synced:
        sync_file(fresh)
    os.replace(fresh, path)


def find_sums(path: Path) -> dict[str, FileSum] | None:
    """Return the checksums of a manifest, None where there is none; raise DamagedChecksumsError
    where it is damaged.
    """
    try:
        known = _load_manifest(path)["files"]
        return {
            str(name): FileSum(int(size), str(sha256)) for name, (size, sha256) in known.items()
        }
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedChecksumsError(f"{path.name} is damaged") from error


def _load_manifest(path: Path) -> dict[str, Any]:
    return load_checked(path.read_bytes(), ("files", "checked"), is_required=True)


def find_changed(folder: Path, sums: Sums, *, pace: Pace = keep_going) -> list[str]:
    """Return the names of the files that are missing, or have another content than their checksums
    say.
    """

    def is_whole(path: Path, known: FileSum) -> bool:
        with suppress(OSError):
            return (
                path.stat().st_size == known.size_bytes and measure_file(path, pace=pace) == known
            )
        return False

    return [name for name, known in sums.items() if not is_whole(folder / name, known)]


def find_damaged(manifest: Path) -> list[str]:
    """Return the files beside a manifest that are not as it says, or its own name; none where there
    is no manifest.
    """
    try:
        return find_changed(manifest.parent, find_sums(manifest) or {})
    except DamagedChecksumsError:
        return [manifest.name]


def dump_checked(value: Mapping[str, Any], *, option: int = 0) -> bytes:
    """Return an object as JSON that carries the checksum of its other members."""
    return orjson.dumps({**value, KEY: _sum_of_members(value)}, option=option)


def load_checked(
    content: bytes, known: Iterable[str] | None, *, is_required: bool = False
) -> dict[str, Any]:
    """Return the members of a JSON object without its checksum, which has to be right where there
    is one.

    `known` has the members that it may have, None where any may be: a damaged name is no member
    that can be ignored.
    """
    members = orjson.loads(content)
    if not isinstance(members, dict):
        raise DamagedChecksumsError("not a JSON object")
    has_sum = KEY in members
    told = members.pop(KEY, None)
    if (has_sum or is_required) and told != _sum_of_members(members):
        raise DamagedChecksumsError("its checksum is not that of its content")
    if known is not None and (unknown := members.keys() - set(known)):
        raise DamagedChecksumsError(f"'{min(unknown)}' is not one of its members")
    return members


def _sum_of_members(value: Mapping[str, Any]) -> str:
    return sum_of(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


class SealState(StrEnum):
    """The state of a file that is sealed while nothing writes to it."""

    UNSEALED = "unsealed"  # it was written to since, or never sealed
    WHOLE = "whole"
    CHECKED = "checked"  # whole, and its content was checked when it was sealed
    # it has another content than when it was sealed, although nothing of ours wrote to it
    CHANGED = "changed"


class Seal:
    """The checksum of one file that changes in place. Whoever writes the file breaks the seal
    first.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path.with_name(f"{path.name}{SEAL_ENDING}")

    def break_up(self) -> None:
        """Remove the checksum, before the file is written."""
        with suppress(FileNotFoundError):
            os.unlink(self.manifest)

    def save(self, measured: FileSum, *, is_checked: bool = False) -> None:
        """Keep the checksum of a file that nothing has written to since it was measured; not on a
        full disk.
        """
        with suppress(OSError):
            save_sums(self.manifest, {self.path.name: measured}, is_checked=is_checked)

    def state(self, *, pace: Pace = keep_going) -> SealState:
        """Compare the file with its checksum."""
        try:
            sums = find_sums(self.manifest)
            if sums is None:
                return SealState.UNSEALED
            if self.path.name in sums and not find_changed(self.path.parent, sums, pace=pace):
                return (
                    SealState.CHECKED
                    if _load_manifest(self.manifest)["checked"]
                    else SealState.WHOLE
                )
        except FileNotFoundError:
            return SealState.UNSEALED
        except DamagedChecksumsError:
            return SealState.CHANGED
        # a writer may have broken it
        return SealState.CHANGED if self.manifest.exists() else SealState.UNSEALED
