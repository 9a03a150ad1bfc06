"""The folder of a catalogue with its store, and what keeps those who read and write it apart.

FOLDER/records.sqlite     the truth, or a copy that follows it
FOLDER/store.toml         names the database with the truth, where it is in one
FOLDER/lock               held while anything is written
FOLDER/update.lock        there while an update is judged: readers stay with the state before it
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.lock import EMBEDDING_LOCK_FILE, CatalogueLock, EmbeddingElsewhereError
from stackroom.shelf.port import EVERY_KEY, KeyRange

WITHHELD_FILE = "update.lock"
WRITER_LOCK_TIMEOUT_S = 10.0
READER_LOCK_TIMEOUT_S = 0.05
"""A reader updates stale indexes itself, unless another process writes: then it answers from what
they have reached.
"""
# how long a reader without any snapshot waits for a writer before it is refused as busy
READER_WAIT_S = 0.25


class CatalogueFolder:
    """A catalogue's store, its locks, and whether an update is withheld from readers."""

    def __init__(
        self, path: Path, spec: CatalogueSpec, open_store: Callable[[Path, CatalogueSpec], Store]
    ) -> None:
        self.path = path
        self.spec = spec
        self._open_store = open_store
        self.store = open_store(path, spec)
        self.lock = CatalogueLock(path, path.name)
        self.guard = threading.RLock()
        """Held by a thread that replaces the index or the snapshot; taken after the lock."""
        self._embedding = CatalogueLock(path, path.name, file=EMBEDDING_LOCK_FILE)
        self._embeds_alone = False
        self._is_withholding = False
        self.exclusive_blocks = 0
        """How many blocks hold the write lock over several steps, one in another."""
        self._first_mark = ""
        """The digest of the last release's spec when the first snapshot was made."""

    def open_again(self) -> "CatalogueFolder":
        """Return the same folder with connections and locks of its own."""
        return CatalogueFolder(self.path, self.spec, self._open_store)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock."""
        with self.lock.held(WRITER_LOCK_TIMEOUT_S):
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the write lock over several steps, on all servers."""
        database = self.store.database
        with self.writing(), database.exclusive() if database else nullcontext():
            self.exclusive_blocks += 1
            try:
                yield
            finally:
                self.exclusive_blocks -= 1

    @contextmanager
    def withheld(self) -> Iterator[None]:
        """Keep other readers at the state before until the block ends. The lock is held."""
        mark = self.path / WITHHELD_FILE
        mark.touch()
        self._is_withholding = True
        try:
            with self.store.database.withheld() if self.store.database else nullcontext():
                yield
        finally:
            self._is_withholding = False
            mark.unlink(missing_ok=True)

    def is_withheld(self) -> bool:
        """Tell whether another writer withholds its update from readers; remove a mark that a
        killed writer left.
        """
        mark = self.path / WITHHELD_FILE
        if self._is_withholding or not mark.exists():
            return False
        try:
            with self.lock.held(READER_LOCK_TIMEOUT_S):
                mark.unlink(missing_ok=True)
        except BusyError:
            return True
        return False

    def has_other_spec(self, *, is_first: bool) -> bool:
        """Tell whether a release with another spec was installed since the first snapshot: the
        former one is right until that spec is opened.
        """
        mark = self.store.spec_mark()
        if is_first:
            self._first_mark = mark
        return mark not in (self._first_mark, self.spec.digest)

    @contextmanager
    def sole_embedder(self, *, wait_s: float) -> Iterator[None]:
        """Hold the right to add vectors, which keeps no reader or writer waiting."""
        held = self._embedding.held(wait_s, error_type=EmbeddingElsewhereError)
        database = self.store.database
        with held, database.sole_embedder(wait_s=wait_s) if database else nullcontext():
            former, self._embeds_alone = self._embeds_alone, True
            try:
                yield
            finally:
                self._embeds_alone = former

    @contextmanager
    def embedding_parts(self, *, wait_s: float) -> Iterator[Iterable[KeyRange]]:
        """Hold the right to embed the texts of some keys, one part after the other; other machines
        may embed the rest.
        """
        with self._embedding.held(wait_s, error_type=EmbeddingElsewhereError):
            # Whoever embeds alone keeps others away by a lock of the database, which parts would
            # wait for.
            alone = nullcontext((EVERY_KEY,)) if self._embeds_alone else None
            with alone or self.store.embedding_parts(wait_s=wait_s) as parts:
                yield parts
