"""Building the first indexes of a shelf in a process of its own, while its records are still being written.

Reading and mapping rows takes one core, and indexing them another. The process is told after each transaction
that there are more records, and in the end that these are all; then it writes the indexes and ends. Where it fails, the
shelf builds them itself; where the process that writes is killed, it ends without having written any.
"""

import os
import pickle
from contextlib import suppress
from pathlib import Path

from stackroom.background.processes import ChildProcess, python_module
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import UnavailableError

WORKER_MODULE = "stackroom.shelf.embedded.index_worker"
WORTHWHILE_RECORDS = 1_024
"""With fewer records so far, there may not be enough to come for a process to be worth its start."""
MORE, ALL, DONE = b"more\n", b"all\n", b"done\n"
FINISH_S = 600.0


def is_worthwhile(records: int) -> bool:
    """Tell whether the records that follow so many are indexed sooner by a process of their own."""
    return records >= WORTHWHILE_RECORDS and (os.cpu_count() or 1) > 1


def start_indexing(folder: Path, spec: CatalogueSpec) -> "IndexProcess | None":
    """Start a process that indexes the records in a folder; None where none can be started."""
    try:
        return IndexProcess(folder, spec)
    except OSError:
        return None


class IndexProcess:
    """The process that builds the indexes; whoever starts it holds the write lock until it has ended."""

    def __init__(self, folder: Path, spec: CatalogueSpec) -> None:
        name = f"the process that indexes {folder}"
        self._process = ChildProcess(name, python_module(WORKER_MODULE), reads=True, writes=True)
        self._send(pickle.dumps((folder, spec)))

    def note_written(self) -> None:
        """Tell the process that more records are stored."""
        self._send(MORE)

    def note_all(self) -> None:
        """Tell the process that all records are stored."""
        self._send(ALL)

    def finish(self) -> bool:
        """Wait for the process, which knows that all records are stored; return whether it has built them."""
        try:
            answer, _ = self._process.finish(longest_s=FINISH_S)
        except (UnavailableError, ValueError, OSError):
            return False
        return answer == DONE and self._process.exit_code == 0

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()

    def _send(self, message: bytes) -> None:
        with suppress(OSError, ValueError):  # it has ended, which `finish` notices
            self._process.input.write(message)
            self._process.input.flush()
