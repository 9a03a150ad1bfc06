"""Opening the shelf of a catalogue's folder: chooses its store and its index by `store.toml`.

Nothing in `shelf` imports this module but processes of their own, and `postgres.move`. What needs
PostgreSQL's driver, an extra, is loaded only for catalogues in a database.
"""

import importlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import apsw

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import StorageError
from stackroom.library import PLACE_FILE, Installed, Library
from stackroom.model.vectors import ModelId
from stackroom.settings import Settings
from stackroom.shelf.catalogue_folder import CatalogueFolder
from stackroom.shelf.catalogue_shelf import CatalogueShelf, Index
from stackroom.shelf.embedded.folder_index import FolderIndex
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.embedded.store_file import PUT_BACK
from stackroom.shelf.store_place import STORE_FILE, StorePlace, find_place

FOLLOWED = "stackroom.shelf.postgres.followed_store"
SEARCHED = "stackroom.shelf.postgres_search.searched_index"
BODIES = "SELECT id, body FROM records"


class SpecLibrary(Protocol):
    """A library with the specs of its catalogues; `assembly.workshop.Workshop` is one."""

    library: Library
    settings: Settings

    def spec_of(self, installed: Installed) -> LoadedSpec:
        """Return the spec that a catalogue follows."""

    def open_shelf(self, installed: Installed) -> CatalogueShelf:
        """Open the shelf of a catalogue for reading."""


def open_shelf(folder: Path, spec: CatalogueSpec) -> CatalogueShelf:
    """Open the shelf in this folder, or raise StorageError if its file is missing."""
    if not (folder / STORE_FILE).is_file() and not (folder / PLACE_FILE).is_file():
        raise StorageError(f"{folder.name}/{STORE_FILE} is missing; {PUT_BACK}")
    with _opening(folder, spec) as shelf:
        shelf.store.require_tables()
    return shelf


def create_shelf(folder: Path, spec: CatalogueSpec, *, model: ModelId | None) -> CatalogueShelf:
    """Open the shelf in this folder for writing, with vectors of this model; create it if it is
    missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _opening(folder, spec) as shelf:
        shelf.switch_model(model)
    return shelf


@contextmanager
def _opening(folder: Path, spec: CatalogueSpec) -> Iterator[CatalogueShelf]:
    """Compose the shelf of a folder, and close it if the block fails."""
    place = CatalogueFolder(folder, spec, open_store)
    database = find_place(folder)
    index: Index = (
        load_postgres(SEARCHED).PostgresqlIndex(place, database)
        if database and database.search
        else FolderIndex(place)
    )
    shelf = CatalogueShelf(place, index)
    try:
        yield shelf
    except BaseException:
        shelf.close()
        raise


def open_store(folder: Path, spec: CatalogueSpec) -> Store:
    """Return the store of a catalogue's folder."""
    place = find_place(folder)
    if place is None:
        return Store(folder / STORE_FILE, spec)
    if not place.search:
        return open_followed(folder, spec, place)
    store: Store = load_postgres(SEARCHED).RemoteStore(folder / STORE_FILE, spec, place)
    return store


def open_followed(folder: Path, spec: CatalogueSpec, place: StorePlace) -> Store:
    """Return the copy in a folder of a store in a database."""
    followed = load_postgres(FOLLOWED)
    database = followed.StoreDatabase(place.url, place.schema, catalogue=spec.name)
    store: Store = followed.FollowedStore(folder / STORE_FILE, spec, database)
    return store


def iter_bodies(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the stored form of each record of a catalogue's folder."""
    if (place := find_place(folder)) is not None:
        database = load_postgres(FOLLOWED).StoreDatabase(
            place.url, place.schema, catalogue=folder.name
        )
        with closing(database), database.reading() as db:
            yield from db.cursor().stream(BODIES, binary=True)
    elif (folder / STORE_FILE).is_file():
        with closing(
            apsw.Connection(str(folder / STORE_FILE), flags=apsw.SQLITE_OPEN_READONLY)
        ) as file:
            yield from file.execute(BODIES)


def load_postgres(module: str) -> Any:
    """Load a module that needs the package for PostgreSQL; raise StorageError if it is not
    installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        needed = (
            "records in PostgreSQL need its driver, the extra 'postgres': pip install"
            " 'psycopg[binary]'"
        )
        raise StorageError(needed) from error
