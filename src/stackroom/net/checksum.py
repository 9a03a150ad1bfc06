"""Checksums of files."""

import hashlib
from pathlib import Path

BLOCK_BYTES = 1 << 20


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
