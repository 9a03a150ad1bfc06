"""The indexes of a shelf in one folder: the text index and the base segment, updated to the store,
checked, replaced.

    FOLDER/text/                   tantivy
    FOLDER/text.checksums.json     the checksums of its files
    FOLDER/base-N/                 a segment, with its checksums
    FOLDER/CURRENT                 names the base

Whoever updates or replaces them holds the lock of the catalogue.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.checksums import DamagedChecksumsError, Pace, find_changed, find_sums, keep_going
from stackroom.model.vectors import ModelId
from stackroom.shelf.embedded.index_files import BaseFolder, TextFiles
from stackroom.shelf.embedded.segment import (
    SUMS_FILE,
    DamagedIndexError,
    Segment,
    SegmentBuilder,
    SegmentRow,
    UnwritableIndexError,
    build_segment,
    open_segment,
    why_unwritable,
)
from stackroom.shelf.embedded.store import INDEXED_VECTORS, STORED_VECTORS, Store
from stackroom.shelf.embedded.text_index import SeenTexts, TextIndex
from stackroom.shelf.embedded.view import EmbeddedView, alive_rows

INDEX_FOLDER = "index"
INDEX_FORMAT = 6
TEXT_FOLDER = "text"
TAIL_ROWS = 1_000
# every fourth change writes the words of up to 64 records again
SMALL_SEGMENTS, WRITTEN_AGAIN = 4, 64
# so many records may have changed, or this share of the base, before a new base is built
TAIL_SHARE = 0.05
# a tail of more records is kept, until an eighth as many were changed since
SMALL_TAIL, TAIL_RATIO = 32, 8
BEHIND = "another process is writing"

logger = logging.getLogger(__name__)


class ShelfIndex:
    """The text index and the base segment of a store."""

    def __init__(self, folder: Path, spec: CatalogueSpec, store: Store) -> None:
        self.folder = folder
        self.spec = spec
        self.store = store
        self.bases = BaseFolder(folder)
        self.text: TextIndex | None = None
        self._base: Segment | None = None
        self._history = ""
        self.seen = SeenTexts(spec)
        self._kept_tails: list[Segment] = []
        # base, model and vectors that they are for
        self._tail_stamp: tuple[str, ModelId | None, int] | None = None

    @classmethod
    def in_folder(cls, folder: Path, spec: CatalogueSpec, store: Store) -> "ShelfIndex":
        """Return the index in the folder of a catalogue, that of this format and spec."""
        return cls(folder / INDEX_FOLDER / f"{INDEX_FORMAT}-{spec.digest[:12]}", spec, store)

    def forget(self) -> None:
        """Close the open index; it is opened again at the next read."""
        self.text = self._base = self._tail_stamp = None

    def open_text(self) -> TextIndex:
        """Return the text index, opened once for each history of the store."""
        if self._history != (history := self.store.history()):
            self.forget()
            self._history, self.seen = history, SeenTexts(self.spec)
        if self.text is None:
            self.text = TextIndex(self.folder / TEXT_FOLDER, self.spec)
        return self.text

    def find_view(self, *, may_be_behind: bool = False) -> EmbeddedView | None:
        """Return a snapshot of the state that the indexes have reached, or None if they lag behind
        the store.

        An edit is acknowledged after it is indexed, so a stale snapshot has every acknowledged
        edit, except those acknowledged with the note that the index could not be written.
        """
        text = self.open_text()
        text.reload()
        with self.store.snapshot():
            change_no, last = text.change_no(), self.store.change_no()
            base = self._find_base()
            if (
                base is None
                or not base.change_no <= change_no <= last
                or (change_no < last and not may_be_behind)
            ):
                return None
            model, vector_no = self.store.model(), self.store.counter(INDEXED_VECTORS)
            tails = self._tails(base, change_no, is_past=change_no < last)
            segments = base, *(tail for tail in tails if tail.columns.size)
            changed = [
                self.store.changed_since(segment.change_no, until=change_no) for segment in segments
            ]
        return EmbeddedView(
            spec=self.spec,
            store=self.store,
            text=text,
            searcher=text.searcher,
            seen=self.seen,
            segments=segments,
            alive=tuple(map(alive_rows, segments, changed)),
            model=model,
            change_no=change_no,
            vector_no=vector_no,
            history=self._history,
            stale=BEHIND if change_no < last else None,
        )

    def _tails(self, base: Segment, change_no: int, *, is_past: bool) -> list[Segment]:
        """Return the segments of the changes since the base, each small beside the one before it.

        All but the last are kept: with 20,000 changes, an edit builds a segment of its own record,
        not of all of them.
        """
        stamp = base.name, self.store.model(), self.store.counter(STORED_VECTORS)
        if self._tail_stamp != stamp:
            self._tail_stamp, self._kept_tails = stamp, []
        tails = [tail for tail in self._kept_tails if tail.change_no <= change_no]
        while changed := self.store.changed_since((base, *tails)[-1].change_no, until=change_no):
            if tails and len(changed) * TAIL_RATIO > tails[-1].columns.size:
                tails.pop()
                continue
            rows = (
                self.store.iter_rows_as_of(changed, change_no)
                if is_past
                else self.store.iter_rows(changed)
            )
            mean = next(
                (segment.mean for segment in (base, *tails) if segment.mean is not None), None
            )
            tails.append(
                build_segment(rows, self.spec, change_no=change_no, model=stamp[1], mean=mean)
            )
            if len(changed) > SMALL_TAIL and tails[-1].awaiting is None and not is_past:
                self._kept_tails = list(tails)  # an awaited vector may come with another record
        return tails

    def catch_up(self) -> None:
        """Update every index to the store; raise UnwritableIndexError if that fails. The lock is
        held.
        """
        try:
            if self._is_new():
                self.build_first(self.store.iter_rows(), change_no=self.store.change_no())
                return
            self._catch_up_text()
            if not self._has_short_tail():
                self._renew_base()
        except OSError as error:
            logger.warning("the index in %s cannot be written: %s", self.folder, error)
            raise UnwritableIndexError(
                f"the index cannot be written: {why_unwritable(error)}"
            ) from error

    def _is_new(self) -> bool:
        return (
            self.bases.name() is None
            and not self.open_text().change_no()
            and self.store.change_no() > 0
        )

    def _has_short_tail(self) -> bool:
        base = self._find_base()
        most = 0 if base is None else max(TAIL_ROWS, TAIL_SHARE * base.columns.size)
        return base is not None and len(self.store.changed_since(base.change_no)) <= most

    def _renew_base(self) -> None:
        """Build the base anew, since the tail has outgrown it, or it is missing."""
        model, change_no = self.store.model(), self.store.change_no()
        # before the rows: they may have more, and never less
        vector_no = self.store.counter(STORED_VECTORS)
        segment = build_segment(
            self.store.iter_rows(),
            self.spec,
            change_no=change_no,
            model=model,
            vector_no=vector_no,
            folder=self.folder,
        )
        self.bases.swap(segment)
        self.store.note_indexed(vector_no)

    def build_first(self, rows: Iterable[SegmentRow], *, change_no: int | None = None) -> None:
        """Build both indexes in one pass over all records, as of a change. The lock is held.

        Without a change number all records are new: the change of each has the number of its key. A
        copy may follow a database meanwhile.
        """
        text, vector_no = self.open_text(), self.store.counter(STORED_VECTORS)
        builder = SegmentBuilder(
            self.spec, self.store.model(), values=text.values, folder=self.folder
        )
        built = []

        def added() -> Iterator[SegmentRow]:
            for row in rows:
                builder.add(row)
                yield row
            reached = row.key if change_no is None else change_no
            # while tantivy is indexing the last rows
            built.append(builder.build(reached, vector_no))

        text.build(added(), change_no=lambda: built[0].change_no)
        self.bases.swap(*built)
        self.store.note_indexed(built[0].vector_no)

    def _catch_up_text(self) -> None:
        """Index the changes after the text index's marker. The lock is held."""
        text = self.open_text()
        text.reload()
        reached, wanted = text.change_no(), self.store.change_no()
        if reached < wanted:
            since = reached
            if (
                wanted - reached < SMALL_SEGMENTS
                and wanted // SMALL_SEGMENTS > reached // SMALL_SEGMENTS
            ):
                # Tantivy merges eight small segments, and one of 16,000 records is small to it. The
                # records of the last edits, written again, empty their segments; else every seventh
                # edit would write the whole catalogue.
                since = min(reached, (wanted - 1) // WRITTEN_AGAIN * WRITTEN_AGAIN)
            touched = self.store.changed_since(since)
            text.update(
                touched, self.store.iter_rows(touched if reached else None), change_no=wanted
            )

    def _find_base(self) -> Segment | None:
        """Return the current base, mapped once for each generation, or None if none was
        built yet.
        """
        name = self.bases.name()
        if name is None:
            return None
        if self._base is None or self._base.name != name:
            self._base = open_segment(self.folder / name)
        return self._base

    def require_sound(self, *, pace: Pace = keep_going) -> None:
        """Raise DamagedIndexError if a file does not have its checksum."""
        name = self.bases.name()
        if name is None:
            return
        try:
            sums = find_sums(self.folder / name / SUMS_FILE)
        except DamagedChecksumsError as error:
            raise DamagedIndexError(f"{name}/{SUMS_FILE} is damaged") from error
        if sums is None:
            raise DamagedIndexError(f"{name} has no checksums")
        damaged = [f"{name}/{one}" for one in find_changed(self.folder / name, sums, pace=pace)]
        damaged += [
            f"{TEXT_FOLDER}/{one}"
            for one in TextFiles(self.folder / TEXT_FOLDER).list_damaged(pace=pace)
        ]
        if damaged:
            raise DamagedIndexError(f"{', '.join(damaged)}: not what was written")

    def add_missing_sums(self) -> None:
        """Write the checksums of a text index that a killed writer left without. The lock is
        held.
        """
        files = TextFiles(self.folder / TEXT_FOLDER)
        if not files.manifest.exists() and files.folder.is_dir():
            files.save_sums()
