"""Media files of music: audio of tracks, and covers."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from stackroom.api import (
    Action,
    MediaFile,
    MediaKind,
    MediaSpec,
    OpenCatalogue,
    Principal,
    RecordId,
    Scope,
    find_file,
)


def media(catalogues: Sequence[OpenCatalogue]) -> list[MediaSpec]:
    """Declare the media files of each music catalogue."""
    return [_declared(catalogue) for catalogue in catalogues]


def _declared(catalogue: OpenCatalogue) -> MediaSpec:
    def find(principal: Principal, record_id: str, kind: MediaKind) -> MediaFile | None:
        view, scope = catalogue.view(), Scope(visibility=principal.visibility)
        found = view.find_record(RecordId(record_id), scope=scope)
        if (
            found is not None
            and kind is not MediaKind.AUDIO
            and not found.get("cover")
            and found.get("album_id")
        ):
            found = view.find_record(RecordId(str(found.get("album_id"))), scope=scope)
        name = found.get("file" if kind is MediaKind.AUDIO else "cover") if found else None
        folders = (
            *([catalogue.folder] if catalogue.folder else []),
            *filter(Path.is_dir, catalogue.sources),
        )
        # its own folder, and those that it was built from
        return find_file(folders, str(name)) if name else None

    def known_among(principal: Principal, ids: Sequence[str]) -> AbstractSet[str]:
        wanted = [RecordId(record_id) for record_id in dict.fromkeys(ids)]
        return (
            catalogue.shelf.reader()
            .find(wanted, scope=Scope(visibility=principal.visibility))
            .keys()
        )

    return MediaSpec(
        catalogue=catalogue.name, action=Action.ACCESS_CATALOG, find=find, known_among=known_among
    )
