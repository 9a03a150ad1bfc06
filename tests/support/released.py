"""Looking at catalogues that were installed from releases, and editing them, for tests."""

from pathlib import Path

from stackroom.assembly.app import App
from stackroom.catalogue.codec import encode_record
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.packs.installed import InstalledPack
from stackroom.shelf.port import Author, Delete, Put
from support.publisher import NAME


def records_of(app: App, name: str = NAME) -> dict[RecordId, Record]:
    """Return all records of a catalogue."""
    reader = app.open_catalogue(name).shelf.reader()
    found = reader.fetch(reader.scan(scope=WHOLE, limit=100_000), scope=WHOLE)
    return {record.id: record for record in found.values()}


def versions_of(app: App, name: str = NAME) -> set[str]:
    """Return the versions that the records name."""
    return {str(record.get("version")) for record in records_of(app, name).values()}


def pack_of(app: App, name: str = NAME) -> InstalledPack:
    """Return the files of the installed release."""
    return InstalledPack(app.library.get_installed(name).folder / "pack")


def edit(app: App, *records: Record, name: str = NAME) -> None:
    """Change records by hand."""
    writer = app.open_catalogue(name).shelf.writer()
    writer.apply([Put(record=record) for record in records], author=Author(principal="ed"))
    writer.publish()


def remove(app: App, *ids: str, name: str = NAME) -> None:
    """Delete records by hand."""
    writer = app.open_catalogue(name).shelf.writer()
    writer.apply([Delete(RecordId(one)) for one in ids], author=Author(principal="ed"))
    writer.publish()


def state_of(home: Path) -> dict[str, bytes | int]:
    """Return all that a library has on disk but locks, to be compared: nothing may change where
    something is refused.

    The file of a store is compared by its size: reading it may change its header.
    """
    files = [
        path
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.endswith(("lock", "-shm", "-wal"))
    ]
    return {
        str(path.relative_to(home)): path.stat().st_size
        if path.suffix == ".sqlite"
        else path.read_bytes()
        for path in files
    }


def bodies_of(app: App, name: str = NAME) -> dict[RecordId, bytes]:
    """Return all records of a catalogue as bytes."""
    return {one: encode_record(record) for one, record in records_of(app, name).items()}
