"""Moving a catalogue that an earlier version kept in LanceDB to the embedded shelf, when it is first opened."""

import importlib
import logging

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.library import EMBEDDED, Installed, Library
from pinakes.shelf.embedded.shelf import STORE_FILE
from pinakes.shelf.embedded.transfer import write_store
from pinakes.shelf.lock import CatalogueLock

LANCE = "lance"
TABLES_FOLDER = "lance"
READER_MODULE = "pinakes.sources.lance.legacy"
LOCK_TIMEOUT_S = 60.0

logger = logging.getLogger(__name__)


def on_embedded_shelf(library: Library, catalogue: Installed, spec: CatalogueSpec) -> Installed:
    """Return the catalogue as it is on the embedded shelf, converted where it was in LanceDB's tables.

    The records are written beside the tables first; the marker then names the embedded shelf (commit point). The
    tables stay, unused.
    """
    if catalogue.shelf == EMBEDDED:
        return catalogue
    if catalogue.shelf != LANCE:
        raise StorageError(f"{catalogue.folder}: no shelf of the kind '{catalogue.shelf}'; known: {EMBEDDED}")
    with CatalogueLock(catalogue.folder, catalogue.name).held(LOCK_TIMEOUT_S):
        current = library.reload(catalogue)
        if current.shelf == EMBEDDED:
            return current  # another process has converted it meanwhile
        _convert(current, spec)
        return library.change_shelf(current, EMBEDDED)


def _convert(catalogue: Installed, spec: CatalogueSpec) -> None:
    """Write the store from the tables; a build that was stopped before it made any begins anew."""
    tables = catalogue.folder / TABLES_FOLDER
    if not tables.is_dir() and not catalogue.is_complete:
        return
    try:
        reader = importlib.import_module(READER_MODULE)
    except StorageError as error:
        message = f"'{catalogue.name}' was built in LanceDB, and is converted when it is opened: {error.message}"
        raise StorageError(message) from error
    write_store(catalogue.folder / STORE_FILE, spec, reader.read_catalogue(tables, catalogue.name))
    logger.warning(
        "catalogue '%s' was moved from LanceDB to the embedded shelf; %s is no longer used and can be deleted. "
        "To keep a LanceDB table of it, run: pinakes publish %s DATABASE",
        catalogue.name,
        tables,
        catalogue.name,
    )
