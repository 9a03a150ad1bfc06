"""Group the tracks of files or tables into rows of artists, albums and tracks. Pure.

Tracks are grouped by MusicBrainz ids where tags have them, else by names without regard to case and
accents. Ids are derived from the same, so that they are stable when a folder is read again:

    artist-NAME                                  artist-MBID
    album-ARTIST-ALBUM-HASH                      album-MBID
    track-ARTIST-ALBUM-DISC-POSITION-NAME-HASH   track-MBID, of the release track or else the
                                                 recording

Of several files with the same id, the first by path keeps it; the others get a hash of their path
as a suffix.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any, TypeVar

import orjson

from stackroom.api import fold_name
from stackroom.api.rows import SourceRow

ARTIST, ALBUM, TRACK = "artist", "album", "track"
KINDS = (ARTIST, ALBUM, TRACK)
VARIOUS = "Various Artists"
VARIOUS_NAMES = frozenset({"various artists", "various", "va", "v a"})
COVERS = "media/covers"  # folder of extracted pictures, in the catalogue's folder

MOST_GENRES = 6
SLUG_CHARS = 64
HASH_DIGITS = 8
SEPARATORS = re.compile(r"\s*;\s*|\s+/\s+")
GUEST = re.compile(
    r"\s+[(\[]?(?:feat\.?|ft\.?|featuring)\s+(?P<guest>[^)\]]+)[)\]]?\s*$", re.IGNORECASE
)
FILE_NAME = re.compile(r"(?P<number>0\d{1,2}|\d{1,3}(?=\s*[-._]))\s*[-._]*\s*(?P<title>\D.*)")

ItemT = TypeVar("ItemT", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """An artist's name as a track or album credits it, with a MusicBrainz id."""

    name: str
    mbid: str = ""

    @property
    def key(self) -> str:
        """The name in normal form, for comparison."""
        return key_of(self.name)


@dataclass(frozen=True, kw_only=True)
class Tagged:
    """A track with the tags of its file or row."""

    place: str
    said: Mapping[str, Any]

    @cached_property
    def artists(self) -> tuple[Credit, ...]:
        """Its artists; without tags, the parent of its folder."""
        return (
            _credits(self.said.get("artists"), self.said.get("artist_mbids"))
            or self._from_folders[:-1]
        )

    @cached_property
    def album(self) -> str:
        """Its album; without tags, its folder."""
        return str(
            self.said.get("album") or (self._from_folders[-1].name if self._from_folders else "")
        )

    @cached_property
    def album_artists(self) -> tuple[Credit, ...]:
        """The album's artists, if tagged."""
        stated = _credits(self.said.get("album_artists"), self.said.get("album_artist_mbids"))
        if any(credit.key in VARIOUS_NAMES for credit in stated):
            return (Credit(name=VARIOUS),)
        return stated

    @cached_property
    def title(self) -> str:
        """Its title; without one, the file's name without a leading number."""
        stem = PurePosixPath(self.place).stem
        named = FILE_NAME.fullmatch(stem)
        return str(self.said.get("title") or (named["title"].strip() if named else stem) or stem)

    @cached_property
    def position(self) -> int | None:
        """Its number on the disc; without a tag, the leading number of the file's name."""
        named = (
            FILE_NAME.fullmatch(PurePosixPath(self.place).stem) if self.said.get("path") else None
        )
        return self.said.get("position") or (int(named["number"]) or None if named else None)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of its file, the innermost last."""
        return tuple(self.said.get("folders") or ())

    @property
    def _from_folders(self) -> tuple[Credit, ...]:
        """Artist and album by the folders of a file without tags."""
        is_silent = not self.said.get("artists") and not self.said.get("album")
        return tuple(Credit(name=folder) for folder in self.folders[-2:]) if is_silent else ()


@dataclass(frozen=True, kw_only=True)
class Album:
    """The tracks of one album."""

    id: str
    artists: tuple[Credit, ...]
    tracks: tuple[Tagged, ...]

    @property
    def name(self) -> str:
        """The most common spelling of its name."""
        return most_common(track.album for track in self.tracks)


def group_rows(tracks: Iterable[Tagged]) -> list[SourceRow]:
    """Return the rows of artists, albums and tracks, in this order; deterministic."""
    ordered = sorted(tracks, key=lambda track: track.place)
    albums = _albums(ordered)
    artists = _Artists(ordered, albums)
    album_of = {track.place: album for album in albums for track in album.tracks}
    track_rows: dict[str, SourceRow] = {}
    for track in ordered:
        album = album_of.get(track.place)
        track_id = _track_id(track, album)
        track_id = f"{track_id}-{_hash(track.place)}" if track_id in track_rows else track_id
        track_rows[track_id] = _track_row(track, track_id, album, artists)
    album_rows = [_album_row(album, artists) for album in albums]
    return [*_artist_rows(ordered, albums, artists), *album_rows, *track_rows.values()]


@lru_cache(maxsize=100_000)
def key_of(name: str) -> str:
    """Return a name in normal form, for comparison; one without letters or digits stays as it
    is.
    """
    return fold_name(name) or name.strip().casefold()


def slug_of(*parts: str) -> str:
    """Return names as a part of an id.

    A hash follows where letters had to go, and where there are several names, which could be cut in
    more than one way.
    """
    keys = [key_of(part) for part in parts]
    words = "-".join("-".join(key.split()) for key in keys if key)
    plain = re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9-]+", "", words)).strip("-")
    if len(parts) == 1 and plain == words and len(plain) <= SLUG_CHARS:
        return plain
    return f"{plain[:SLUG_CHARS].strip('-')}-{_hash(*keys)}".strip("-")


def most_common(items: Iterable[ItemT]) -> ItemT:
    """Return the most common value, ties by first occurrence."""
    return Counter(items).most_common(1)[0][0]


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:HASH_DIGITS]


def _credits(names: Any, mbids: Any) -> tuple[Credit, ...]:
    """Pair names with their ids, if there are equally many."""
    stated = [str(name) for name in names or ()]
    ids = [str(mbid) for mbid in mbids or ()]
    parted = [
        part.strip()
        for name in stated
        for one in SEPARATORS.split(name)
        for part in GUEST.split(one, maxsplit=1)
    ]
    parted = [part for part in parted if part]
    for some in (stated, parted):
        if ids and len(some) == len(ids):
            return tuple(Credit(name=name, mbid=mbid) for name, mbid in zip(some, ids, strict=True))
    return tuple(Credit(name=name) for name in dict.fromkeys(parted))


def _albums(tracks: Sequence[Tagged]) -> list[Album]:
    """Return the albums, by id."""
    tracks = [track for track in tracks if track.album]
    by_folder: dict[Hashable, set[str]] = {}
    for track in tracks:
        if track.said.get("album_mbid"):
            by_folder.setdefault((track.folders, key_of(track.album)), set()).add(
                track.said["album_mbid"]
            )
    drafts: dict[tuple[str, ...], list[Tagged]] = {}
    for track in tracks:
        drafts.setdefault(_draft_key(track, by_folder), []).append(track)
    grouped: dict[str, tuple[tuple[Credit, ...], list[Tagged]]] = {}
    for key, some in drafts.items():
        artists = _album_artists(some)
        is_mbid = key[0] == "mbid"
        name = key[1] if is_mbid else slug_of(*(a.name for a in artists), some[0].album)
        album_id = f"{ALBUM}-{name}"
        grouped.setdefault(album_id, (artists, []))[1].extend(some)
    return [
        Album(id=album_id, artists=artists, tracks=tuple(some))
        for album_id, (artists, some) in sorted(grouped.items())
    ]


def _draft_key(track: Tagged, by_folder: Mapping[Hashable, set[str]]) -> tuple[str, ...]:
    """Return the grouping key of a track's album.

    A track without a MusicBrainz id joins the one album of this name in its folder that has an id
    in `by_folder`.
    """
    name = key_of(track.album)
    known = (
        {track.said["album_mbid"]}
        if track.said.get("album_mbid")
        else by_folder.get((track.folders, name), set())
    )
    if len(known) == 1:
        return "mbid", *known
    if track.album_artists:
        return "by", name, *(artist.key for artist in track.album_artists)
    return "in", name, *track.folders


def _album_artists(tracks: Sequence[Tagged]) -> tuple[Credit, ...]:
    """Return an album's artists: as tagged, else those of all its tracks, else various artists."""
    stated = [track.album_artists for track in tracks if track.album_artists]
    if stated:
        return most_common(stated)
    if any(track.said.get("is_compilation") for track in tracks):
        return (Credit(name=VARIOUS),)
    shared = {credit.key for credit in tracks[0].artists}.intersection(
        *({credit.key for credit in track.artists} for track in tracks)
    )
    common = tuple(credit for credit in tracks[0].artists if credit.key in shared)
    is_of_many = len({track.artists for track in tracks}) > 1
    return common or ((Credit(name=VARIOUS),) if is_of_many else tracks[0].artists)


class _Artists:
    """Ids and names of artists. A name with one MusicBrainz id anywhere has it everywhere."""

    def __init__(self, tracks: Sequence[Tagged], albums: Sequence[Album]) -> None:
        credited = [credit for track in tracks for credit in track.artists]
        every = [*credited, *(credit for album in albums for credit in album.artists)]
        self._mbids: dict[str, set[str]] = {}
        for credit in every:
            self._mbids.setdefault(credit.key, set()).update(filter(None, [credit.mbid]))
        spellings: dict[str, list[str]] = {}
        for credit in every:
            spellings.setdefault(self.id_of(credit), []).append(credit.name)
        self.names = {artist_id: most_common(some) for artist_id, some in sorted(spellings.items())}

    def id_of(self, credit: Credit) -> str:
        """Return the id of an artist."""
        known = self._mbids.get(credit.key, set())
        mbid = credit.mbid or (next(iter(known)) if len(known) == 1 else "")
        return f"{ARTIST}-{mbid or slug_of(credit.name)}"

    def fields_of(self, given: Sequence[Credit]) -> dict[str, list[str]]:
        """Return the artist fields of an album or track."""
        ids = list(dict.fromkeys(map(self.id_of, given)))
        return {"artist_ids": ids, "artists": [self.names[artist_id] for artist_id in ids]}


def _artist_rows(
    tracks: Sequence[Tagged], albums: Sequence[Album], artists: _Artists
) -> list[SourceRow]:
    works: dict[str, list[Tagged]] = {artist_id: [] for artist_id in artists.names}
    for track in tracks:
        for artist_id in dict.fromkeys(map(artists.id_of, track.artists)):
            works[artist_id].append(track)
    for album in albums:
        for artist_id in dict.fromkeys(map(artists.id_of, album.artists)):
            works[artist_id] = works[artist_id] or list(album.tracks)
    return [
        _row(
            ARTIST,
            artist_id,
            artist_id,
            name=artists.names[artist_id],
            genres=_genres(some),
            added=_first_added(some),
        )
        for artist_id, some in works.items()
    ]


def _album_row(album: Album, artists: _Artists) -> SourceRow:
    tracks = album.tracks
    return _row(
        ALBUM,
        album.id,
        album.id,
        name=album.name,
        **artists.fields_of(album.artists),
        genres=_genres(tracks),
        year=_year(tracks),
        seconds=round(sum(track.said.get("seconds") or 0.0 for track in tracks), 2) or None,
        cover=_cover(tracks),
        added=_first_added(tracks),
    )


def _track_row(track: Tagged, track_id: str, album: Album | None, artists: _Artists) -> SourceRow:
    said = track.said
    return _row(
        TRACK,
        track_id,
        track.place,
        name=track.title,
        **artists.fields_of(track.artists or (album.artists if album else ())),
        **({"album_id": album.id, "album": album.name} if album else {"cover": _cover([track])}),
        composers=list(said.get("composers") or ()),
        genres=_genres([track]),
        position=track.position,
        file=said.get("path"),
        **{name: said.get(name) for name in ("year", "disc", "seconds", "plays", "added")},
    )


def _row(kind: str, record_id: str, place: str, **values: Any) -> SourceRow:
    present = {name: value for name, value in values.items() if value not in (None, "", [])}
    row = {"id": record_id, "kind": kind, **present}
    digest = hashlib.sha256(orjson.dumps(row, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return SourceRow(place=place, values=row, digest=digest)


def _genres(tracks: Sequence[Tagged]) -> list[str]:
    """Return the genres of tracks, most common first, each in its most common spelling."""
    stated = [genre for track in tracks for genre in track.said.get("genres") or ()]
    named = Counter(
        part.strip() for genre in stated for part in re.split(r"[;,|]", str(genre)) if part.strip()
    )
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for name, count in named.most_common():
        counts[key_of(name)] += count
        spelt.setdefault(key_of(name), name)
    return [
        spelt[key]
        for key, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:MOST_GENRES]
    ]


def _year(tracks: Sequence[Tagged]) -> int | None:
    """Return the most common year of tracks, ties by first occurrence."""
    counts = Counter(int(track.said["year"]) for track in tracks if track.said.get("year"))
    return min(counts, key=lambda year: (-counts[year], year), default=None)


def _cover(tracks: Sequence[Tagged]) -> str | None:
    """Return the cover of an album: the one embedded in most files, else one beside them."""
    inside = [track.said["picture"] for track in tracks if track.said.get("picture")]
    beside = [track.said["beside"] for track in tracks if track.said.get("beside")]
    return f"{COVERS}/{most_common(inside)}" if inside else next(iter(beside), None)


def _first_added(tracks: Sequence[Tagged]) -> str | None:
    return min(
        (str(track.said["added"]) for track in tracks if track.said.get("added")), default=None
    )


def _track_id(track: Tagged, album: Album | None) -> str:
    stated = track.said.get("id") or track.said.get("track_mbid")
    if stated:
        return f"{TRACK}-{str(stated).removeprefix(f'{TRACK}-')}"
    by = " ".join(credit.name for credit in track.artists) or (
        album.artists[0].name if album and album.artists else ""
    )
    numbers = (str(track.said.get("disc") or ""), str(track.position or ""))
    return f"{TRACK}-{slug_of(by, album.name if album else '', *numbers, track.title)}"
