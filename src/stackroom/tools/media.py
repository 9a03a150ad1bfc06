"""Media files of records, such as audio, covers and pictures. Declared like tools; knows no
transport.

The picture of a record is the file that the record names, read only within the folder of a source
of the catalogue, or the catalogue's own. One at a web address is not shown: whoever looks at a
record is never sent to another server.
"""

import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from stackroom.catalogue.spec import FieldRole, texts_of
from stackroom.errors import StorageError, UnknownResourceError
from stackroom.frozen import frozen
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Scope
from stackroom.sources.location import SourceLocation, is_address
from stackroom.toml_text import load_packaged
from stackroom.tools.catalogue import OpenCatalogue


class MediaKind(StrEnum):
    """Which file of a record."""

    AUDIO = "audio"
    COVER = "cover"


@frozen
class MediaFile:
    """A file on this machine that the caller may read."""

    path: Path
    mime_type: str
    size_bytes: int
    modified_at: float  # the modification time, in seconds since 1970

    @property
    def version(self) -> str:
        """A text that is another when the file has changed."""
        return f"{self.modified_at:.0f}-{self.size_bytes}"

    @staticmethod
    def type_of(name: str) -> str | None:
        """Return the type that a file of this name is served as; None where it is not."""
        return MIME_TYPES.get(Path(name).suffix.lower())


@frozen
class MediaSpec:
    """The files of a catalogue's records. It cannot be declared without the action it needs."""

    catalogue: str
    action: Action
    find: Callable[[Principal, str, MediaKind], MediaFile | None]
    """Returns a file of a record by its id; None where the principal may see none."""
    known_among: Callable[[Principal, Sequence[str]], AbstractSet[str]]
    """Returns those of these ids whose records exist and may be seen."""
    has_audio: bool = True


class CallerMedia:
    """The files of every catalogue's records, as far as one caller may see them."""

    def __init__(self, principal: Principal, specs: Iterable[MediaSpec]) -> None:
        self._principal = principal
        self._specs = [spec for spec in specs if spec.action in principal.actions]

    def get_file(self, record_id: str, kind: MediaKind) -> MediaFile:
        """Return a file of a record, from the first catalogue that has it; that of another where a
        storage fails.
        """
        failures: list[StorageError] = []
        for spec in self._specs:
            try:
                if (found := spec.find(self._principal, record_id, kind)) is not None:
                    return found
            except StorageError as error:
                failures.append(error)
        if failures:
            raise failures[0]
        shown = record_id[:200]
        raise UnknownResourceError(
            f"there is no {kind} of '{shown}'; get the record to see what it has", uri=shown
        )

    def find_file_in(self, catalogue: str, record_id: str, kind: MediaKind) -> MediaFile | None:
        """Return a file of a record of one catalogue; None where there is none that they may
        see.
        """
        found = (
            spec.find(self._principal, record_id, kind)
            for spec in self._specs
            if spec.catalogue == catalogue
        )
        return next((file for file in found if file is not None), None)

    def has_audio_of(self, catalogue: str) -> bool:
        """Tell whether records of a catalogue may have audio."""
        return any(spec.catalogue == catalogue and spec.has_audio for spec in self._specs)

    def missing_among(self, ids: Sequence[str]) -> list[str]:
        """Return the ids that no catalogue has, each once, in their order."""
        missing = dict.fromkeys(ids)
        for spec in self._specs:
            for known in spec.known_among(self._principal, list(missing)):
                del missing[known]
        return list(missing)


MIME_TYPES: Mapping[str, str] = load_packaged("stackroom.tools", "media_types.toml")
"""Served types by file suffix; other files are not served."""


def find_file(roots: tuple[Path, ...], name: str) -> MediaFile | None:
    """Return a file that a record names, where it is within one of these folders and of a served
    type.
    """
    if Path(name).suffix.lower() not in MIME_TYPES:
        return None
    for root in roots:
        # no such file; an impossible name; a loop of links
        with suppress(OSError, ValueError, RuntimeError):
            folder = root.resolve()
            path = (folder / name).resolve()
            mime_type = MIME_TYPES.get(path.suffix.lower())
            if (
                mime_type
                and path.is_relative_to(folder)
                and stat.S_ISREG((found := path.stat()).st_mode)
            ):
                return MediaFile(
                    path=path,
                    mime_type=mime_type,
                    size_bytes=found.st_size,
                    modified_at=found.st_mtime,
                )
    return None


def media_of(
    catalogue: OpenCatalogue,
    name_file: Callable[[Record, str, Callable[[str], Record | None]], str | None],
) -> MediaSpec:
    """Declare the files of a catalogue's records, which a package names."""

    def find(principal: Principal, record_id: str, kind: MediaKind) -> MediaFile | None:
        view, scope = catalogue.view(), Scope(visibility=principal.visibility)

        def find_record(wanted: str) -> Record | None:
            return view.find_record(RecordId(wanted), scope=scope)

        record = find_record(record_id)
        name = name_file(record, kind, find_record) if record else None
        own = (catalogue.folder,) if catalogue.folder else ()
        return find_file((*own, *filter(Path.is_dir, catalogue.sources)), name) if name else None

    def known_among(principal: Principal, ids: Sequence[str]) -> AbstractSet[str]:
        wanted = [RecordId(record_id) for record_id in dict.fromkeys(ids)]
        scope = Scope(visibility=principal.visibility)
        return catalogue.shelf.reader().find(wanted, scope=scope).keys()

    return MediaSpec(
        catalogue=catalogue.name, action=Action.ACCESS_CATALOG, find=find, known_among=known_among
    )


def find_roots(folder: Path | None, locations: Iterable[str]) -> tuple[Path, ...]:
    """Return the folders that pictures may lie in: the catalogue's own, those it was built from,
    and of its files.
    """
    names = [SourceLocation.parse(one).location for one in locations if not is_address(one)]
    paths = [path for path in map(Path, names) if path.is_absolute()]
    around = [path if path.is_dir() else path.parent for path in paths if path.exists()]
    return tuple(dict.fromkeys((*([folder] if folder else ()), *around)))


def find_picture(catalogue: OpenCatalogue, record: Record) -> MediaFile | None:
    """Return the picture of a record; None where it has none on this machine."""
    field = catalogue.spec.field_with_role(FieldRole.PICTURE)
    name = next(iter(texts_of(record.get(field.name))), "").strip() if field else ""
    return find_file(find_roots(catalogue.folder, catalogue.list_sources()), name) if name else None


def picture_media(catalogues: Sequence[OpenCatalogue]) -> list[MediaSpec]:
    """Declare the pictures of those catalogues whose records name some."""
    return [
        _pictures_of(one)
        for one in catalogues
        if one.spec.field_with_role(FieldRole.PICTURE) is not None
    ]


def _pictures_of(catalogue: OpenCatalogue) -> MediaSpec:
    def find(principal: Principal, record_id: str, kind: MediaKind) -> MediaFile | None:
        if kind is not MediaKind.COVER:
            return None
        found = catalogue.view().find_record(
            RecordId(record_id), scope=Scope(visibility=principal.visibility)
        )
        return find_picture(catalogue, found) if found else None

    action, known = Action.ACCESS_CATALOG, frozenset[str]()  # no records of theirs are played
    return MediaSpec(
        catalogue=catalogue.name,
        action=action,
        find=find,
        known_among=lambda *_: known,
        has_audio=False,
    )
