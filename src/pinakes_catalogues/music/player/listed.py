"""Artists, albums and tracks as a player lists them, with the addresses of their pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field, StringConstraints

from pinakes.api import EndpointResult, PageParams, Record, WholeNumber
from pinakes_catalogues.music.grouping import ALBUM, ARTIST, TRACK
from pinakes_catalogues.music.library import MusicLibrary
from pinakes_catalogues.music.shapes import genre_names

List = Literal[
    "artists",
    "albums",
    "tracks",
    "search",
    "recent",
    "artist",
    "album",
    "track",
    "likes",
    "plays",
    "playlist",
    "similar",
]
KIND_OF: Mapping[str, str] = {"artists": ARTIST, "albums": ALBUM, "tracks": TRACK}
GROUP_OF = {kind: group for group, kind in KIND_OF.items()}
MOST_LISTED = 2_000

Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]


class ListenParams(PageParams):
    """A list: of everything, or of what belongs to a record or to the caller."""

    list: List = Field(description="which list")
    id: Text = Field(default="", description="the record or playlist that the list belongs to")
    q: Text = Field(default="", description="of artists, albums, tracks and search: those that answer these words")
    playable: bool = Field(default=False, description="only tracks that have a file")
    catalogue: Text = Field(default="", description="only this one")
    limit: WholeNumber = Field(default=60, ge=1, le=MOST_LISTED, description="how many to return at most")


class Named(EndpointResult):
    """A record that another refers to."""

    id: str
    name: str


class Listed(EndpointResult):
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
    image: str | None = Field(description="the address of its cover")
    about: str | None = None


class ListedPage(EndpointResult):
    """A part of a list; the total is null where it was not counted."""

    items: list[Listed]
    total: int | None
    has_more: bool


class ListenResult(EndpointResult):
    """Lists, and the record or playlist that they belong to."""

    item: Listed | None = None
    name: str | None = Field(default=None, description="the name of a playlist")
    rule: dict[str, Any] | None = Field(default=None, description="the search of a playlist that has one")
    artists: ListedPage | None = None
    albums: ListedPage | None = None
    tracks: ListedPage | None = None
    missing: list[str] = Field(default_factory=list, description="ids whose records no longer exist")


@dataclass(frozen=True, slots=True)
class Placed:
    """A record, and the catalogue that it is of."""

    library: MusicLibrary
    record: Record
    plays: int | None = None


def is_playable(record: Record) -> bool:
    """Tell whether a record has a file that can be played."""
    return bool(record.kind == TRACK and record.get("file"))


def list_record(placed: Placed, covered: set[tuple[str, str]]) -> Listed:
    """Return a record as it is listed; `covered` has the catalogues and ids of albums with a cover."""
    record, name = placed.record, placed.library.view.name
    album_id = record.get("album_id")
    pictured = record.id if record.get("cover") else str(album_id) if (name, album_id) in covered else None
    ids, names = list(record.get("artist_ids") or ()), list(record.get("artists") or ())
    return Listed(
        kind=record.kind,
        id=record.id,
        catalogue=name,
        name=str(record.get("name")),
        artists=[Named(id=one, name=called) for one, called in zip(ids, names, strict=False)],
        album=Named(id=str(album_id), name=str(record.get("album") or "")) if album_id else None,
        year=record.get("year"),
        seconds=record.get("seconds"),
        disc=record.get("disc"),
        position=record.get("position"),
        genres=genre_names(record),
        plays=placed.plays,
        playable=is_playable(record),
        image=f"/v1/media/{quote(name, safe='')}/cover/{quote(pictured)}" if pictured else None,
    )
