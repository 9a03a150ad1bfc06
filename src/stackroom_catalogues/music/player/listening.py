"""Lists for a player, with the addresses of pictures: everything by name or by a search, and what
the caller keeps, in limits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, repeat, zip_longest
from pathlib import PurePath
from random import Random
from typing import Annotated, Any, Literal
from urllib.parse import quote

import numpy as np
from pydantic import Field, StringConstraints

from stackroom import api
from stackroom.api import http
from stackroom.api.ranking import Key
from stackroom.api.shapes import optional
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, KINDS, TRACK
from stackroom_catalogues.music.library import MusicLibrary, find_similar
from stackroom_catalogues.music.search import find_parts
from stackroom_catalogues.music.shapes import (
    GROUPS,
    MOST,
    SearchMusicParams,
    genre_names,
    is_playable,
)

OfAll = Literal["artists", "albums", "tracks", "search", "recent"]
OfRecord = Literal["artist", "album", "track"]
OfCaller = Literal["likes", "plays", "heard", "playlist"]
List = Literal[OfAll, OfRecord, OfCaller, "similar", "radio", "genres"]
Sort = Literal["", "name", "artist", "year", "-year", "new", "random"]
KIND_OF: Mapping[str, str] = {group: kind for kind, group in GROUPS.items()}
MOST_LISTED = 2_000
MOST_LIKES = 10_000
MOST_PLAYLISTS = 200
MOST_TRACKS = 2_000
LONGEST_NAME = 200
READ_AT_ONCE = 200
SIMILAR_ARTISTS = 7
RADIO_SEEDS = 5  # tracks of a record that a radio begins with
RANDOM = Random()
NAMELESS = "\U0010ffff"  # what names of signs alone are sorted as: last

Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]


class ListenParams(http.PageParams):
    """A list: of everything, or of what belongs to a record or to the caller."""

    list: List = Field(description="which list")
    id: Text = Field(default="", description="the record or playlist that the list belongs to")
    q: Text = Field(
        default="",
        description="of artists, albums, tracks and search: those that answer these words",
    )
    genre: Text = Field(
        default="",
        description="of artists, albums and tracks: only of this genre",
    )
    from_year: http.WholeNumber | None = optional("and not older than this")
    to_year: http.WholeNumber | None = optional("and not newer than this")
    sort: Sort = Field(
        default="", description="of artists, albums and tracks: the order, unless words are given"
    )
    counts: bool = Field(
        default=False, description="count the tracks of albums, and the albums of artists"
    )
    playable: bool = Field(default=False, description="only tracks that have a file")
    catalogue: Text = Field(default="", description="only this one")
    limit: http.WholeNumber = Field(
        default=60, ge=1, le=MOST_LISTED, description="how many to return at most"
    )


class Named(api.GenericResult):
    """A record that another refers to."""

    id: str
    name: str


class ListedRecord(api.GenericResult):
    """A record in a list."""

    kind: str
    id: str
    catalogue: str
    name: str
    artists: list[Named]
    album: Named | None
    year: int | None
    seconds: float | None
    disc: int | None
    position: int | None
    genres: list[str]
    plays: int | None
    playable: bool = Field(description="whether it has a file that can be played")
    suffix: str | None = Field(description="the ending of its file")
    added: str | None = Field(description="the day on which it came")
    count: int | None = optional("how many tracks or albums it has, where that is counted")
    image: str | None = Field(description="the address of its cover")
    about: str | None = None


class ListedPage(api.GenericResult):
    """A part of a list; the total is null where it was not counted."""

    items: list[ListedRecord]
    total: int | None
    has_more: bool


class ListedGenre(api.GenericResult):
    """A genre, or another mark of a track such as its instrument."""

    category: str
    name: str
    tracks: int
    albums: int


class ListenResult(api.GenericResult):
    """Lists, and the record or playlist that they belong to."""

    item: ListedRecord | None = None
    name: str | None = optional("the name of a playlist")
    artists: ListedPage | None = None
    albums: ListedPage | None = None
    tracks: ListedPage | None = None
    genres: list[ListedGenre] | None = None
    missing: list[str] = Field(
        default_factory=list, description="ids whose records no longer exist"
    )


class LikeEntry(api.GenericResult):
    """A record that the caller likes."""

    id: str
    kind: str
    liked_at: datetime


class PlaylistResult(api.GenericResult):
    """A playlist of the caller's."""

    id: str
    name: str
    updated_at: datetime
    tracks: list[str]
    missing: list[str] = Field(description="ids whose records no longer exist")


@dataclass(frozen=True, slots=True)
class Placed:
    """A record, and the catalogue that it is of."""

    library: MusicLibrary
    record: api.Record
    plays: int | None = None


def list_record(placed: Placed, covered: set[tuple[str, str]], count: int | None) -> ListedRecord:
    """Return a record as it is listed; `covered` has the catalogues and ids of albums with a
    cover.
    """
    record, name = placed.record, placed.library.view.name
    album_id, is_ready = record.get("album_id"), is_playable(record)
    pictured = (
        record.id if record.get("cover") else str(album_id) if (name, album_id) in covered else None
    )
    credited = zip(record.get("artist_ids") or (), record.get("artists") or (), strict=False)
    return ListedRecord(
        kind=record.kind,
        id=record.id,
        catalogue=name,
        name=str(record.get("name")),
        artists=[Named(id=one, name=called) for one, called in credited],
        album=Named(id=str(album_id), name=str(record.get("album") or "")) if album_id else None,
        genres=genre_names(record),
        plays=placed.plays,
        playable=is_ready,
        suffix=PurePath(record.get("file")).suffix[1:].lower() if is_ready else None,
        count=count,
        image=f"/v1/media/{quote(name, safe='')}/cover/{quote(pictured)}" if pictured else None,
        **{field: record.get(field) for field in ("year", "seconds", "disc", "position", "added")},
    )


def music_catalogues(catalogues: Sequence[api.OpenCatalogue]) -> list[api.OpenCatalogue]:
    """Return the catalogues with artists, albums and tracks; refuse a caller who sees none."""
    found = [catalogue for catalogue in catalogues if set(KINDS) <= set(catalogue.spec.kinds)]
    if not found:
        raise api.ForbiddenError(
            "there is no catalogue of music here that you may see; ask an administrator for access"
        )
    return found


def open_libraries(call: api.Call) -> dict[str, MusicLibrary]:
    """Return the catalogues of music as the caller sees them."""
    found = music_catalogues(call.catalogues)
    return {catalogue.name: MusicLibrary(catalogue.view(), call.principal) for catalogue in found}


def find_placed(libraries: Mapping[str, MusicLibrary], ids: Sequence[str]) -> dict[str, Placed]:
    """Return the records of ids, each from the first catalogue that has it."""
    found: dict[str, Placed] = {}
    for library in libraries.values():
        left = [one for one in dict.fromkeys(ids) if one not in found]
        found |= {one.record.id: one for one in _placed(library, library.fetch_ids(left))}
    return found


def sorted_as(name: str) -> str:
    """Return a name without case, accents and a leading article; one of signs alone comes last."""
    folded = api.fold_name(name).removeprefix("the ")
    return folded or f"{NAMELESS}{name}"


Keyed = tuple[MusicLibrary, Key]  # a record that is not read yet


def _sort_keys(library: MusicLibrary, keys: Sequence[Key], sort: str) -> Sequence[Any]:
    """Return what records are sorted by before their names decide."""
    if sort == "random":
        return [RANDOM.random() for _ in keys]
    if sort == "artist":
        return [sorted_as(", ".join(record.get("artists") or ())) for record in library.fetch(keys)]
    if sort == "name":
        return [""] * len(keys)
    years = library.reader.numbers("year", list(keys))
    return list(-np.nan_to_num(years) if sort == "-year" else np.nan_to_num(years, nan=9999))


class ListenAnswer:
    """Answers one request for lists."""

    def __init__(self, call: api.Call, params: ListenParams, open_store: Callable[[], Any]) -> None:
        self._query = params
        self._user = call.principal.name
        self._open_store = open_store
        every = open_libraries(call)
        wanted = self._query.catalogue
        if wanted and wanted not in every:
            raise api.InputError(f"'catalogue': no '{wanted[:80]}'; there are: {', '.join(every)}")
        self._libraries = {wanted: every[wanted]} if wanted else every

    @property
    def _conditions(self) -> list[api.Condition]:
        """The conditions of all that is listed by name or by chance."""
        genre, first, last = self._query.genre, self._query.from_year, self._query.to_year
        years = [] if first is None and last is None else [api.Range("year", first, last)]
        return [*([api.AnyOf("genres", (genre,))] if genre else []), *years]

    def answer(self) -> ListenResult:
        """Return the lists that were asked for."""
        wanted = self._query.list
        own: Mapping[str, Callable[[], ListenResult]] = {
            "search": self._search,
            "recent": self._recent,
            "artist": self._artist,
            "album": self._album,
            "track": self._track,
            "similar": self._similar,
            "likes": self._likes,
            "plays": self._plays,
            "heard": self._plays,
            "radio": self._radio,
            "genres": self._genres,
            "playlist": self._playlist,
        }
        return own.get(wanted, self._everything)()

    def _everything(self) -> ListenResult:
        group = self._query.list
        return ListenResult.model_validate({group: self._listed(KIND_OF[group])})

    def _listed(self, kind: str) -> ListedPage:
        if self._query.q:
            return self._page(self._found(kind))
        sort = self._query.sort or ("new" if kind == TRACK or self._query.playable else "name")
        keyed = self._keyed(kind, sort)
        if self._query.playable:
            return self._page(self._iter_placed(keyed))
        start, end = self._query.offset, self._query.offset + self._query.limit
        shown = list(self._iter_placed(keyed[start:end]))
        return ListedPage(items=self._shape(shown), total=len(keyed), has_more=end < len(keyed))

    def _keyed(self, kind: str, sort: str) -> list[Keyed]:
        """Return records in an order, unread: clients page through everything."""
        libraries, conditions = self._libraries.values(), self._conditions
        if sort == "new":
            return [
                (library, key)
                for library in libraries
                for key in library.recent_keys(kind, *conditions)
            ]
        named: list[tuple[Any, str, Key, MusicLibrary]] = []
        for library in libraries:
            keys = library.keys(kind, *conditions)
            titles = (
                title.removeprefix("the ") or NAMELESS for title in library.reader.titles(keys)
            )
            named += zip(_sort_keys(library, keys, sort), titles, keys, repeat(library))
        return [(library, key) for _, _, key, library in sorted(named, key=lambda one: one[:3])]

    def _iter_placed(self, keyed: Sequence[Keyed]) -> Iterator[Placed]:
        """Yield records in their order, read a few at once."""
        for start in range(0, len(keyed), READ_AT_ONCE):
            some = keyed[start : start + READ_AT_ONCE]
            placed: dict[tuple[str, Key], Placed] = {}
            for name, library in self._libraries.items():
                found = library.reader.fetch(
                    [key for one, key in some if one is library], scope=library.scope()
                )
                placed |= {(name, key): Placed(library, record) for key, record in found.items()}
            yield from (
                placed[pair]
                for library, key in some
                if (pair := (library.view.name, key)) in placed
            )

    def _found(self, kind: str) -> list[Placed]:
        params = SearchMusicParams.model_validate({"query": self._query.q, "kind": kind})
        found = [
            (hit.score, Placed(library, hit.record))
            for library in self._libraries.values()
            for hit in find_parts(library, params)[kind].hits(MOST)
        ]
        return [placed for _, placed in sorted(found, key=lambda one: -one[0])]

    def _radio(self) -> ListenResult:
        """Return tracks that are like a record, or like the first tracks of an artist or album."""
        placed = self._get()
        library, record = placed.library, placed.record
        list_tracks = library.top_tracks_of if record.kind == ARTIST else library.tracks_of
        seeds = _placed(library, list_tracks(record)[:RADIO_SEEDS])
        by_turns = zip_longest(*(_alike(seed, limit=MOST) for seed in seeds))
        like_all = {one.record.id: one for some in by_turns for one in some if one is not None}
        for seed in seeds:
            like_all.pop(seed.record.id, None)
        return ListenResult(tracks=self._page(iter(like_all.values())))

    def _genres(self) -> ListenResult:
        """Return the genres and other marks of tracks, the most frequent first."""
        counts: dict[tuple[str, str], list[int]] = {}
        for library in self._libraries.values():
            for place, kind in enumerate((TRACK, ALBUM)):
                for facet in library.reader.facets("genres", scope=library.scope(kind)):
                    counts.setdefault((facet.category, facet.value), [0, 0])[place] += facet.count
        ordered = sorted(counts.items(), key=lambda one: (-one[1][0], one[0]))
        start, end = self._query.offset, self._query.offset + self._query.limit
        listed = [
            ListedGenre(category=category, name=name, tracks=tracks, albums=albums)
            for (category, name), (tracks, albums) in ordered[start:end]
        ]
        return ListenResult(genres=listed)

    def _search(self) -> ListenResult:
        if not self._query.q:
            raise api.InputError("'q' is missing: the words to search for")
        return ListenResult(
            artists=self._listed(ARTIST), albums=self._listed(ALBUM), tracks=self._listed(TRACK)
        )

    def _recent(self) -> ListenResult:
        """Return the newest albums, and the newest tracks that can be played."""
        albums, tracks = (self._iter_placed(self._keyed(kind, "new")) for kind in (ALBUM, TRACK))
        ready = (one for one in tracks if is_playable(one.record))
        return ListenResult(albums=self._page(albums), tracks=self._page(ready))

    def _artist(self) -> ListenResult:
        artist = self._get(ARTIST)
        library, record = artist.library, artist.record
        return ListenResult(
            item=self._item(artist),
            albums=self._page(_placed(library, library.albums_of(record))),
            tracks=self._page(_placed(library, library.top_tracks_of(record))),
            artists=self._page(_alike(artist, limit=SIMILAR_ARTISTS)),
        )

    def _album(self) -> ListenResult:
        album = self._get(ALBUM)
        tracks = self._page(_placed(album.library, album.library.tracks_of(album.record)))
        return ListenResult(item=self._item(album), tracks=tracks)

    def _track(self) -> ListenResult:
        return ListenResult(item=self._item(self._get(TRACK)))

    def _similar(self) -> ListenResult:
        placed = self._get()
        group = {GROUPS[placed.record.kind]: self._page(_alike(placed, limit=MOST))}
        return ListenResult.model_validate({"item": self._item(placed), **group})

    def _likes(self) -> ListenResult:
        likes, _ = self._open_store().list_likes(self._user)
        placed, missing = self._kept([like.id for like in likes])
        groups = {
            group: self._page([one for one in placed if one.record.kind == kind])
            for kind, group in GROUPS.items()
        }
        return ListenResult.model_validate({"missing": missing, **groups})

    def _plays(self) -> ListenResult:
        """Return the tracks that the caller played, and their albums: the most played first, or the
        latest.
        """
        plays = self._open_store().list_plays(self._user, latest_first=self._query.list == "heard")
        heard = [replace(one, plays=plays[one.record.id]) for one in self._kept(list(plays))[0]]
        albums, _ = self._kept(
            list(dict.fromkeys(str(one.record.get("album_id")) for one in heard))
        )
        return ListenResult(albums=self._page(albums), tracks=self._page(heard))

    def _playlist(self) -> ListenResult:
        playlist = self._open_store().get_playlist(self._user, self._query.id)
        tracks, missing = self._kept(playlist.tracks)
        return ListenResult(name=playlist.name, tracks=self._page(tracks), missing=missing)

    def _kept(self, ids: Sequence[str]) -> tuple[list[Placed], list[str]]:
        """Return the records of ids in their order, and the ids that have none."""
        found = find_placed(self._libraries, ids)
        return [found[one] for one in ids if one in found], [
            one for one in dict.fromkeys(ids) if one not in found
        ]

    def _get(self, kind: str = "") -> Placed:
        """Return the record of the requested id, which must be of a kind where one is given."""
        found = find_placed(self._libraries, [self._query.id]).get(self._query.id)
        if found is None or kind not in ("", found.record.kind):
            raise api.NotFoundError(
                f"no {kind or 'record'} '{self._query.id[:200]}'; list=search finds ids"
            )
        return found

    def _page(self, found: Sequence[Placed] | Iterator[Placed]) -> ListedPage:
        """Return a part of a list, which is counted if it is whole."""
        start, limit, only_ready = self._query.offset, self._query.limit, self._query.playable
        fitting = (one for one in found if not only_ready or is_playable(one.record))
        shown = list(islice(fitting, start, start + limit + 1))
        return ListedPage(
            items=self._shape(shown[:limit]),
            total=len(found) if isinstance(found, Sequence) and not only_ready else None,
            has_more=len(shown) > limit,
        )

    def _item(self, placed: Placed) -> ListedRecord:
        about = placed.record.get("about") or None
        return self._shape([placed])[0].model_copy(update={"about": about})

    def _shape(self, placed: Sequence[Placed]) -> list[ListedRecord]:
        """Return records as they are listed; a track has the cover of its album."""
        covered: set[tuple[str, str]] = set()
        for name, library in self._libraries.items():
            albums = {
                str(one.record.get("album_id"))
                for one in placed
                if one.library is library and one.record.get("album_id")
            }
            found = library.fetch_ids(sorted(albums))
            covered |= {(name, album.id) for album in found if album.get("cover")}
        counts = self._counts({one.record.kind for one in placed}) if self._query.counts else {}
        return [
            list_record(one, covered, counts.get((one.library.view.name, one.record.id)))
            for one in placed
        ]

    def _counts(self, kinds: set[str]) -> dict[tuple[str, str], int]:
        """Return how many tracks each album and how many albums each artist has, by catalogue and
        id.
        """
        return {
            (name, facet.value): facet.count
            for kind, (of, field) in COUNTED.items()
            if kind in kinds
            for name, library in self._libraries.items()
            for facet in library.reader.facets(field, scope=library.scope(of))
        }


def _placed(library: MusicLibrary, records: Iterable[api.Record]) -> list[Placed]:
    return [Placed(library, record) for record in records]


def _alike(placed: Placed, *, limit: int) -> list[Placed]:
    """Return the records most like one."""
    found = find_similar(placed.library, placed.record, limit=limit)
    return _placed(placed.library, (record for record, _ in found))


COUNTED = {ALBUM: (TRACK, "album_id"), ARTIST: (ALBUM, "artist_ids")}
