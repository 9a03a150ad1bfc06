"""What an audio file says of itself: tags, length and picture, whatever the format (MP3, FLAC, Ogg, Opus, M4A, WAV).

This is the adapter of `mutagen`. A file may say anything: values are missing, doubled, of the wrong kind, in the wrong
encoding. What can be made out is returned; what cannot be read as sound at all is refused with the reason.
"""

import base64
import binascii
import hashlib
import re
import struct
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import mutagen
from mutagen.flac import FLAC, Picture
from mutagen.id3 import ID3
from mutagen.mp4 import MP4Tags

from pinakes.errors import InputError, UnavailableError
from pinakes.sources.audio_rows import MOST_PICTURE_BYTES

MOST_TEXT = 1_000
MOST_VALUES = 20
FRONT_COVER = 3
YEAR = re.compile(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d{1,3}(?!\d))")
"""Four digits that are a year, alone or at the beginning of eight that are a day."""
WHOLE = re.compile(r"\s*(\d{1,4})\b")
MBID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TRUE = frozenset({"1", "true", "yes"})
NOT_ASCII = re.compile(r"[^\x00-\x7f]")
HIGH_LATIN = re.compile(r"[\u00a8\u00b8\u00c0-\u00ff]")
LETTER = re.compile(r"[^\W\d_]")
FEWEST_CYRILLIC = 4
INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")

BROKEN = (
    mutagen.MutagenError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
"""What reading a damaged file raises: mutagen's own errors, and those that its parsers run into."""

SIGNATURES = (
    (b"\xff\xd8\xff", 0, "jpg"),
    (b"\x89PNG\r\n\x1a\n", 0, "png"),
    (b"GIF8", 0, "gif"),
    (b"WEBP", 8, "webp"),
)
"""How pictures begin, and at which byte."""

VORBIS = {
    "title": ("title",),
    "artists": ("artists", "artist"),
    "album": ("album",),
    "album_artists": ("albumartists", "albumartist", "album artist"),
    "position": ("tracknumber", "track"),
    "disc": ("discnumber", "disc"),
    "date": ("originaldate", "originalyear", "date", "year"),
    "genres": ("genre",),
    "composers": ("composer",),
    "compilation": ("compilation",),
    "artist_mbids": ("musicbrainz_artistid",),
    "album_artist_mbids": ("musicbrainz_albumartistid",),
    "album_mbid": ("musicbrainz_albumid",),
    "release_track_mbid": ("musicbrainz_releasetrackid",),
    "track_mbid": ("musicbrainz_trackid",),
}
ID3_FRAMES = {
    "title": ("TIT2",),
    "artists": ("TXXX:ARTISTS", "TXXX:Artists", "TPE1"),
    "album": ("TALB",),
    "album_artists": ("TPE2", "TXXX:ALBUMARTIST"),
    "position": ("TRCK",),
    "disc": ("TPOS",),
    "date": ("TDOR", "TORY", "TDRC", "TYER", "TDRL"),
    "genres": ("TCON",),
    "composers": ("TCOM",),
    "compilation": ("TCMP",),
    "artist_mbids": ("TXXX:MusicBrainz Artist Id",),
    "album_artist_mbids": ("TXXX:MusicBrainz Album Artist Id",),
    "album_mbid": ("TXXX:MusicBrainz Album Id",),
    "release_track_mbid": ("TXXX:MusicBrainz Release Track Id",),
    "track_mbid": ("UFID:http://musicbrainz.org",),
}
MP4_ATOMS = {
    "title": ("\xa9nam",),
    "artists": ("----:com.apple.iTunes:ARTISTS", "\xa9ART"),
    "album": ("\xa9alb",),
    "album_artists": ("aART",),
    "position": ("trkn",),
    "disc": ("disk",),
    "date": ("----:com.apple.iTunes:ORIGINALDATE", "\xa9day"),
    "genres": ("\xa9gen",),
    "composers": ("\xa9wrt",),
    "compilation": ("cpil",),
    "artist_mbids": ("----:com.apple.iTunes:MusicBrainz Artist Id",),
    "album_artist_mbids": ("----:com.apple.iTunes:MusicBrainz Album Artist Id",),
    "album_mbid": ("----:com.apple.iTunes:MusicBrainz Album Id",),
    "release_track_mbid": ("----:com.apple.iTunes:MusicBrainz Release Track Id",),
    "track_mbid": ("----:com.apple.iTunes:MusicBrainz Track Id",),
}
"""What a tag is called in each format, the better source first."""


class CoverPicture(NamedTuple):
    """A picture inside an audio file, and a name for it that follows from what it shows."""

    name: str
    content: bytes


def read_tags(path: Path) -> dict[str, Any]:
    """Return what a file says of itself, without what it does not say; refuse one that is no sound.

    `seconds` is always there. There may be `title`, `album`, `artists`, `album_artists`, `genres` and `composers`
    (lists), `position`, `disc`, `year`, `is_compilation`, the MusicBrainz ids `artist_mbids`, `album_artist_mbids`,
    `album_mbid` and `track_mbid`, and `picture`, the name of the picture that `find_picture` gives.
    """
    audio = _opened(path)
    seconds = _seconds(audio)
    try:
        raw = _raw_tags(audio.tags)
    except BROKEN:
        raw = {}  # the sound can be played, whatever its tags are
    picture = _picture_of(audio)
    known = {**_understood(raw), "seconds": seconds, "picture": picture.name if picture else ""}
    return {name: value for name, value in known.items() if value not in (None, "", [], False)}


def find_picture(path: Path) -> CoverPicture | None:
    """Return the front cover inside a file, or whatever picture there is."""
    return _picture_of(_opened(path))


def picture_type(content: bytes) -> str | None:
    """Return the ending that fits a picture by how it begins; None for what is no picture of a known kind."""
    return next((ending for magic, at, ending in SIGNATURES if content[at : at + len(magic)] == magic), None)


def _opened(path: Path) -> Any:
    try:
        audio = mutagen.File(path)
    except BROKEN as error:
        problem = f"it cannot be read: {tidy(str(error))[:200] or type(error).__name__}"
        is_of_the_disk = isinstance(error, OSError) or any(isinstance(one, OSError) for one in error.args)
        raise (UnavailableError if is_of_the_disk else InputError)(problem) from error
    if audio is None:
        raise InputError("it is not an audio file, or its beginning is damaged")
    return audio


def _seconds(audio: Any) -> float:
    length = getattr(audio.info, "length", 0) or 0
    if not isinstance(length, int | float) or not 0 < length < 1e7:
        raise InputError("there is no sound in it: its length is zero, or cannot be told")
    return max(round(float(length), 2), 0.01)


def _raw_tags(tags: Any) -> dict[str, list[Any]]:
    """Return the values of each tag that is known, as the format has them."""
    if tags is None:
        return {}
    if _is_a(tags, ID3):
        return _gathered(ID3_FRAMES, lambda name: _frame_values(tags, name))
    if _is_a(tags, MP4Tags):
        return _gathered(MP4_ATOMS, lambda name: _listed(tags.get(name)))
    comments = {str(name).lower(): _listed(tags[name]) for name in tags.keys()}  # noqa: SIM118  (not a plain mapping)
    return _gathered(VORBIS, lambda name: comments.get(name, []))


def _is_a(value: Any, kind: type) -> bool:
    """Tell whether something is of a class of mutagen's, whose methods have no types."""
    return isinstance(value, kind)


def _gathered(names: Mapping[str, Sequence[str]], values_of: Callable[[str], list[Any]]) -> dict[str, list[Any]]:
    """Return for each meaning the values of the first of its names that has any."""
    return {meaning: next((found for one in some if (found := values_of(one))), []) for meaning, some in names.items()}


def _frame_values(tags: Any, name: str) -> list[Any]:
    frame = tags.get(name)
    if frame is None:
        return []
    if name.startswith("UFID"):
        return [frame.data]
    if name == "TCON":
        return list(frame.genres)
    return [str(text) for text in frame.text]


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value)[:MOST_VALUES] if isinstance(value, list | tuple) else [value]


def _understood(raw: Mapping[str, list[Any]]) -> dict[str, Any]:
    def texts(meaning: str) -> list[str]:
        return list(dict.fromkeys(text for value in raw.get(meaning, ())[:MOST_VALUES] if (text := text_of(value))))

    return {
        "title": next(iter(texts("title")), ""),
        "album": next(iter(texts("album")), ""),
        "artists": texts("artists"),
        "album_artists": texts("album_artists"),
        "genres": texts("genres"),
        "composers": texts("composers"),
        "position": _number(raw.get("position", ())),
        "disc": _number(raw.get("disc", ())),
        "year": year_of(texts("date")),
        "is_compilation": any(text.lower() in TRUE for text in texts("compilation")),
        "artist_mbids": _mbids(texts("artist_mbids")),
        "album_artist_mbids": _mbids(texts("album_artist_mbids")),
        "album_mbid": next(iter(_mbids(texts("album_mbid"))), ""),
        "track_mbid": next(iter(_mbids(texts("release_track_mbid")) or _mbids(texts("track_mbid"))), ""),
    }


def text_of(value: Any) -> str:
    """Return a tag's value as a text in one line, its letters as they were meant."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, bool):
        value = int(value)
    return tidy(meant(str(value)[:MOST_TEXT]))


def tidy(text: str) -> str:
    """Return a text in one line, without what cannot be seen."""
    return unicodedata.normalize("NFC", " ".join(INVISIBLE.sub(" ", text).split()))


def meant(text: str) -> str:
    """Return a text that was decoded as Latin-1 although it is UTF-8 or Cyrillic (Windows-1251) as it was meant."""
    written = _bytes_behind(text) if NOT_ASCII.search(text) else None
    if written is None:
        return text
    try:
        return written.decode("utf-8")
    except UnicodeDecodeError:
        high = len(HIGH_LATIN.findall(text))
        is_cyrillic = high >= FEWEST_CYRILLIC and 5 * high >= 3 * len(LETTER.findall(text))
        return written.decode("cp1251", errors="replace") if is_cyrillic else text


def _bytes_behind(text: str) -> bytes | None:
    """Return the bytes that a text of one byte a letter was decoded from; None where it has other letters too."""
    for encoding in ("latin-1", "cp1252"):
        try:
            return text.encode(encoding)
        except UnicodeEncodeError:
            continue
    return None


def year_of(dates: Iterable[str]) -> int | None:
    """Return the first year that dates name: `2003`, `2003-05-01`, `May 2003`, `20030501`."""
    found = next((match for date in dates if (match := YEAR.search(date))), None)
    return int(found[1]) if found else None


def _number(values: Sequence[Any]) -> int | None:
    """Return a track's or disc's number: of `3`, `3/12`, `03`, (3, 12); None for 0 and for what is no number."""
    for value in values:
        first = value[0] if isinstance(value, tuple) and value else value
        found = WHOLE.match(str(first))
        if found and int(found[1]):
            return int(found[1])
    return None


def _mbids(texts: Iterable[str]) -> list[str]:
    """Return the MusicBrainz ids among texts; several may stand in one text."""
    return [found[0] for text in texts for found in MBID.finditer(text.lower())]


def _picture_of(audio: Any) -> CoverPicture | None:
    try:
        pictures = _pictures(audio)
    except BROKEN:
        return None
    for content in pictures:
        ending = picture_type(content)
        if ending and len(content) <= MOST_PICTURE_BYTES:
            return CoverPicture(f"{hashlib.sha256(content).hexdigest()[:32]}.{ending}", content)
    return None


def _pictures(audio: Any) -> list[bytes]:
    """Return the pictures in a file, front covers first."""
    tags = audio.tags
    if _is_a(audio, FLAC):
        return _front_first((picture.type, picture.data) for picture in audio.pictures)
    if _is_a(tags, ID3):
        return _front_first((frame.type, frame.data) for frame in tags.getall("APIC"))
    if _is_a(tags, MP4Tags):
        return [bytes(cover) for cover in tags.get("covr", [])]
    if tags is None:
        return []
    decoded = [_decoded_picture(text) for text in tags.get("metadata_block_picture", [])]
    return _front_first((picture.type, picture.data) for picture in decoded if picture)


def _decoded_picture(text: str) -> Any:
    try:
        return cast(Any, Picture)(base64.b64decode(text))
    except (*BROKEN, binascii.Error):
        return None


def _front_first(pictures: Iterable[tuple[int, bytes]]) -> list[bytes]:
    return [bytes(content) for _, content in sorted(pictures, key=lambda one: one[0] != FRONT_COVER)]
