"""A provider's manifest: untrusted JSON that lists an album's files, validated and turned into an `Album`.

    {"artist": "…", "album": "…", "files": [{"url": "01.flac", "size": 123, "sha256": "…", "title": "…", "track": 1}]}

URLs may be relative to the manifest's. Only `files` and each file's `url` are required.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stackroom.api import InputError
from stackroom.api.server import TransferError, join_url
from stackroom_catalogues.music.downloads.items import Album, AlbumFile, DownloadRequest
from stackroom_catalogues.music.downloads.names import (
    AUDIO_SUFFIXES,
    NAMELESS,
    TAKEN_SUFFIXES,
    file_component,
    iter_variants,
    last_component,
    require_words,
    suffix_of,
)

MOST_FILES = 500
MANIFEST_BYTES = 4 << 20

Text = Annotated[str, Field(max_length=2_000)]


class ManifestFile(BaseModel):
    """A file in a manifest."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    url: Text
    name: Text | None = None
    size: int | None = Field(default=None, ge=0, lt=1 << 50)
    sha256: str | None = Field(default=None, pattern=r"^[0-9A-Fa-f]{64}$")
    title: Text | None = None
    track: int | None = Field(default=None, ge=0, le=9_999)
    disc: int | None = Field(default=None, ge=0, le=999)


class Manifest(BaseModel):
    """A manifest."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    artist: Text | None = None
    album: Text | None = None
    files: list[ManifestFile] = Field(min_length=1, max_length=MOST_FILES)


def read_manifest(body: bytes, *, url: str, request: DownloadRequest) -> Album:
    """Return the album of the manifest at a URL; names that it leaves out are taken from the request."""
    try:
        manifest = Manifest.model_validate_json(body)
        files = tuple(_file(file, url) for file in manifest.files)
        artist = require_words(manifest.artist or request.artist or NAMELESS, field="artist")
        title = require_words(manifest.album or request.album or NAMELESS, field="album")
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise TransferError(f"the manifest is invalid at '{place}': {problem['msg']}", is_final=True) from error
    except InputError as error:
        raise TransferError(f"the manifest is invalid: {error.message}", is_final=True) from error
    return album_of(artist, title, files)


def album_of(artist: str, title: str, files: Sequence[AlbumFile]) -> Album:
    """Return an album with unique file names; refuse one without an audio file."""
    if not any(suffix_of(file.name) in AUDIO_SUFFIXES for file in files):
        raise TransferError(
            f"the album has no audio file; endings of audio files: {', '.join(sorted(AUDIO_SUFFIXES))}", is_final=True
        )
    taken: set[str] = set()
    named = []
    for file in files:
        name = next((name for name in iter_variants(file.name) if name.casefold() not in taken), None)
        if name is None:
            raise TransferError(f"the album has too many files called '{file.name}'", is_final=True)
        taken.add(name.casefold())
        named.append(AlbumFile(name=name, url=file.url, size=file.size, sha256=file.sha256))
    return Album(artist=artist, title=title, files=tuple(named))


def _file(file: ManifestFile, base: str) -> AlbumFile:
    url = join_url(base, file.url)
    called = file.name or last_component(url)
    suffix = suffix_of(called) or suffix_of(last_component(url))
    if suffix is None:
        known = ", ".join(sorted(TAKEN_SUFFIXES))
        raise InputError(f"'{called[:80]}' has an ending that is not accepted; accepted: {known}")
    stem = called[: -len(suffix)] if suffix_of(called) else called
    if file.name is None and file.title:
        stem = _numbered(file)
    sha256 = file.sha256.lower() if file.sha256 else None
    return AlbumFile(name=file_component(stem, suffix), url=url, size=file.size, sha256=sha256)


def _numbered(file: ManifestFile) -> str:
    """Return the file name of a track, which sorts in the order of the album: '1-02 Title'."""
    disc = f"{file.disc}-" if file.disc and file.track is not None else ""
    track = f"{file.track:02} " if file.track is not None else ""
    return f"{disc}{track}{file.title}"
