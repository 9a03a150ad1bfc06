"""Media files of records, such as audio and covers. Declared like tools; knows no transport."""

import stat
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from stackroom.errors import StorageError, UnknownResourceError
from stackroom.model.principal import Action, Principal


class MediaKind(StrEnum):
    """Which file of a record."""

    AUDIO = "audio"
    COVER = "cover"
    THUMBNAIL = "thumbnail"
    """A small picture of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaFile:
    """A file on this machine that the caller may read."""

    path: Path
    mime_type: str
    size_bytes: int
    modified_at: float
    """The modification time, in seconds since 1970."""

    @property
    def version(self) -> str:
        """A text that is another when the file has changed."""
        return f"{self.modified_at:.0f}-{self.size_bytes}"


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """Return a file of a record, from the first catalogue that has it; that of another where a storage fails."""
        failures: list[StorageError] = []
        for spec in self._specs:
            try:
                found = spec.find(self._principal, record_id, kind)
            except StorageError as error:
                failures.append(error)
            else:
                if found is not None:
                    return found
        if failures:
            raise failures[0]
        raise UnknownResourceError(
            f"there is no {kind} of '{record_id[:200]}'; get the record to see what it has", uri=record_id[:200]
        )

    def find_file_in(self, catalogue: str, record_id: str, kind: MediaKind) -> MediaFile | None:
        """Return a file of a record of one catalogue; None where there is none that they may see."""
        found = (spec.find(self._principal, record_id, kind) for spec in self._specs if spec.catalogue == catalogue)
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


MIME_TYPES = {
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
    ".m4b": "audio/mp4",
    ".wav": "audio/wav",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
"""Served types by file suffix; other files are not served."""


def find_file(roots: tuple[Path, ...], name: str) -> MediaFile | None:
    """Return a file that a record names, where it is within one of these folders and of a served type."""
    if Path(name).suffix.lower() not in MIME_TYPES:
        return None
    for root in roots:
        found = _find_within(root, name)
        if found is not None:
            return found
    return None


def _find_within(root: Path, name: str) -> MediaFile | None:
    """Return the file of a name below a folder; None where it leads outside, or cannot be read."""
    try:
        folder = root.resolve()
        path = (folder / name).resolve()
        mime_type = MIME_TYPES.get(path.suffix.lower())
        if mime_type is None or not path.is_relative_to(folder):
            return None
        found = path.stat()
    except (OSError, ValueError, RuntimeError):  # no such file; an impossible name; a loop of links
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return MediaFile(path=path, mime_type=mime_type, size_bytes=found.st_size, modified_at=found.st_mtime)
