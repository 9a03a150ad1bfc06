"""Pictures of records: the thumbnail that a build made of one, else the file of one's own that a record names.

A file is read only within the folder of a source of the catalogue, or the catalogue's own. A picture at a web address
has a thumbnail or none: whoever looks at a record is never sent to another server.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from stackroom.catalogue.spec import FieldRole, texts_of
from stackroom.checksums import find_damaged
from stackroom.errors import StorageError
from stackroom.library import THUMBNAILS_FOLDER
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Scope
from stackroom.sources.location import SourceLocation, is_address
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.media import MediaFile, MediaKind, MediaSpec, find_file

WEB = ("http://", "https://")


def thumbnail_path(folder: Path, picture: str) -> Path:
    """Return where the thumbnail of a picture is kept in the folder of a catalogue."""
    return folder / THUMBNAILS_FOLDER / f"{hashlib.sha256(picture.encode()).hexdigest()[:32]}.webp"


def check_thumbnails(sums: Path) -> None:
    """Raise StorageError where thumbnails are not what was made."""
    if damaged := find_damaged(sums):
        advice = f"delete the folder {THUMBNAILS_FOLDER}, and add the source again"
        raise StorageError(f"{len(damaged)} small pictures are damaged: {damaged[0]}; {advice}")


def find_roots(folder: Path | None, locations: Iterable[str]) -> tuple[Path, ...]:
    """Return the folders that pictures may lie in: the catalogue's own, those it was built from, and of its files."""
    names = [SourceLocation.parse(one).location for one in locations if not is_address(one)]
    paths = [path for path in map(Path, names) if path.is_absolute()]
    around = [path if path.is_dir() else path.parent for path in paths if path.exists()]
    return tuple(dict.fromkeys((*([folder] if folder else ()), *around)))


def find_picture(catalogue: OpenCatalogue, record: Record) -> MediaFile | None:
    """Return a small picture of a record, or its picture as it is; None where it has none on this machine."""
    field = catalogue.spec.field_with_role(FieldRole.PICTURE)
    name = next(iter(texts_of(record.get(field.name))), "").strip() if field else ""
    if not name:
        return None
    made = catalogue.folder and find_file((catalogue.folder,), str(thumbnail_path(catalogue.folder, name)))
    if made or name.lower().startswith(WEB):
        return made or None
    return find_file(find_roots(catalogue.folder, catalogue.list_sources()), name)


def picture_media(catalogues: Sequence[OpenCatalogue]) -> list[MediaSpec]:
    """Declare the pictures of those catalogues whose records name some."""
    return [_declared(one) for one in catalogues if one.spec.field_with_role(FieldRole.PICTURE) is not None]


def _declared(catalogue: OpenCatalogue) -> MediaSpec:
    def find(principal: Principal, record_id: str, kind: MediaKind) -> MediaFile | None:
        if kind is not MediaKind.THUMBNAIL:
            return None
        found = catalogue.view().find_record(RecordId(record_id), scope=Scope(visibility=principal.visibility))
        return find_picture(catalogue, found) if found else None

    return MediaSpec(
        catalogue=catalogue.name,
        action=Action.ACCESS_CATALOG,
        find=find,
        known_among=lambda _principal, _ids: frozenset(),  # no records of theirs are played
        has_audio=False,
    )
