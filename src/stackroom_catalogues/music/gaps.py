"""Gaps of a music catalogue: missing metadata, positions and albums of a discography, duplicates,
and corrections.

`find_gaps` and `propose_fixes` are pure; `answer_gaps` and `answer_fixes` are the queries of
`catalog.get`, with the arguments of `catalog.mutate` that mend what they find.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackroom.api import InputError, Record, Tag
from stackroom_catalogues.music import shapes
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, TRACK
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.names import ReleaseNames, mended, work_key

# share of an artist's tracks with a genre from which it is proposed for those without any
MOST = 0.6
FEWEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Changes of one record, with reasons."""

    record: Record
    fields: Mapping[str, Any]
    reasons: tuple[str, ...]


def propose_fixes(
    wanted: Iterable[Record], *, albums: Sequence[Record], tracks: Sequence[Record]
) -> Iterator[Fix]:
    """Yield a fix for each wanted record with correctable fields, judged by itself and by the
    others.
    """
    neighbours = _Neighbours(albums, tracks)
    for record in wanted:
        fields: dict[str, Any] = {}
        reasons: list[str] = []
        for name, value, reason in _iter_corrections(record, neighbours):
            if name not in fields:
                fields[name] = value
                reasons.append(f"{name}: {reason}")
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
        return (
            [one for one in self.of_album.get(album_id, ()) if one.id != track.id]
            if album_id
            else []
        )


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
        counts = Counter(tag for other in others for tag in other.get("genres"))
        if len(others) >= FEWEST and counts:
            tag, count = min(counts.items(), key=lambda one: (-one[1], one[0]))
            if count >= MOST * len(others):
                yield (
                    "genres",
                    (tag,),
                    f"that of {count} of {len(others)} other tracks by the same artist",
                )
                return


def _album_corrections(album: Record, tracks: Sequence[Record]) -> Iterator[tuple[str, Any, str]]:
    years = [track.get("year") for track in tracks if track.get("year") is not None]
    if album.get("year") is None and len(set(years)) == 1:
        yield "year", years[0], f"that of {len(years)} of its tracks"
    if not album.get("genres") and (shared := _shared_genres(tracks)):
        yield "genres", shared, "those of its tracks"
    lengths = [track.get("seconds") for track in tracks]
    if not album.get("seconds") and lengths and all(lengths):
        yield "seconds", round(sum(lengths), 2), "the sum of its tracks"


def _shared_genres(tracks: Sequence[Record]) -> tuple[Tag, ...]:
    """Return the genres of most of the tracks that have any."""
    having = [track for track in tracks if track.get("genres")]
    counts = Counter(tag for track in having for tag in dict.fromkeys(track.get("genres")))
    return (
        tuple(tag for tag, count in counts.items() if count >= MOST * len(having)) if having else ()
    )


# difference in length from which recordings of the same name count as different
SAME_LENGTH_S = 2.0
HUNDRED = 100
MISSING_SHOWN = 20
ENTERED = "each missing album has the request by which catalog.mutate enters it"

WITHOUT: Mapping[str, Callable[[Record], bool]] = {
    "tracks_without_year": lambda track: track.get("year") is None,
    "tracks_without_genre": lambda track: not track.get("genres"),
    "tracks_without_length": lambda track: not track.get("seconds"),
    "tracks_without_album": lambda track: not track.get("album_id"),
    "tracks_without_file": lambda track: not track.get("file"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundGap:
    """One gap or duplicate: the records concerned, and a description."""

    records: tuple[Record, ...] = ()
    said: Mapping[str, Any] = field(default_factory=dict)


def find_gaps(
    tracks: Sequence[Record],
    albums: Sequence[Record],
    *,
    reference: Sequence[str] | None = None,
    further: Sequence[Record] = (),
) -> dict[str, list[FoundGap]]:
    """Return the gaps of tracks and albums by their kind; `reference` names the albums of a
    complete discography.

    `further` are albums of others that an artist is on, such as compilations: they are not missing
    either.
    """
    lacking = {
        name: [FoundGap(records=(track,)) for track in tracks if is_lacking(track)]
        for name, is_lacking in WITHOUT.items()
    }
    missing = missing_albums(reference or (), [*albums, *further])
    of_album = _Neighbours(albums, tracks).of_album
    incomplete = [
        FoundGap(records=(album,), said={"missing": numbers[:MISSING_SHOWN]})
        for album in albums
        if (numbers := missing_positions(of_album.get(album.id, ())))
    ]
    return {
        **lacking,
        "albums_without_cover": [
            FoundGap(records=(album,)) for album in albums if not album.get("cover")
        ],
        "albums_with_missing_positions": incomplete,
        "duplicates": list(_iter_duplicates(tracks)),
        "missing_albums": [FoundGap(said={"name": name}) for name in missing],
    }


def missing_albums(reference: Sequence[str], albums: Sequence[Record]) -> list[str]:
    """Return the names of a discography that none of these albums has, in any spelling."""
    known = ReleaseNames(
        name for album in albums for name in (str(album.get("name")), *(album.get("aliases") or ()))
    )
    wanted = dict.fromkeys(" ".join(name.split()) for name in reference)
    return [name for name in wanted if name and not known.has(name)]


def missing_positions(tracks: Iterable[Record]) -> list[str]:
    """Return the missing track numbers of an album before its last, as `7`, or as `2-7` for several
    discs.
    """
    discs: dict[int, set[int]] = {}
    for track in tracks:
        position = track.get("position")
        if position:
            disc = track.get("disc") or (position // HUNDRED if position > HUNDRED else 0)
            discs.setdefault(disc, set()).add(
                position % HUNDRED if position > HUNDRED else position
            )
    return [
        f"{disc}-{number}" if len(discs) > 1 else str(number)
        for disc, numbers in sorted(discs.items())
        for number in range(1, max(numbers))
        if number not in numbers
    ]


def _iter_duplicates(tracks: Sequence[Record]) -> Iterable[FoundGap]:
    """Yield groups of tracks with the same name, artists and length."""
    alike: dict[tuple[str, ...], list[Record]] = {}
    for track in tracks:
        artists = tuple(sorted(track.get("artist_ids") or track.get("artists") or ()))
        alike.setdefault((work_key(str(track.get("name"))), *artists), []).append(track)
    for some in alike.values():
        for run in _runs_of_one_length(some):
            if len(run) > 1:
                yield FoundGap(records=tuple(sorted(run, key=lambda track: track.id)))


def _runs_of_one_length(tracks: Sequence[Record]) -> list[list[Record]]:
    """Split tracks into groups of about equal length; those of unknown length form one."""
    runs: list[list[Record]] = []
    last: float | None = None
    for track in sorted(tracks, key=lambda one: (one.get("seconds") or 0.0, one.id)):
        seconds = float(track.get("seconds") or 0.0)
        if last is None or bool(seconds) != bool(last) or seconds - last > SAME_LENGTH_S:
            runs.append([])
        runs[-1].append(track)
        last = seconds
    return runs


def answer_gaps(
    library: MusicLibrary, params: shapes.GetParams, *, naming: Mapping[str, str]
) -> shapes.GetResult:
    """Return the gaps of the whole catalogue, or of an artist or album."""
    record = library.get_any(params.id) if params.id else None
    reference = params.reference
    if reference is not None and (record is None or record.kind != ARTIST):
        raise InputError("'reference' lists the albums of an artist: give the artist as 'id'")
    tracks, albums = _under(library, record)
    further = _albums_with(library, tracks, albums) if reference else []
    gaps = find_gaps(tracks, albums, reference=reference, further=further)
    return shapes.GetResult(
        query_type="gaps",
        item=shapes.identity(record) if record else None,
        gaps=[
            shapes.GapGroup.of(
                found,
                lambda one: _gap_item(one, record, naming),
                offset=params.offset,
                limit=params.limit,
                gap=gap,
            )
            for gap, found in gaps.items()
            if found
        ],
        notes=[ENTERED] if gaps["missing_albums"] else [],
    )


def _albums_with(
    library: MusicLibrary, tracks: Sequence[Record], albums: Sequence[Record]
) -> list[Record]:
    """Return the albums of others that these tracks are on, such as compilations."""
    ids = dict.fromkeys(str(track.get("album_id")) for track in tracks if track.get("album_id"))
    own = {album.id for album in albums}
    return library.fetch_ids(album_id for album_id in ids if album_id not in own)


def _under(library: MusicLibrary, record: Record | None) -> tuple[list[Record], list[Record]]:
    """Return the tracks and albums that belong to a record; without one, all of them."""
    if record is None:
        return list(library.iter_records(TRACK)), list(library.iter_records(ALBUM))
    if record.kind == ARTIST:
        albums = library.albums_of(record)
        on_albums = [track for album in albums for track in library.tracks_of(album)]
        return list(
            {track.id: track for track in [*on_albums, *library.tracks_of(record)]}.values()
        ), albums
    return library.tracks_of(record), [record] if record.kind == ALBUM else []


def _gap_item(found: FoundGap, record: Record | None, naming: Mapping[str, str]) -> shapes.GapItem:
    if not found.records:
        by = {"artist_ids": [record.id]} if record else {}
        request = {"action": "create", **naming, "kind": ALBUM, "fields": {**found.said, **by}}
        return shapes.GapItem(**found.said, request=request)
    first, *others = found.records
    one = (
        {"ids": [record.id for record in found.records]}
        if others
        else {"id": first.id, "album": first.get("album")}
    )
    return shapes.GapItem(
        name=str(first.get("name")), artists=list(first.get("artists") or ()), **one, **found.said
    )


def answer_fixes(
    library: MusicLibrary, params: shapes.GetParams, *, naming: Mapping[str, str]
) -> shapes.GetResult:
    """Return corrections inferred from related records, as arguments of `catalog.mutate`."""
    record = library.get_any(params.id) if params.id else None
    every_track, every_album = _under(library, None)
    tracks, albums = _under(library, record) if record else (every_track, every_album)
    artists = [record] if record else library.iter_records(ARTIST)
    wanted = {one.id: one for one in [*artists, *albums, *tracks]}.values()
    fixes = list(propose_fixes(wanted, albums=every_album, tracks=every_track))
    page = shapes.FixGroup.of(
        fixes, lambda fix: _proposed(fix, naming), offset=params.offset, limit=params.limit
    )
    return shapes.GetResult(query_type="fixes", fixes=page)


def _proposed(fix: Fix, naming: Mapping[str, str]) -> shapes.ProposedFix:
    fields = {field: shapes.plain_value(value) for field, value in fix.fields.items()}
    return shapes.ProposedFix(
        request={"action": "update", **naming, "id": fix.record.id, "fields": fields},
        replaces={field: shapes.plain_value(fix.record.get(field)) for field in fields},
        reasons=list(fix.reasons),
    )
