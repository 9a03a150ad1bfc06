"""Tags, length and embedded picture of an audio file (MP3, FLAC, Ogg, Opus, M4A, WAV).

The only user of `tinytag`. Tags may be missing, repeated, mistyped or wrongly encoded: whatever can
be interpreted is returned, and a file without playable sound is refused with the reason.
"""

import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from tinytag import TinyTag, TinyTagException, UnsupportedFormatError

from stackroom.api import InputError, UnavailableError

MOST_TEXT = 1_000
MOST_VALUES = 20
MOST_PICTURE_BYTES = 10_000_000
MOST_READS = 300_000
"""Bound on the reads of one file, so that a large file without a single audio frame is not scanned
to its end.
"""
ID3V1_BYTES = 128
YEAR = re.compile(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d{1,3}(?!\d))")
"""Four digits that are a year, alone or at the start of an eight-digit date."""
WHOLE = re.compile(r"\s*(\d{1,4})\b")
MBID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TRUE = frozenset({"1", "true", "yes"})
NOT_ASCII = re.compile(r"[^\x00-\x7f]")
INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+"
)

ATTEMPTS = ({"image": True}, {"image": False}, {"tags": False})
"""Parts of a file to parse: all of it, then without pictures, then without tags, where those are
damaged.
"""

SIGNATURES = (
    (b"\xff\xd8\xff", 0, "jpg"),
    (b"\x89PNG\r\n\x1a\n", 0, "png"),
    (b"GIF8", 0, "gif"),
    (b"WEBP", 8, "webp"),
)
"""First bytes of picture formats, and the offset they are at."""

FIELDS = {
    "title": ("title",),
    "artists": ("artist",),
    "album": ("album",),
    "album_artists": ("albumartists", "albumartist", "_albumartist", "album artist"),
    "position": ("track", "_track"),
    "disc": ("disc", "_disc"),
    "date": ("originaldate", "originalyear", "tdor", "tory", "year", "_year", "tdrl"),
    "genres": ("genre",),
    "composers": ("composer",),
    "compilation": ("compilation", "tcmp", "tcp", "cpil"),
    "artist_mbids": ("musicbrainz_artistid", "musicbrainz artist id"),
    "album_artist_mbids": ("musicbrainz_albumartistid", "musicbrainz album artist id"),
    "album_mbid": ("musicbrainz_albumid", "musicbrainz album id"),
    "release_track_mbid": ("musicbrainz_releasetrackid", "musicbrainz release track id"),
    "track_mbid": ("musicbrainz_trackid", "musicbrainz track id", "ufid"),
}
"""Names of each tag in the various formats, as `tinytag` spells them; the first with a value
wins.
"""


class CoverPicture(NamedTuple):
    """A picture embedded in an audio file, named by a hash of its content."""

    name: str
    content: bytes


def read_tags(path: Path) -> dict[str, Any]:
    """Return a file's tags, without empty ones; refuse a file without sound.

    `seconds` is always present. The others are `title`, `album`, `artists`, `album_artists`,
    `genres` and `composers` (lists), `position`, `disc`, `year`, `is_compilation`, the MusicBrainz
    ids `artist_mbids`, `album_artist_mbids`, `album_mbid` and `track_mbid`, and `picture`, the name
    of the picture that `find_picture` returns.
    """
    audio = _read(path)
    if audio.duration is None:
        raise InputError(
            "it cannot be read: no sound was found; it is damaged, or not an audio file"
        )
    if not 0 < audio.duration < 1e7:
        raise InputError(
            f"there is no sound in it: its length is {audio.duration:g} seconds; replace the file"
        )
    picture = _picture_of(audio)
    known = {
        **_understood(_raw_tags(audio)),
        "seconds": max(round(audio.duration, 2), 0.01),
        "picture": picture.name if picture else "",
    }
    return {name: value for name, value in known.items() if value not in (None, "", [], False)}


def find_picture(path: Path) -> CoverPicture | None:
    """Return the front cover embedded in a file, else any other picture in it."""
    return _picture_of(_read(path))


def read_lyrics(path: Path) -> str:
    """Return the lyrics in a file's tags, with the times of lines where it has them; empty without
    any.
    """
    texts = _read(path).as_dict().get("lyrics") or []
    return (
        str(max(texts, key=lambda text: ("[0" in text, len(text)), default=""))
        if isinstance(texts, list)
        else ""
    )


class _BoundedFile:
    """A file for a parser that trusts sizes: reads and seeks stay within the file, and reads are
    limited in number.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._reads = 0

    def read(self, size: int) -> bytes:
        self._reads += 1
        if self._reads > MOST_READS:
            raise ValueError("no sound was found near its beginning")
        return self._file.read(max(0, min(size, self._size - self._file.tell())))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_END:
            return self._file.seek(max(0, self._size + offset))
        start = self._file.tell() if whence == io.SEEK_CUR else 0
        return self._file.seek(max(0, min(start + offset, self._size)))

    def tell(self) -> int:
        return self._file.tell()


def _read(path: Path) -> TinyTag:
    try:
        with open(path, "rb") as file:
            return _parsed(file, path)
    except UnsupportedFormatError as error:
        raise InputError(
            "it is not an audio file, or its beginning is damaged; play it to see"
        ) from error
    except (OSError, TinyTagException) as error:
        cause = error.__cause__ or error
        problem = f"it cannot be read: {tidy(str(cause))[:200] or type(cause).__name__}"
        raise (UnavailableError if isinstance(cause, OSError) else InputError)(problem) from error


def _parsed(file: BinaryIO, path: Path) -> TinyTag:
    """Parse an open file; an ID3v2 tag at its beginning replaces the ID3v1 tag at its end."""
    size = file.seek(0, io.SEEK_END)
    if (
        _at(file, 0, 3) == b"ID3"
        and size > 2 * ID3V1_BYTES
        and _at(file, size - ID3V1_BYTES, 3) == b"TAG"
    ):
        size -= ID3V1_BYTES
    failure: Exception | None = None
    for wanted in ATTEMPTS:
        try:
            return _parse(_BoundedFile(file, size), path, **wanted)
        except UnsupportedFormatError:
            raise
        except TinyTagException as error:
            failure = failure or error
    raise failure or AssertionError


def _parse(file: Any, path: Path, **wanted: Any) -> TinyTag:
    """Parse by the format of the content, or by the ending of the name where the content does not
    tell.
    """
    file.seek(0)
    try:
        return TinyTag.get(None, file, **wanted)
    except UnsupportedFormatError:
        file.seek(0)
        return TinyTag.get(path, file, **wanted)


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def _raw_tags(audio: TinyTag) -> dict[str, list[str]]:
    """Return for each meaning the values of the first of its names that has any."""
    values = {
        # as in ID3v2.4
        name: [part for value in found for part in value.split("\0") if part.strip()][:MOST_VALUES]
        for name, found in audio.as_dict().items()
        if isinstance(found, list)
    }
    return {
        meaning: next((values[one] for one in names if values.get(one)), [])
        for meaning, names in FIELDS.items()
    }


def _understood(raw: Mapping[str, list[str]]) -> dict[str, Any]:
    def texts(meaning: str) -> list[str]:
        return list(dict.fromkeys(text for value in raw[meaning] if (text := text_of(value))))

    return {
        "title": next(iter(texts("title")), ""),
        "album": next(iter(texts("album")), ""),
        "artists": _without_credit(texts("artists")),
        "album_artists": texts("album_artists"),
        "genres": texts("genres"),
        "composers": texts("composers"),
        "position": _number(raw["position"]),
        "disc": _number(raw["disc"]),
        "year": year_of(texts("date")),
        "is_compilation": any(text.lower() in TRUE for text in texts("compilation")),
        "artist_mbids": _mbids(texts("artist_mbids")),
        "album_artist_mbids": _mbids(texts("album_artist_mbids")),
        "album_mbid": next(iter(_mbids(texts("album_mbid"))), ""),
        "track_mbid": next(
            iter(_mbids(texts("release_track_mbid")) or _mbids(texts("track_mbid"))), ""
        ),
    }


def _without_credit(artists: list[str]) -> list[str]:
    """Drop a credit such as "A feat. B" where A and B are listed too: the tags ARTIST and ARTISTS
    come as one list.
    """
    return [
        name for name in artists if sum(other != name and other in name for other in artists) <= 1
    ]


def text_of(value: str) -> str:
    """Return a tag's value on one line, with wrongly decoded letters repaired."""
    return tidy(meant(value[:MOST_TEXT]))


def tidy(text: str) -> str:
    """Return a text on one line, without invisible characters."""
    return unicodedata.normalize("NFC", " ".join(INVISIBLE.sub(" ", text).split()))


def meant(text: str) -> str:
    """Repair a text that was decoded as Latin-1 although it is UTF-8."""
    for encoding in ("latin-1", "cp1252") if NOT_ASCII.search(text) else ():
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return text


def year_of(dates: Iterable[str]) -> int | None:
    """Return the first year in dates such as `2003`, `2003-05-01`, `May 2003`, `20030501`."""
    return next((int(found[1]) for date in dates if (found := YEAR.search(date))), None)


def _number(values: Sequence[str]) -> int | None:
    """Return the number of a track or disc from `3`, `3/12` or `03`; None for 0 and for text."""
    numbers = (int(found[1]) for value in values if (found := WHOLE.match(value)))
    return next(filter(None, numbers), None)


def _mbids(texts: Iterable[str]) -> list[str]:
    """Return the MusicBrainz ids in texts, which may hold several each."""
    return [found[0] for text in texts for found in MBID.finditer(text.lower())]


def _picture_of(audio: TinyTag) -> CoverPicture | None:
    """Return the first usable picture; `tinytag` lists front covers first."""
    for picture in (one for some in audio.images.as_dict().values() for one in some):
        content = picture.data
        ending = next(
            (ending for magic, at, ending in SIGNATURES if content.startswith(magic, at)), None
        )
        if ending and len(content) <= MOST_PICTURE_BYTES:
            return CoverPicture(f"{hashlib.sha256(content).hexdigest()[:32]}.{ending}", content)
    return None
