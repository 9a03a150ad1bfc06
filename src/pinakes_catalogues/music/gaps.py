"""Gaps of a music catalogue: missing metadata, positions and albums of a discography, and duplicates. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pinakes.api import Record
from pinakes_catalogues.music.names import ReleaseNames, work_key

SAME_LENGTH_S = 2.0
"""Difference in length from which recordings of the same name count as different."""
HUNDRED = 100
MISSING_SHOWN = 20

WITHOUT: Mapping[str, Callable[[Record], bool]] = {
    "tracks_without_year": lambda track: track.get("year") is None,
    "tracks_without_genre": lambda track: not track.get("genres"),
    "tracks_without_length": lambda track: not track.get("seconds"),
    "tracks_without_album": lambda track: not track.get("album_id"),
    "tracks_without_file": lambda track: not track.get("file"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One gap or duplicate: the records concerned, and a description."""

    records: tuple[Record, ...] = ()
    said: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One kind of gap with all its occurrences."""

    name: str
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAlbum:
    """An album that there should be."""

    name: str
    year: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The albums of a complete discography, with notes on where they are from."""

    albums: tuple[ReferenceAlbum, ...]
    notes: tuple[str, ...] = ()


def find_gaps(
    tracks: Sequence[Record],
    albums: Sequence[Record],
    *,
    reference: Reference | None = None,
    further: Sequence[Record] = (),
) -> list[Gap]:
    """Return the gaps of tracks and albums; `reference` has the albums of a complete discography.

    `further` are albums of others that an artist is on, such as compilations: they are not missing either.
    """
    gaps = [
        Gap(name=name, found=tuple(Found(records=(track,)) for track in tracks if is_lacking(track)))
        for name, is_lacking in WITHOUT.items()
    ]
    uncovered = [Found(records=(album,)) for album in albums if not album.get("cover")]
    missing = missing_albums(reference.albums, [*albums, *further]) if reference is not None else []
    return [
        *gaps,
        Gap(name="albums_without_cover", found=tuple(uncovered)),
        Gap(name="albums_with_missing_positions", found=tuple(_iter_incomplete(tracks, albums))),
        Gap(name="duplicates", found=tuple(_iter_duplicates(tracks))),
        Gap(name="missing_albums", found=tuple(Found(said=_said_of(one)) for one in missing)),
    ]


def missing_albums(reference: Sequence[ReferenceAlbum], albums: Sequence[Record]) -> list[ReferenceAlbum]:
    """Return the albums of a discography that are not among these, the first of each name."""
    known = ReleaseNames(name for album in albums for name in (str(album.get("name")), *(album.get("aliases") or ())))
    wanted: dict[str, ReferenceAlbum] = {}
    for one in reference:
        wanted.setdefault(" ".join(one.name.split()), one)
    return [replace(one, name=name) for name, one in wanted.items() if name and not known.has(name)]


def _said_of(album: ReferenceAlbum) -> dict[str, Any]:
    return {"name": album.name} if album.year is None else {"name": album.name, "year": album.year}


def _iter_incomplete(tracks: Sequence[Record], albums: Sequence[Record]) -> Iterable[Found]:
    """Yield the albums with missing track numbers between 1 and their last."""
    by_album: dict[str, list[Record]] = {}
    for track in tracks:
        by_album.setdefault(str(track.get("album_id") or ""), []).append(track)
    for album in albums:
        numbers = missing_positions(by_album.get(album.id, ()))
        if numbers:
            yield Found(records=(album,), said={"missing": numbers[:MISSING_SHOWN]})


def missing_positions(tracks: Iterable[Record]) -> list[str]:
    """Return the missing track numbers of an album, as `7`, or as `2-7` for several discs."""
    discs: dict[int, set[int]] = {}
    for track in tracks:
        position = track.get("position")
        if position:
            disc = track.get("disc") or (position // HUNDRED if position > HUNDRED else 0)
            discs.setdefault(disc, set()).add(position % HUNDRED if position > HUNDRED else position)
    return [
        f"{disc}-{number}" if len(discs) > 1 else str(number)
        for disc, numbers in sorted(discs.items())
        for number in range(1, max(numbers))
        if number not in numbers
    ]


def _iter_duplicates(tracks: Sequence[Record]) -> Iterable[Found]:
    """Yield groups of tracks with the same name, artists and length."""
    alike: dict[tuple[str, ...], list[Record]] = {}
    for track in tracks:
        artists = tuple(sorted(track.get("artist_ids") or track.get("artists") or ()))
        alike.setdefault((work_key(str(track.get("name"))), *artists), []).append(track)
    for some in alike.values():
        for run in _runs_of_one_length(some):
            if len(run) > 1:
                yield Found(records=tuple(sorted(run, key=lambda track: track.id)))


def _runs_of_one_length(tracks: Sequence[Record]) -> list[list[Record]]:
    """Split tracks into groups of about equal length; those of unknown length form one."""
    runs: list[list[Record]] = []
    last: float | None = None
    for track in sorted(tracks, key=lambda one: (one.get("seconds") or 0.0, one.id)):
        seconds = float(track.get("seconds") or 0.0)
        is_same = last is not None and bool(seconds) == bool(last) and seconds - last <= SAME_LENGTH_S
        if is_same:
            runs[-1].append(track)
        else:
            runs.append([track])
        last = seconds
    return runs
