"""Arrays too large for memory while an index is built: collected in a file without a name, mapped,
used in blocks.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

IN_MEMORY_BYTES = 16 << 20
BLOCK_BYTES = 64 << 20

Array = NDArray[Any]


class Spool:
    """Bytes added one after another: kept in memory where they are few or there is no folder, else
    in a file there.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._waiting = bytearray()
        self.size_bytes = 0

    def add(self, content: bytes) -> None:
        """Add bytes at the end."""
        self._waiting += content
        self.size_bytes += len(content)
        if self._folder is not None and len(self._waiting) >= IN_MEMORY_BYTES:
            self._file = self._file or TemporaryFile(dir=self._folder)  # noqa: SIM115 - until `build`
            self._file.write(self._waiting)
            self._waiting = bytearray()

    def build(self, dtype: DTypeLike) -> Array:
        """Return all bytes as a flat array that can be written to; nothing is added after that."""
        if self._file is None:
            return np.frombuffer(self._waiting, dtype=dtype)
        with self._file as file:
            file.write(self._waiting)
            file.flush()
            return np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=dtype)


def iter_blocks(values: Array) -> Iterator[slice]:
    """Yield the slices of an array's blocks; the pages of a mapped array leave the memory after
    each block.
    """
    owner: Any = values
    while isinstance(owner, np.ndarray):
        owner = owner.base
    mapped = getattr(owner, "obj", None)
    rows = max(1, BLOCK_BYTES // max(1, values[:1].nbytes))
    for start in range(0, len(values), rows):
        yield slice(start, start + rows)
        if isinstance(mapped, mmap.mmap) and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)
