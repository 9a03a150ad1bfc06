"""What a source reads, as a text that a test compares: a line for each row, and its notes."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackroom.sources.location import ReadOptions
from stackroom.sources.opener import open_file
from stackroom.sources.port import RowSource, describe_notes
from stackroom.zstd import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstd.compress,
}
"""Ending → how a file with it is packed."""
PACKED = (".gz", ".zst")


def written(folder: Path, name: str, content: bytes | str) -> Path:
    """Write a file, and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def opened_as(folder: Path, name: str, content: bytes | str, **options: Any) -> RowSource:
    """Write a file, and open it as a source."""
    return open_file(written(folder, name, content), ReadOptions(**options))


def told(source: RowSource) -> str:
    """Return the rows of a source with their places, values and problems, and what it notes."""
    lines = []
    for row in source.iter_rows():
        cells = ", ".join(f"{name}={value!r}" for name, value in row.values.items())
        lines.append(f"{row.place}: {f'PROBLEM {row.problem}' if row.problem else cells}")
    return "\n".join([*lines, *(f"NOTE {note}" for note in describe_notes(source.notes))])
