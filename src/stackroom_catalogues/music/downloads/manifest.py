"""A provider's manifest: untrusted JSON that lists an album's files, turned into an `Album` with
safe names.

    {"artist": "…", "album": "…", "files": [{"url": "01.flac", "size": 123, "sha256": "…"}]}

URLs may be relative to the manifest's. Only `files` and each file's `url` are required.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from stackroom.api import InputError
from stackroom.api.server import TransferError, join_url
from stackroom_catalogues.music.audio_files import AUDIO_ENDINGS

LONGEST_NAME = 200
# short enough for every filesystem, with room for '.part.json.new' and ' (99)'
LONGEST_COMPONENT_BYTES = 120
AUDIO_SUFFIXES = frozenset(AUDIO_ENDINGS)
TAKEN_SUFFIXES = AUDIO_SUFFIXES | {".jpg", ".jpeg", ".png", ".webp"}
"""Endings of files that are fetched: audio and pictures."""
RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
UNSAFE = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f]')
NAMELESS = "Unknown"
MOST_FILES = 500
MANIFEST_BYTES = 4 << 20

Text = Annotated[str, Field(max_length=2_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadRequest:
    """A request for an album: by name from a provider, or by URL."""

    provider: str
    artist: str | None = None
    album: str | None = None
    url: str | None = None


class AlbumFile(BaseModel):
    """A file of an album, as a manifest lists it, and then by its whole address and a safe name."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    url: Text
    name: Annotated[Text, BeforeValidator(lambda name: "" if name is None else name)] = ""
    size: int | None = Field(default=None, ge=0, lt=1 << 50)
    sha256: str | None = Field(default=None, pattern=r"^[0-9A-Fa-f]{64}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadedAlbum:
    """An album as a provider offers it for a request."""

    artist: str
    title: str
    files: tuple[AlbumFile, ...]

    @property
    def size(self) -> int | None:
        """The bytes of all files; None where one is not known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)


def require_words(text: str, *, field: str) -> str:
    """Return a name in normal form; refuse an empty or too long one, and control characters."""
    words = unicodedata.normalize("NFC", " ".join(text.split()))
    if not words or len(words) > LONGEST_NAME:
        raise InputError(f"'{field}' must have 1 to {LONGEST_NAME} characters, as 'Water Music'")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in words):
        raise InputError(f"'{field}' has control characters or lone surrogates; leave them out")
    return words


def component(words: str) -> str:
    """Return a name as one path component: never empty, hidden, reserved, or a parent folder."""
    safe = UNSAFE.sub("_", unicodedata.normalize("NFC", words))
    printable = "".join(
        character for character in safe if unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    )
    short = (
        printable.strip(" .").encode()[:LONGEST_COMPONENT_BYTES].decode(errors="ignore").strip(" .")
    )
    return f"_{short}" if RESERVED.match(short) else short or NAMELESS


def suffix_of(name: str) -> str | None:
    """Return the ending of a file's name; None for one that is not accepted."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in TAKEN_SUFFIXES else None


def last_component(url: str) -> str:
    """Return the decoded file name of a URL."""
    return unquote(PurePosixPath(urlsplit(url).path).name, errors="replace")


def iter_variants(name: str) -> Iterator[str]:
    """Yield a file's name and the alternatives where it is taken: 'a.mp3', 'a (2).mp3' and so
    on.
    """
    yield name
    path = PurePosixPath(name)
    for number in range(2, 100):
        yield f"{path.stem} ({number}){path.suffix}"


class AlbumManifest(BaseModel):
    """A manifest."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    artist: Text | None = None
    album: Text | None = None
    files: list[AlbumFile] = Field(min_length=1, max_length=MOST_FILES)


def read_manifest(body: bytes, *, url: str, request: DownloadRequest) -> DownloadedAlbum:
    """Return the album of the manifest at a URL; names that it leaves out are taken from the
    request.
    """
    try:
        manifest = AlbumManifest.model_validate_json(body)
        files = tuple(_file(file, url) for file in manifest.files)
        artist = require_words(manifest.artist or request.artist or NAMELESS, field="artist")
        title = require_words(manifest.album or request.album or NAMELESS, field="album")
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise TransferError(
            f"the manifest is invalid at '{place}': {problem['msg']}", is_final=True
        ) from error
    except InputError as error:
        raise TransferError(f"the manifest is invalid: {error.message}", is_final=True) from error
    return album_of(artist, title, files)


def album_of(artist: str, title: str, files: Sequence[AlbumFile]) -> DownloadedAlbum:
    """Return an album with unique file names; refuse one without an audio file."""
    if not any(suffix_of(file.name) in AUDIO_SUFFIXES for file in files):
        raise TransferError(
            "the album has no audio file; endings of audio files:"
            f" {', '.join(sorted(AUDIO_SUFFIXES))}",
            is_final=True,
        )
    taken: set[str] = set()
    named = []
    for file in files:
        name = next(
            (name for name in iter_variants(file.name) if name.casefold() not in taken), None
        )
        if name is None:
            reason = (
                f"the album has too many files called '{file.name}'; the provider must name them"
                " differently"
            )
            raise TransferError(reason, is_final=True)
        taken.add(name.casefold())
        named.append(file.model_copy(update={"name": name}))
    return DownloadedAlbum(artist=artist, title=title, files=tuple(named))


def _file(file: AlbumFile, base: str) -> AlbumFile:
    url = join_url(base, file.url)
    called = file.name or last_component(url)
    suffix = suffix_of(called) or suffix_of(last_component(url))
    if suffix is None:
        known = ", ".join(sorted(TAKEN_SUFFIXES))
        raise InputError(f"'{called[:80]}' has an ending that is not accepted; accepted: {known}")
    stem = called[: -len(suffix)] if suffix_of(called) else called
    sha256 = file.sha256.lower() if file.sha256 else None
    return file.model_copy(
        update={"name": f"{component(stem)}{suffix}", "url": url, "sha256": sha256}
    )
