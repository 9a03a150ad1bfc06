"""The ledger of a catalogue's sources: the row each record came from, rejected rows, and read
positions.

It also caches what a source extracted from each file, so that unchanged files are not parsed again,
and keeps the last record that each source gave (for editable catalogues), so that `hand_edits` can
tell edits from changes at the source.

It is stored beside the records and never in their transaction: entries are written after the
records, so that a kill between the two only means that a row is processed again.
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import orjson

from stackroom.catalogue.spec import FieldSpec
from stackroom.checksums import Seal, SealState, measure_file
from stackroom.errors import StorageError
from stackroom.ingest.values import READ_AS
from stackroom.model.record import RecordId
from stackroom.shelf.port import Problem
from stackroom.shelf.sqlite_files import (
    FrozenFile,
    check_sqlite_file,
    is_full,
    is_settled,
    stamp_of,
)
from stackroom.sources.port import CellChange, Note, Reading

SCHEMA = """
CREATE TABLE IF NOT EXISTS origins (
    source TEXT NOT NULL, id TEXT NOT NULL, row TEXT NOT NULL, digest TEXT NOT NULL,
    written TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (source, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS origins_by_id ON origins (id);
CREATE TABLE IF NOT EXISTS rejects (
    source TEXT NOT NULL, place TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (source, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cells (
    source TEXT NOT NULL, place TEXT NOT NULL, field TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (source, place, field)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    source TEXT NOT NULL, field TEXT NOT NULL, reading TEXT NOT NULL,
    PRIMARY KEY (source, field, reading)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS identities (identity TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS identities_by_id ON identities (id);
CREATE TABLE IF NOT EXISTS positions (source TEXT PRIMARY KEY, rows INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS said (
    source TEXT NOT NULL, id TEXT NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (source, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS readings (
    source TEXT NOT NULL, place TEXT NOT NULL, stamp TEXT NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (source, place)
) WITHOUT ROWID;
"""
BUSY_TIMEOUT_MS = 5_000
LEDGER_PART = "ledger"
SHOWN = 60  # how much of a cell is shown as an example
ADVICE = "to rebuild it, move the file away and run the same stackroom add again"
HOLDER = """
SELECT identities.id FROM json_each(?) AS asked JOIN identities ON identity = asked.value
ORDER BY asked.key LIMIT 1
"""
"""The record that has the first of these identities that one has."""


def _shown(path: str | Path | None) -> str:
    """Return a path as messages have it, which callers of a server see too."""
    return "/".join(Path(path or ":memory:").parts[-2:])


def check_ledger(path: Path) -> list[Problem]:
    """Return the problems of a ledger file: missing, or damaged."""
    if not path.is_file():
        again = "to rebuild it, run the same stackroom add again"
        return [Problem(part=LEDGER_PART, message=f"{_shown(path)} is missing", advice=again)]
    faults = check_sqlite_file(path)
    if not faults and Seal(path).state() is SealState.CHANGED:
        faults = ["it is not what was written"]
    return [
        Problem(part=LEDGER_PART, message=f"{_shown(path)} is damaged: {fault}", advice=ADVICE)
        for fault in faults
    ]


@contextmanager
def _failing(
    path: str | Path | None, what: str, advice: str = f"if it is damaged: {ADVICE}"
) -> Iterator[None]:
    """Raise StorageError where a file cannot be read or written."""
    try:
        yield
    except apsw.Error as error:
        raise StorageError(f"{_shown(path)}: cannot be {what}: {error}; {advice}") from error


@contextmanager
def _writing(db: apsw.Connection) -> Iterator[None]:
    """Run the block in one transaction; raise StorageError if it cannot be written, as on a full
    disk.
    """
    if db.filename:
        Seal(Path(db.filename)).break_up()
    with _failing(db.filename, "written", "make room, or check its permissions"), db:
        yield


def _read(db: apsw.Connection, query: str, *values: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query; raise StorageError if the file cannot be read."""
    with _failing(db.filename, "read"):
        return list(db.execute(query, values))


def _insert(db: apsw.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write rows of a table, in place of those with the same keys."""
    given = list(rows)
    if given:
        with _writing(db):
            db.executemany(
                f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(given[0]))})", given
            )


def _delete(db: apsw.Connection, table: str, keys: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Delete the rows of a table for which a condition such as `source = ?` holds."""
    with _writing(db):
        db.executemany(f"DELETE FROM {table} WHERE {keys}", rows)


def _listed(texts: Iterable[str]) -> str:
    """Return texts as the JSON list that a query takes."""
    return orjson.dumps(list(texts)).decode()


def find_identified(path: Path, identities: Iterable[str]) -> RecordId | None:
    """Return the record that has one of these identities in a ledger file; None where the file
    cannot be read.
    """
    return next((RecordId(holder) for (holder,) in _find(path, HOLDER, _listed(identities))), None)


def find_places(path: Path, ids: Iterable[RecordId]) -> dict[RecordId, tuple[str, str]]:
    """Return the source and row of records in a ledger file; none where the file cannot be read."""
    query = """
    SELECT id, source, row FROM origins WHERE id IN (SELECT value FROM json_each(?))
    ORDER BY source DESC
    """
    # of several sources the first one
    rows = _find(path, query, _listed(ids))
    return {RecordId(record_id): (source, row) for record_id, source, row in rows}


def find_written(path: Path, record_id: RecordId) -> dict[str, str]:
    """Return the texts that the values of a record were read from, by field, where a value does not
    say all of one.
    """
    query = "SELECT written FROM origins WHERE id = ? ORDER BY source LIMIT 1"
    return next((orjson.loads(texts) for (texts,) in _find(path, query, record_id) if texts), {})


def list_changes(path: Path) -> list[tuple[str, str]]:
    """Return the columns with cells that were read as other than they are written, and how, from a
    ledger file.
    """
    query = "SELECT field, reading FROM changes WHERE field <> '' ORDER BY 1, 2"
    return [(name, reading) for name, reading in _find(path, query)]


def count_rejects(path: Path) -> int:
    """Return how many rows a ledger file has as rejected; 0 where the file cannot be read."""
    return sum(count for (count,) in _find(path, "SELECT count(*) FROM rejects"))


def _find(path: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query to a ledger file; none where there is no file that can be read."""
    with suppress(apsw.Error):
        if path.is_file():
            with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
                db.set_busy_timeout(BUSY_TIMEOUT_MS)
                return list(db.execute(query, values))
    return []


def note_present_records(path: Path, records: Iterable[tuple[str, bytes]]) -> None:
    """Store the records of a catalogue that becomes editable as the last of its sources, so that
    edits can be told.
    """
    if path.is_file():
        with _failing(path, "written"), closing(Ledger(path)) as ledger:
            ledger.note_stored_records(records)


def copy_ledger(path: Path, copy: Path) -> None:
    """Write a copy of a ledger, where there is one; no other process may be writing it."""
    copy.unlink(missing_ok=True)
    if path.is_file():
        with _failing(path, "copied"), closing(apsw.Connection(str(path))) as db:
            db.execute("VACUUM INTO ?", (str(copy),))


def put_back_ledger(copy: Path, path: Path) -> None:
    """Replace a ledger, which nobody has open, with its copy; without one there was none."""
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    if copy.is_file():
        os.replace(copy, path)
    else:
        path.unlink(missing_ok=True)


class Origin(NamedTuple):
    """The row that a record came from, and the digest of the row; empty if its source has no
    digests.
    """

    row: str
    digest: str
    # the texts of cells that say more than their values, by field, as JSON; empty if there are none
    written: str = ""


def _seal(db: apsw.Connection, path: Path) -> None:
    """Keep the checksum of a ledger, unless another process is writing it."""
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    before = stamp_of(path)
    if is_settled(path):
        seal = Seal(path)
        seal.save(measure_file(path))
        if stamp_of(path)[0] != before[0] or not is_settled(path):
            seal.break_up()


class Ledger:
    """The ledger of one catalogue, in a file or, without a path, in memory."""

    def __init__(self, path: Path | None = None) -> None:
        try:
            self._db = apsw.Connection(":memory:" if path is None else str(path))
            self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
            self._db.pragma("journal_mode", "wal")
            self._db.execute(SCHEMA)
        except apsw.Error as error:
            if path is None or not path.is_file() or not is_full(path):
                raise StorageError(
                    f"{_shown(path)}: cannot be opened: {error}; if it is damaged: {ADVICE}"
                ) from error
            self._frozen = FrozenFile(path)  # on a full disk it is read as it is
            self._db = self._frozen.connect()

    def close(self) -> None:
        """Close the file; what was written to is sealed."""
        if self._db.filename and self._db.total_changes():
            with suppress(apsw.Error, OSError):
                _seal(self._db, Path(self._db.filename))
        self._db.close()

    def origins(self, source: str) -> dict[RecordId, Origin]:
        """Return the records that came from a source, each with its row."""
        query = "SELECT id, row, digest, written FROM origins WHERE source = ?"
        return {RecordId(one): Origin(*origin) for one, *origin in _read(self._db, query, source)}

    def note_origins(self, source: str, origins: Mapping[RecordId, Origin]) -> None:
        """Store where these records came from."""
        rows = ((source, record_id, *origin) for record_id, origin in origins.items())
        _insert(self._db, "origins", rows)

    def conversions(self, source: str, fields: Mapping[str, FieldSpec]) -> list[CellChange]:
        """Return the fields of a source with texts that say more than their values, each with the
        first text.
        """
        texts = "origins, json_each(written) WHERE source = ? AND written <> ''"
        query = f"SELECT key, count(*), min(value), row FROM {texts} GROUP BY key"
        return [
            CellChange(
                kind=READ_AS[fields[name].type],
                column=name,
                example=f"'{text[:SHOWN]}', {row}",
                count=count,
            )
            for name, count, text, row in _read(self._db, query, source)
            if name in fields
        ]

    def count_ids_from_sources(self) -> int:
        """Count the records that came from any source."""
        return int(_read(self._db, "SELECT count(DISTINCT id) FROM origins")[0][0])

    def ids_from_sources(self, ids: Iterable[RecordId], *, but: str = "") -> set[RecordId]:
        """Return those of these ids that came from any source, or from one other than `but`."""
        query = """
        SELECT id FROM origins WHERE id IN (SELECT value FROM json_each(?)) AND source <> ?
        """
        return {RecordId(one) for (one,) in _read(self._db, query, _listed(ids), but)}

    def last_source_records(self, source: str, ids: Iterable[RecordId]) -> dict[RecordId, bytes]:
        """Return the last record that a source gave for each of these ids, encoded, if known."""
        query = """
        SELECT id, record FROM said WHERE source = ? AND id IN (SELECT value FROM json_each(?))
        """
        rows = _read(self._db, query, source, _listed(ids))
        return {RecordId(one): record for one, record in rows}

    def note_source_records(self, source: str, records: Mapping[RecordId, bytes]) -> None:
        """Store the records that a source gives now, as its last ones."""
        _insert(self._db, "said", ((source, *given) for given in records.items()))

    def note_stored_records(self, records: Iterable[tuple[str, bytes]]) -> None:
        """Store records, by id, as the last ones of their sources, where none is known."""
        query = "INSERT OR IGNORE INTO said SELECT source, id, ?2 FROM origins WHERE id = ?1"
        with _writing(self._db):
            self._db.executemany(query, records)

    def rename_source(self, source: str, new: str) -> None:
        """Take everything that came from a source for what came from another, which takes its
        place.
        """
        with _writing(self._db):
            for table in str.split("origins rejects cells changes positions said readings"):
                self._db.execute(f"DELETE FROM {table} WHERE source = ?", (new,))
                self._db.execute(f"UPDATE {table} SET source = ? WHERE source = ?", (new, source))
            self._db.execute("DELETE FROM readings WHERE source = ?", (new,))  # of another file

    def find_holder(self, identities: Iterable[str]) -> RecordId | None:
        """Return the record that has one of these identities (unique keys), or None."""
        found = _read(self._db, HOLDER, _listed(identities))
        return next((RecordId(holder) for (holder,) in found), None)

    def note_identities(self, identities: Mapping[RecordId, Iterable[str]]) -> None:
        """Replace the identities of these records."""
        with _writing(self._db):
            self.forget_identities(identities)
            held = (
                (identity, record_id) for record_id, some in identities.items() for identity in some
            )
            _insert(self._db, "identities", held)

    def forget_origins(self, source: str, ids: Iterable[RecordId]) -> None:
        """Delete the entries of these records for a source."""
        pairs = [(source, record_id) for record_id in ids]
        with _writing(self._db):
            for table in ("origins", "said"):
                _delete(self._db, table, "source = ? AND id = ?", pairs)

    def forget_identities(self, ids: Iterable[RecordId]) -> None:
        """Delete the identities of removed records."""
        _delete(self._db, "identities", "id = ?", ((record_id,) for record_id in ids))

    def rejects(self) -> list[tuple[str, str, str]]:
        """Return the rejected rows: source, place, reason."""
        return _read(self._db, "SELECT source, place, reason FROM rejects ORDER BY 1, 2")

    def replace_rejects(
        self, source: str, rejects: Iterable[tuple[str, str]], *, keeps_former: bool = False
    ) -> None:
        """Replace the rejected rows (place, reason) of a source, or add to them."""
        if not keeps_former:
            _delete(self._db, "rejects", "source = ?", [(source,)])
        _insert(self._db, "rejects", ((source, *row) for row in rejects))

    def cells(self) -> list[tuple[str, str, str, str]]:
        """Return the cells that were left out of their record: source, place, field, reason."""
        return _read(self._db, "SELECT source, place, field, reason FROM cells ORDER BY 1, 2, 3")

    def replace_cells(
        self,
        source: str,
        cells: Iterable[tuple[str, str, str]],
        *,
        unchanged: Container[str],
        keeps_former: bool = False,
    ) -> None:
        """Replace the cells (place, field, reason) of a source, except those of places that are
        unchanged.
        """
        if not keeps_former:
            places = _read(self._db, "SELECT DISTINCT place FROM cells WHERE source = ?", source)
            gone = [(source, place) for (place,) in places if place not in unchanged]
            _delete(self._db, "cells", "source = ? AND place = ?", gone)
        _insert(self._db, "cells", ((source, *cell) for cell in cells))

    def changes(self) -> list[tuple[str, str, str]]:
        """Return what was read as other than it is written: source, column or nothing, how it was
        read.
        """
        return _read(self._db, "SELECT source, field, reading FROM changes ORDER BY 1, 2, 3")

    def replace_changes(self, source: str, notes: Iterable[Note]) -> None:
        """Replace the notes on how a source was read, and on cells that were read as other than
        they are written.
        """
        _delete(self._db, "changes", "source = ?", [(source,)])
        rows = (
            (source, note.column if isinstance(note, CellChange) else "", str(note))
            for note in notes
        )
        _insert(self._db, "changes", rows)

    def position(self, source: str) -> int:
        """Return how many rows of a source to skip when an interrupted read resumes."""
        rows = _read(self._db, "SELECT rows FROM positions WHERE source = ?", source)
        return next((int(done) for (done,) in rows), 0)

    def note_position(self, source: str, rows: int) -> None:
        """Store how many rows of a source are done; 0 when all are."""
        _insert(self._db, "positions", [(source, rows)])

    def readings(self, source: str) -> "SourceReadings":
        """Return the cache of what a source extracted from its files."""
        return SourceReadings(self._db, source)

    def list_readings(self) -> list[tuple[str, str, bytes]]:
        """Return the cached content of every source: source, place, content."""
        return _read(self._db, "SELECT source, place, content FROM readings ORDER BY 1, 2")


class SourceReadings:
    """Implements `Readings` for one source. They depend on the files alone, so they may be ahead of
    the records.
    """

    def __init__(self, db: apsw.Connection, source: str) -> None:
        self._db = db
        self._source = source

    def load(self) -> dict[str, Reading]:
        """Return what is cached, by place."""
        query = "SELECT place, stamp, content FROM readings WHERE source = ?"
        return {place: Reading(*kept) for place, *kept in _read(self._db, query, self._source)}

    def save(self, readings: Mapping[str, Reading]) -> None:
        """Store these readings, in place of those of the same places."""
        rows = ((self._source, place, *reading) for place, reading in readings.items())
        _insert(self._db, "readings", rows)

    def forget(self, places: Iterable[str]) -> None:
        """Delete the readings of these places."""
        rows = ((self._source, place) for place in places)
        _delete(self._db, "readings", "source = ? AND place = ?", rows)
