"""The ingest pipeline: rows in, shelf out, in batches that are each atomic; then the vectors of new
texts.

A batch is mapped, validated and written in one transaction; when all are, the records can be found
by words. Then the texts without a vector are embedded. An interrupted run is resumed by running it
again: records that were written are recognised and cost nothing, and so are texts that were
embedded. Edits made by hand since are reconciled by `hand_edits`.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import orjson

from stackroom.catalogue.codec import decode_record
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.port import Embedder
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.ingest import mapping as mappings
from stackroom.ingest.edits.hand_edits import MOST_MATCHED, HandEdits, Placed, match_edited
from stackroom.ingest.embedding import LateEmbedding, build_puts, with_vectors
from stackroom.ingest.grouping import GroupedRow, iter_grouped, read_source_row
from stackroom.ingest.ledger import Ledger, Origin
from stackroom.model.record import Record, RecordId
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.lock import EmbeddingElsewhereError
from stackroom.shelf.port import LOCAL, Author, Change, Delete, ShelfWriter
from stackroom.sources.port import (
    Reading,
    RowSource,
    SourceRow,
    SourceVector,
    describe_notes,
    describe_unread,
)

NAME_DIGITS = 16
BATCH_RECORDS = 256
WHOLE_BATCH_RECORDS = 1_024
"""How many records are written at once, from a provider and from a file, which is read again in
little time.
"""
# how many records are written at once from a source whose changes belong together
ONE_STEP_RECORDS = 100_000
# the place under which the ledger keeps the stamp of a source that was read whole
WHOLE_SOURCE = ""
KIND_NOT_READ = "files of this kind are not read"
# the number of unreadable cells of each field that are listed; more are only counted
CELLS_KEPT = 1000
WAIT_S = 1.0
PROGRESS_ROWS = 100
"""Progress is reported after so many rows, written or not, so that a long reading can be ended
between them.
"""


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """Counts of rows and records by outcome.

    Each row is mapped to records, or is metadata, or is rejected. Each record is written, unchanged
    or a duplicate; the row of a duplicate is listed with the rejected ones. Most sources have one
    record per row.
    """

    rows: int = 0
    written: int = 0
    unchanged: int = 0
    duplicates: int = 0
    rejected: int = 0
    metadata: int = 0
    removed: int = 0
    embedded: int = 0
    to_embed: int = 0  # texts that had no vector when embedding began; 0 until then
    edited: int = 0  # records that keep edits made by hand, wholly or in part
    unplaced: int = 0
    """Records that are kept although no known row gave them: the ledger was lost, and their origin
    with it.
    """
    dangling: int = 0  # ids in relation fields that name no record of the relation's kind
    unread_cells: dict[str, int] = field(default_factory=dict)
    """Field → the number of its cells that could not be read, and are left out of their records."""
    rejects: list[tuple[str, str]] = field(default_factory=list)
    # the first unreadable cells: place, field, reason
    cells: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # remarks about the rows as a whole, for people

    @property
    def first_reason(self) -> str:
        """Why the first rejected row was rejected, as the end of a message; empty if none was."""
        return f"; {': '.join(self.rejects[0])}" if self.rejects else ""

    def leave_out(self, place: str, cell: mappings.UnreadCell) -> None:
        """Record a cell that could not be read."""
        count = self.unread_cells.get(cell.field, 0)
        self.unread_cells[cell.field] = count + 1
        if count < CELLS_KEPT:
            self.cells.append((cell.place or place, cell.field, cell.reason))

    def note_cells(self) -> None:
        """Add a note on each field with unreadable cells."""
        first = {name: (place, reason) for place, name, reason in reversed(self.cells)}
        for name, (place, reason) in reversed(first.items()):
            count = self.unread_cells[name]
            cells = "1 cell is" if count == 1 else f"{count} cells are"
            self.notes.append(f"{name}: {cells} left out; {place}: {reason}")


Progress = Callable[[IngestReport], None]


@frozen
class IngestRequest:
    """The author of an ingest, and the rows that they asked for."""

    author: Author = LOCAL  # the author of every change that it makes
    asks_for: Callable[[str], bool] = lambda _place: False
    """Whether the row at a place was asked for: its records come back even if they were deleted by
    hand.
    """


UNREQUESTED = IngestRequest()


@frozen
class Target:
    """The destination of rows: a shelf with its ledger, spec, mapping and embedder."""

    spec: CatalogueSpec
    mapping: mappings.RowMapping
    writer: ShelfWriter
    ledger: Ledger
    embedder: Embedder | None = None
    request: IngestRequest = UNREQUESTED


def ingest(source: RowSource, target: Target, *, progress: Progress) -> IngestReport:
    """Sync the shelf with the source, and embed what lacks a vector."""
    report = ingest_rows(source, target, progress=progress)
    embed_late(target.writer, target.spec, target.embedder, report, progress=progress)
    return report


def ingest_rows(source: RowSource, target: Target, *, progress: Progress) -> IngestReport:
    """Sync the shelf with the source: write new and changed records, remove those that are gone,
    and publish.

    A whole source is read from its beginning, and records of rows that it no longer has are
    removed. A query to a provider resumes where it was interrupted, and only adds. Nothing is
    embedded.
    """
    return _Run(source, target, progress).run()


def embed_late(
    writer: ShelfWriter,
    spec: CatalogueSpec,
    embedder: Embedder | None,
    report: IngestReport,
    *,
    progress: Progress,
) -> None:
    """Embed the records of a shelf that lack a vector; while another process embeds, wait and
    report progress each second.
    """
    if embedder is None or spec.embed is None:
        return

    def note(texts: int) -> None:
        report.embedded = before + texts
        report.to_embed = max(report.to_embed, report.embedded)
        progress(report)

    while True:
        before = report.embedded
        try:
            with writer.embedding_parts(wait_s=WAIT_S) as parts:
                report.to_embed = before + writer.count_unembedded()
                progress(report)
                LateEmbedding(
                    spec=spec, writer=writer, embedder=embedder, parts=parts, progress=note
                ).run()
                return
        except EmbeddingElsewhereError:
            progress(report)


def remove_source(name: str, target: Target) -> int:
    """Delete the records that came from this source alone, publish, and return how many they
    were.
    """
    removed = _remove(set(target.ledger.origins(name)), name, target)
    target.ledger.replace_rejects(name, ())
    target.ledger.replace_cells(name, (), unchanged=())
    target.ledger.replace_changes(name, ())
    target.writer.publish()
    return removed


def _remove(ids: set[RecordId], source: str, target: Target) -> int:
    """Delete records of a source, except those that another source has too; return how many were
    deleted.
    """
    ledger = target.ledger
    gone = sorted(ids - ledger.ids_from_sources(ids, but=source))
    for start in range(0, len(gone), BATCH_RECORDS):
        some = gone[start : start + BATCH_RECORDS]
        target.writer.apply([Delete(one) for one in some], author=target.request.author)
        ledger.forget_identities(some)
    ledger.forget_origins(source, ids)
    return len(gone)


class _Run:
    """One run over a source."""

    def __init__(self, source: RowSource, target: Target, progress: Progress) -> None:
        self._source = source
        self._target = target
        self._progress = progress
        self._report = IngestReport()
        self._given: dict[bytes, Vector] = {}
        """The vectors that came with the records of a batch, by the digest of their text."""
        self._hand_edits = HandEdits(
            source=source.name, spec=target.spec, writer=target.writer, ledger=target.ledger
        )
        self._before = target.ledger.origins(source.name)
        self._unseen = set(self._before)
        self._is_read = False
        self._is_of_several_kinds = target.mapping.is_by_spec and len(target.spec.kinds) > 1
        is_table = source.is_whole and target.mapping.is_by_spec
        self._makes_ids = is_table and not (target.spec.id_path or target.spec.group_path)
        self._may_be_edited = self._makes_ids and bool(self._before)
        self._held: list[Placed] = []
        """Records with new ids, which may be edits of former ones."""
        self._is_one_step = source.is_one_step and bool(self._before)
        self._identities: dict[str, str] = {}
        self._composed: dict[RecordId, str] = {}
        """An id that is made of values → the digest of all values that had it first."""
        self._repeated: Counter[RecordId] = Counter()
        self._unchanged: set[str] = set()
        """The places of rows that were passed over."""
        self._other_model: ModelId | None = None
        """The model of vectors that come with the rows and cannot be used."""
        mapping = target.mapping
        self._reading = mappings.digest_of_reading(target.spec, mapping)
        self._column_check = (
            mappings.ColumnCheck(target.spec, kind=mapping.kind) if mapping.is_by_spec else None
        )

    def run(self) -> IngestReport:
        ledger, name, report = self._target.ledger, self._source.name, self._report
        stamp = self._find_stamp()
        is_asked = self._target.request.asks_for is not UNREQUESTED.asks_for
        if (
            stamp is not None
            and not is_asked
            and ledger.readings(name).load().get(WHOLE_SOURCE) == stamp
        ):
            report.rows = report.unchanged = len(self._before)
            return report
        report.rows = start = 0 if self._source.is_whole else ledger.position(name)
        try:
            for batch in map(self._without_taken_ids, self._iter_batches(start)):
                written = self._write(self._reconciled(batch), gone=self._gone_with(batch))
                # what was deleted by hand and is named by records written now is restored,
                # transitively
                while written:
                    written = self._write(self._hand_edits.deleted_but_named(written))
                self._note(batch)
                if not self._source.is_whole and not self._target.spec.group_path:
                    ledger.note_position(name, report.rows)
                self._progress(report)
            if unread := self._source.count_unread():
                files = (
                    f"{kind} ({count} file{'s' if count > 1 else ''})"
                    for kind, count in unread.items()
                )
                report.rejects += [(one, KIND_NOT_READ) for one in files]
                report.notes.append(describe_unread(unread))
            notes = [*self._source.notes, *ledger.conversions(name, self._target.spec.fields)]
            report.notes += [*describe_notes(notes), *self._repetitions()]
            ledger.replace_changes(name, notes)
        finally:
            ledger.replace_rejects(name, report.rejects, keeps_former=bool(start))
            ledger.replace_cells(
                name, report.cells, unchanged=self._unchanged, keeps_former=bool(start)
            )
            report.note_cells()
        ledger.note_position(name, 0)
        self._remove_gone()
        self._target.writer.publish()
        # after the records, so that a kill before this only means reading again
        if stamp is not None:
            ledger.readings(name).save({WHOLE_SOURCE: stamp})
        if self._other_model is not None:
            report.notes.append(
                f"the source's vectors are by {self._other_model} and were not used"
            )
        if self._column_check and (note := self._column_check.find_note()):
            report.notes.append(note)
        self._progress(report)
        return report

    def _find_stamp(self) -> Reading | None:
        """Return the stamp of the source as it would be read now; None where only its rows tell."""
        stamp = self._source.recall(self._target.ledger.readings(self._source.name))
        embedder = self._target.embedder
        return (
            Reading(f"{stamp} {self._reading} {embedder and embedder.model}", b"")
            if stamp
            else None
        )

    def _without_taken_ids(self, batch: list[Placed]) -> list[Placed]:
        """Reject the records whose id is that of a record of another kind from another source."""
        if not self._is_of_several_kinds:
            return batch
        ids = [record.id for record, _ in batch]
        known = self._target.writer.current_or_deleted(ids)
        elsewhere = self._target.ledger.ids_from_sources(ids, but=self._source.name)
        kept = []
        for record, origin in batch:
            other = known.get(record.id)
            if other is None or other.kind == record.kind or record.id not in elsewhere:
                kept.append((record, origin))
                continue
            reason = (
                f"'{record.id}' is already the id of a {other.kind}; ids are unique across kinds"
            )
            self._report.rejected += 1
            self._report.rejects.append((origin.row, reason))
        return kept

    def _reconciled(self, batch: Sequence[Placed]) -> list[Record]:
        """Return the records to write after reconciling with edits by hand, and count those that
        keep edits.
        """
        records = [record for record, _ in batch]
        asked = {record.id for record, origin in batch if self._target.request.asks_for(origin.row)}
        kept = self._hand_edits.reconciled(records, asked=asked)
        self._report.edited += sum(
            one is not record for one, record in zip(kept, records, strict=True)
        )
        self._report.unchanged += kept.count(None)
        return [record for record in kept if record is not None]

    def _write(self, batch: Sequence[Record], *, gone: Iterable[RecordId] = ()) -> list[Record]:
        """Write the new and changed records of a batch, and return them; those that are gone are
        deleted with it.
        """
        writer = self._target.writer
        puts = with_vectors(build_puts(batch, self._target.spec)[0], self._given)
        unchanged = writer.unchanged(puts)
        fresh = [put for put in puts if put.record.id not in unchanged]
        changes: list[Change] = [*fresh, *map(Delete, sorted(gone))]
        if changes:
            writer.apply(changes, author=self._target.request.author)  # commit point of a batch
        self._report.written += len(fresh)
        self._report.unchanged += len(unchanged)
        self._given.clear()
        return [put.record for put in fresh]

    def _note(self, batch: Sequence[Placed]) -> None:
        """Store the origins, identities and source records of a batch that was written."""
        ledger, mapping = self._target.ledger, self._target.mapping
        moved = [
            (record, origin) for record, origin in batch if self._before.get(record.id) != origin
        ]
        ledger.note_origins(self._source.name, {record.id: origin for record, origin in moved})
        known_by = {record.id: mapping.identities_of(record) for record, _ in moved}
        ledger.note_identities({one: some for one, some in known_by.items() if some != (one,)})
        self._hand_edits.note([record for record, _ in batch])

    def _remove_gone(self) -> None:
        """Delete the records whose rows the source no longer has."""
        if not self._source.is_whole or not self._unseen:
            return
        name = self._source.name
        if not self._report.written and not self._report.unchanged:
            problem = f"{name}: no row of it makes a record, so the records it made before are kept"
            raise InputError(f"{problem}{self._report.first_reason}; correct it, and add it again")
        self._report.removed = _remove(self._unseen, name, self._target)

    def _gone_with(self, batch: Sequence[Placed]) -> set[RecordId]:
        """Return the records to delete in the step that writes a batch: where it is the last of a
        one-step source.
        """
        if not (self._is_one_step and self._is_read and batch):
            return set()
        return self._unseen - self._target.ledger.ids_from_sources(
            self._unseen, but=self._source.name
        )

    def _iter_batches(self, start: int) -> Iterator[list[Placed]]:
        """Yield records in batches that never split the records of one row, so that a row is
        written whole.
        """
        size = WHOLE_BATCH_RECORDS if self._source.is_whole else BATCH_RECORDS
        size = ONE_STEP_RECORDS if self._is_one_step else size
        batch: list[Placed] = []
        for records in self._iter_rows(start):
            batch += self._without_held(records)
            if len(batch) >= size:
                yield batch
                batch = []
        self._is_read = True
        if batch := [*batch, *self._matched()]:
            yield batch

    def _without_held(self, records: list[Placed]) -> list[Placed]:
        """Hold records with new ids back until all rows were read; very many of them are no
        edits.
        """
        if not self._may_be_edited or all(record.id in self._before for record, _ in records):
            return records
        self._held += records
        self._may_be_edited = len(self._held) <= MOST_MATCHED
        return [] if self._may_be_edited else self._held

    def _matched(self) -> list[Placed]:
        """Return the records that were held back, those of edited rows with their former ids."""
        if not self._may_be_edited or not self._held or len(self._unseen) > MOST_MATCHED:
            return self._held if self._may_be_edited else []
        spec = self._target.spec
        former = self._target.writer.current_or_deleted(sorted(self._unseen))
        known = [
            (record, self._before[one]) for one, record in former.items() if record is not None
        ]
        ids = match_edited(
            self._held, known, title=spec.title_field.name, is_named=bool(spec.id_template)
        )
        self._unseen.difference_update(ids.values())
        return [
            (replace(record, id=ids.get(record.id, record.id)), origin)
            for record, origin in self._held
        ]

    def _iter_rows(self, start: int) -> Iterator[list[Placed]]:
        """Yield the records of each row that has to be mapped; count unchanged rows and
        metadata.
        """
        ids_by_row: dict[Origin, list[RecordId]] = {}
        for record_id, origin in self._before.items():
            if origin.digest:
                ids_by_row.setdefault(origin._replace(written=""), []).append(record_id)
        rows, path = self._iter_source(start), self._target.spec.group_path
        for row in iter_grouped(rows, path) if path and self._target.mapping.is_by_spec else rows:
            origin = Origin(row.place, f"{row.digest}-{self._reading}" if row.digest else "")
            if origin in ids_by_row and not self._target.request.asks_for(row.place):
                self._pass_over(row, ids_by_row[origin])
            elif self._target.mapping.is_metadata(row.values):
                self._report.metadata += 1
            else:
                yield list(self._records_of(row, origin))

    def _iter_source(self, start: int) -> Iterator[SourceRow]:
        for row in self._source.iter_rows(start=start):
            self._report.rows += 1
            if self._report.rows % PROGRESS_ROWS == 0:
                self._progress(self._report)
            yield row

    def _pass_over(self, row: SourceRow, ids: Sequence[RecordId]) -> None:
        """Count the records of an unchanged row."""
        self._unchanged.add(row.place)
        self._report.unchanged += len(ids)
        self._unseen.difference_update(ids)
        self._identities.update(dict.fromkeys(ids, row.place))

    def _records_of(self, row: SourceRow, origin: Origin) -> Iterator[Placed]:
        try:
            read = self._read_checked(row)
        except InputError as error:
            self._report.rejected += 1
            self._report.rejects.append((row.place, error.message))
            return
        if read.written:
            origin = origin._replace(written=orjson.dumps(dict(read.written)).decode())
        for record in map(self._told_apart, read.records):
            identities = self._target.mapping.identities_of(record)
            first = self._find_first(record, identities)
            if first is not None:
                self._report.duplicates += 1
                is_id_taken = self._is_of_several_kinds and first == self._identities.get(record.id)
                taken = f"'{record.id}' is already the id of {first}; ids are unique across kinds"
                self._report.rejects.append(
                    (row.place, taken if is_id_taken else f"the same as {first}")
                )
                continue
            self._identities.update(dict.fromkeys((*identities, record.id), row.place))
            self._unseen.discard(record.id)
            yield record, origin

    def _told_apart(self, record: Record) -> Record:
        """Return a record of a table without ids, told apart from others of the same title or the
        same values.

        Two equal rows may be two sales or two answers: the later one has its number after the id.
        """
        if not self._makes_ids:
            return record
        made = record.id
        digest = mappings.digest_of_values(record.fields) if self._target.spec.id_template else made
        if self._composed.setdefault(made, digest) != digest:
            made = RecordId(f"{made} {digest}")
        self._repeated[made] += 1
        number = self._repeated[made]
        return replace(record, id=RecordId(f"{made} {number}") if number > 1 else made)

    def _repetitions(self) -> list[str]:
        count = self._repeated.total() - len(self._repeated)
        rows = (
            "1 row repeats an earlier one"
            if count == 1
            else f"{count:,} rows repeat an earlier one"
        )
        return [f"{rows} in every field; each is a record of its own"] if count else []

    def _find_first(self, record: Record, identities: Sequence[str]) -> str | None:
        """Return what a record duplicates: a row of this run, or a record of another source; None
        if it is new.
        """
        row = next(
            (self._identities[one] for one in (*identities, record.id) if one in self._identities),
            None,
        )
        if row is not None or tuple(identities) == (record.id,):
            return row
        holder = self._target.ledger.find_holder(identities)
        is_gone = self._source.is_whole and holder in self._unseen  # its row has another id now
        return None if holder in (None, record.id) or is_gone else str(holder)

    def _read_checked(self, row: SourceRow) -> mappings.ReadRow:
        if row.problem:
            raise InputError(row.problem)
        has_all_columns = not row.digest  # with digests, only changed rows get here
        if self._column_check and has_all_columns:
            for part in row.parts if isinstance(row, GroupedRow) else (row,):
                self._column_check.observe(part.values)
        read = self._read(row)
        # by the spec each value is read as the type of its field, and within its bounds
        is_fitting = self._target.mapping.is_by_spec and row.record is None
        for record in read.records:
            mappings.require_valid(record, self._target.spec, is_fitting=is_fitting)
        for cell in read.unread:
            self._report.leave_out(row.place, cell)
        if row.vector is not None and len(read.records) == 1:
            self._take_vector(read.records[0], row.vector)
        return read

    def _read(self, row: SourceRow) -> mappings.ReadRow:
        """Return the records of a row: its own, where it is of a catalogue with this spec, or by
        the mapping.
        """
        spec, mapping = self._target.spec, self._target.mapping
        if row.record is not None and row.record.catalogue == spec.name:
            return mappings.ReadRow(
                (decode_record(RecordId(row.record.id), row.record.body, spec),)
            )
        if row.is_chunk and mapping.records_of_chunk is not None:
            return mappings.ReadRow(tuple(mapping.records_of_chunk(row.values)))
        return read_source_row(row, spec, mapping)

    def _take_vector(self, record: Record, vector: SourceVector) -> None:
        """Keep the vector that comes with a record, unless the embedder's are by another model."""
        embedder = self._target.embedder
        if embedder is not None and vector.model != embedder.model:
            self._other_model = vector.model
        elif embedder is not None:
            _, texts = build_puts([record], self._target.spec)
            self._given.update(dict.fromkeys(texts, vector.values))


@frozen
class IngestCounts:
    """Counts of rows by outcome; each row is in exactly one. A row that was already ingested is a
    duplicate.
    """

    inserted: int
    duplicates: int
    failed: int


class ListRows(RowSource):
    """Implements `RowSource` over a list: one with a name replaces the former one of that name,
    others only add.
    """

    name = ""
    is_whole = False

    def __init__(self, rows: Sequence[Mapping[str, Any]], *, name: str = "") -> None:
        self._rows = rows
        self.is_whole = bool(name)
        digest = hashlib.sha256(repr(rows).encode(errors="replace")).hexdigest()
        self.name = name or f"list:{digest[:NAME_DIGITS]}"

    def count_rows(self) -> int | None:
        """Return the length of the list."""
        return len(self._rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; one that is not a mapping carries a problem instead of values."""
        for number, values in islice(enumerate(self._rows, start=1), start, None):
            if isinstance(values, Mapping):
                yield SourceRow(place=f"row {number}", values=values)
            else:
                problem = f"a {type(values).__name__}, not an object"
                yield SourceRow(place=f"row {number}", problem=problem)


def ingest_from_provider(
    source: RowSource, target: Target, *, progress: Progress = lambda _report: None
) -> IngestCounts:
    """Ingest all rows of a provider into the target, and count them; run again, it skips what was
    written.
    """
    report = ingest(source, target, progress=progress)
    duplicates = report.duplicates + report.unchanged
    return IngestCounts(inserted=report.written, duplicates=duplicates, failed=report.rejected)


def ingest_batch(rows: Sequence[Mapping[str, Any]], target: Target) -> IngestCounts:
    """Ingest a list of rows into the target, and count them."""
    return ingest_from_provider(ListRows(rows), target)
