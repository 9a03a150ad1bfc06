"""Building the first indexes of a shelf in a process of its own, while its records are still being
written.

Reading and mapping rows takes one core, indexing them another. The process gets the records after
each transaction; told that these are all, it writes the indexes and ends. Where it fails, the shelf
builds them itself.
"""

import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from stackroom.background.processes import ChildProcess, python_module
from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.errors import UnavailableError
from stackroom.model.record import Key, RecordId
from stackroom.shelf.port import Change, Put
from stackroom.shelf.terms import text_columns

WORKER_MODULE = "stackroom.shelf.embedded.index_worker"
WORTHWHILE_RECORDS = 1_024
"""The number of records from which a process is worth its start."""
DONE = b"done\n"
FINISH_S = 600.0
FINISH_EACH_S = 0.01
"""The time that the process may take after the last record: a minimum, and the time for each
record.
"""

# Key, id, kind, fields, audiences of a record without a vector, whether that is to come, and its
# columns of texts
SentRow = tuple[Key, RecordId, str, dict[str, Any], tuple[str, ...], bool, list[bytes]]

_waiting: list[ChildProcess] = []  # the process that was started before there is anything to index


def is_worthwhile(records: int) -> bool:
    """Tell whether a separate process would index the following records sooner."""
    return records >= WORTHWHILE_RECORDS and (os.cpu_count() or 1) > 1


def prepare_indexing() -> None:
    """Start the process for a shelf that will have many records, so that it is ready when the first
    are written.
    """
    if is_worthwhile(WORTHWHILE_RECORDS) and not _waiting:
        with suppress(OSError):
            _waiting.append(_start())


def start_indexing(folder: Path, spec: CatalogueSpec) -> "IndexProcess | None":
    """Start a process that indexes the records in a folder, or None if none can be started."""
    try:
        return IndexProcess(_waiting.pop() if _waiting else _start(), folder, spec)
    except OSError:
        return None


def _start() -> ChildProcess:
    return ChildProcess(
        "the process that indexes new records",
        python_module(WORKER_MODULE),
        reads=True,
        writes=True,
    )


class IndexProcess:
    """The process that builds the indexes; its starter holds the write lock until it has ended."""

    def __init__(self, process: ChildProcess, folder: Path, spec: CatalogueSpec) -> None:
        self._process = process
        # values of JSON may be read from the store as others than were written
        self._is_sent = not any(field.type is FieldType.JSON for field in spec.fields.values())
        # made here, since the process has more to do
        self._texts = tuple(text_columns(spec).values())
        self._send((folder, spec))

    def note_written(self, changes: Sequence[Change], last: int, *, has_vectors: bool) -> None:
        """Send the new records of a transaction, whose last change is `last`; if other changes are
        among them, send none, and the process reads the store.
        """
        puts = [change for change in changes if isinstance(change, Put)]
        is_sent = self._is_sent and not has_vectors and len(puts) == len(changes)
        # a key is the number of the change, if each is new
        numbered = enumerate(puts, start=last + 1 - len(puts))
        self._send([self._sent(Key(key), put) for key, put in numbered] if is_sent else [])

    def _sent(self, key: Key, put: Put) -> SentRow:
        one, texts = put.record, [read(put.record) for read in self._texts]
        is_awaited = put.embedding is not None
        return key, one.id, one.kind, dict(one.fields), one.audiences, is_awaited, texts

    def finish(self, records: int) -> bool:
        """Tell the process that all records are stored, wait for it, and return whether it built
        the indexes.
        """
        self._send(None)
        try:
            answer, _ = self._process.finish(longest_s=max(FINISH_S, FINISH_EACH_S * records))
        except (UnavailableError, ValueError, OSError):
            return False
        return answer == DONE and self._process.exit_code == 0

    def close(self) -> None:
        """End the process at once."""
        self._process.kill()

    def _send(self, message: object) -> None:
        with suppress(OSError, ValueError):  # it has ended, which `finish` notices
            pickle.dump(message, self._process.input, protocol=pickle.HIGHEST_PROTOCOL)
            self._process.input.flush()
