"""Checksums, installation and permissions of received files."""

import hashlib
from pathlib import Path

from stackroom.checksums import sync_file, sync_folder


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
