"""Proposed corrections of metadata, as field changes for a user to apply. Pure: nothing is written."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackroom.api import Record, Tag
from stackroom_catalogues.music.grouping import ALBUM, TRACK
from stackroom_catalogues.music.names import mended

MOST = 0.6
"""Share of an artist's tracks with a genre from which it is proposed for those without any."""
FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Changes of one record, with reasons."""

    record: Record
    fields: Mapping[str, Any]
    reasons: tuple[str, ...]


def propose_fixes(wanted: Iterable[Record], *, albums: Sequence[Record], tracks: Sequence[Record]) -> Iterator[Fix]:
    """Yield a fix for each wanted record with correctable fields, judged by itself and by the others."""
    neighbours = _Neighbours(albums, tracks)
    for record in wanted:
        fields: dict[str, Any] = {}
        reasons: list[str] = []
        for field, value, reason in _iter_corrections(record, neighbours):
            if field not in fields:
                fields[field] = value
                reasons.append(f"{field}: {reason}")
        if fields:
            yield Fix(record=record, fields=fields, reasons=tuple(reasons))


class _Neighbours:
    """Evidence from related records."""

    def __init__(self, albums: Sequence[Record], tracks: Sequence[Record]) -> None:
        self.albums: dict[str, Record] = {album.id: album for album in albums}
        self.of_album: dict[str, list[Record]] = {}
        self.of_artist: dict[str, list[Record]] = {}
        for track in tracks:
            self.of_album.setdefault(str(track.get("album_id") or ""), []).append(track)
            for artist_id in track.get("artist_ids") or ():
                self.of_artist.setdefault(artist_id, []).append(track)

    def beside(self, track: Record) -> list[Record]:
        """Return the other tracks of a track's album."""
        album_id = track.get("album_id")
        return [one for one in self.of_album.get(album_id, ()) if one.id != track.id] if album_id else []


def _iter_corrections(record: Record, neighbours: _Neighbours) -> Iterator[tuple[str, Any, str]]:
    """Yield field, value and reason of each correction."""
    name = str(record.get("name") or "")
    better, done = mended(name, position=record.get("position"))
    if done:
        yield "name", better, ", ".join(done)
    if record.kind == TRACK:
        yield from _track_corrections(record, neighbours)
    elif record.kind == ALBUM:
        yield from _album_corrections(record, neighbours.of_album.get(record.id, []))


def _track_corrections(track: Record, neighbours: _Neighbours) -> Iterator[tuple[str, Any, str]]:
    album, beside = neighbours.albums.get(str(track.get("album_id"))), neighbours.beside(track)
    if track.get("year") is None:
        years = {one.get("year") for one in beside if one.get("year") is not None}
        if album and album.get("year") is not None:
            yield "year", album.get("year"), f"that of its album, '{album.get('name')}'"
        elif len(years) == 1:
            yield "year", years.pop(), "that of the other tracks of its album"
    if not track.get("genres"):
        shared = _shared_genres(beside)
        if shared:
            yield "genres", shared, "those of the other tracks of its album"
        elif album and album.get("genres"):
            yield "genres", tuple(album.get("genres")), "those of its album"
        else:
            yield from _genre_of_artist(track, neighbours)


def _genre_of_artist(track: Record, neighbours: _Neighbours) -> Iterator[tuple[str, Any, str]]:
    """Yield the genre that most tracks of the same artist have."""
    for artist_id in track.get("artist_ids") or ():
        others = [one for one in neighbours.of_artist.get(artist_id, ()) if one.get("genres")]
        counts = Counter(tag for one in others for tag in one.get("genres"))
        if len(others) >= FEWEST and counts:
            tag, count = min(counts.items(), key=lambda one: (-one[1], one[0]))
            if count >= MOST * len(others):
                yield "genres", (tag,), f"that of {count} of {len(others)} other tracks by the same artist"
                return


def _album_corrections(album: Record, tracks: Sequence[Record]) -> Iterator[tuple[str, Any, str]]:
    years = Counter(track.get("year") for track in tracks if track.get("year") is not None)
    if album.get("year") is None and years:
        year, count = min(years.items(), key=lambda one: (-one[1], one[0]))
        if count == sum(years.values()):
            yield "year", year, f"that of {count} of its tracks"
    if not album.get("genres") and (shared := _shared_genres(tracks)):
        yield "genres", shared, "those of its tracks"
    lengths = [track.get("seconds") for track in tracks]
    if not album.get("seconds") and lengths and all(lengths):
        yield "seconds", round(sum(lengths), 2), "the sum of its tracks"


def _shared_genres(tracks: Sequence[Record]) -> tuple[Tag, ...]:
    """Return the genres of most of the tracks that have any."""
    having = [track for track in tracks if track.get("genres")]
    counts = Counter(tag for track in having for tag in dict.fromkeys(track.get("genres")))
    return tuple(tag for tag, count in counts.items() if count >= MOST * len(having)) if having else ()
