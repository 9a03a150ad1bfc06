"""The spec of a catalogue whose release brings another one: the store's transaction decides which of the two it is.

The new spec is beside the catalogue before the transaction, and takes the place of the former one after it. In between,
and after a kill, the mark that the transaction left in the store tells which one the records follow.
"""

from contextlib import closing
from pathlib import Path

import apsw

from pinakes.catalogue.loader import load_spec
from pinakes.errors import ExpectedError
from pinakes.library import NEXT_SPEC_FILE, PACK_FOLDER
from pinakes.shelf.embedded.shelf import STORE_FILE
from pinakes.shelf.embedded.store import SPEC_MARK


def find_pending_declaration(folder: Path) -> Path | None:
    """Return the file of the spec that the records follow already, although it is not in its place yet."""
    path = folder / PACK_FOLDER / NEXT_SPEC_FILE
    if not path.is_file():
        return None
    try:
        is_followed = load_spec(path).spec.digest == _read_mark(folder / STORE_FILE)
    except (ExpectedError, apsw.Error):
        return None
    return path if is_followed else None


def _read_mark(store: Path) -> str:
    with closing(apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        return str(db.execute("SELECT value FROM meta WHERE name = ?", (SPEC_MARK,)).get or "")
