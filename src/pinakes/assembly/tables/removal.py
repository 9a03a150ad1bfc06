"""The removal of a catalogue that was built of an uploaded table, or of what there is of it."""

from pinakes.assembly.tables.uploads import Upload
from pinakes.errors import ConflictError
from pinakes.library import Library
from pinakes.shelf.lock import CatalogueLock

LOCK_TIMEOUT_S = 10.0


def remove_catalogue(library: Library, name: str, upload: Upload) -> None:
    """Delete the catalogue of an upload; refuse one that has anything else in it, or is being written to."""
    if (place := library.find_place(name)) is None:
        return
    _require_all(upload, library, name)  # before a lock file is made in a folder of others
    with CatalogueLock(place.folder, name).held(LOCK_TIMEOUT_S):
        _require_all(upload, library, name)
        library.uninstall(place)
    library.remove(name)


def _require_all(upload: Upload, library: Library, name: str) -> None:
    place = library.find_place(name)
    if place is None or not upload.has_all_of(place):
        raise ConflictError(
            f"the catalogue '{name}' has records that are not of this table, so it stays; "
            f"to remove all of it, delete its folder in the library"
        )
