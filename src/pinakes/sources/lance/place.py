"""A place of collections: a LanceDB database in which each table `NAME_documents` is one."""

from pathlib import Path

from pinakes.collection_settings import is_remote
from pinakes.errors import StorageError
from pinakes.settings import Settings
from pinakes.sources.lance.database import LanceDatabase, require_allowed
from pinakes.sources.lance.layout import TABLE_ENDING, table_name
from pinakes.sources.lance.rows import LanceRows


def open_place(place: str, settings: Settings) -> "LancePlace":
    """Return the database at a place; refuse one that cannot be used, or a folder that is not there."""
    require_allowed(place, offline=settings.offline)
    if not is_remote(place) and not Path(place).is_dir():
        raise StorageError(f"{place}: no such folder; to write a collection to it, run: pinakes publish NAME {place}")
    return LancePlace(LanceDatabase(place), model=settings.collections.model)


class LancePlace:
    """The collections of a database."""

    def __init__(self, database: LanceDatabase, *, model: str) -> None:
        self._database = database
        self._model = model

    def list_collections(self) -> list[str]:
        """Return the names of the collections that have a table, sorted."""
        tables = self._database.list_tables()
        return sorted(one.removesuffix(TABLE_ENDING) for one in tables if one.endswith(TABLE_ENDING))

    def open(self, name: str) -> LanceRows:
        """Return the rows of a collection's table, at its newest version."""
        return LanceRows(self._database, table_name(name), default_model=self._model)
