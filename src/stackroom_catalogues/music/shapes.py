"""Arguments and results of the music tools. Names, parameters and defaults are a fixed interface.

What a record does not have is left out of an answer. Every conversation pays for the declarations,
so only the tracks of `catalog.search` spell an entry out.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints

from stackroom import api
from stackroom.api.shapes import BARE_LIST, BARE_OBJECT, optional, when_any, when_known
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, TRACK

GENRES_SHOWN = 6
MOST_MINUTES = 24 * 60
MOST = 100  # the most records of one kind in an answer, and the last result that paging reaches

QueryType = Literal[
    "artist", "album", "track", "recent", "stats", "similar", "gaps", "playlist", "fixes"
]
Kind = Literal["artist", "album", "track"]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=512)]
Listed = Annotated[
    list[Name], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
]
"""A list; one text is taken for a list of it."""


class SearchMusicParams(api.ExplainParams, api.OffsetParams, api.GenericParams):
    """Arguments of `catalog.search`."""

    query: api.QueryText = Field(description="A name, or a description")
    limit: int = Field(default=20, ge=1, le=MOST, description="Of each kind")
    kind: Kind | None = None
    offset: int = Field(default=0, ge=0, le=MOST, description="Of each kind, how many to skip")
    exclude: dict[str, Any] | None = optional("Values to leave out, by field")


class GetParams(api.OffsetParams, api.GenericParams):
    """Arguments of `catalog.get`."""

    query_type: QueryType
    id: Name | None = optional("Id or name of the record; gaps, fixes: only of this artist")
    limit: int = Field(default=20, ge=1, le=MOST, description="Most entries")
    about: api.QueryText | None = optional("Playlist wish: calm piano before 1850")
    minutes: float | None = optional("Playlist length, default 60", gt=0, le=MOST_MINUTES)
    reference: Listed | None = optional("For gaps: albums the artist should have", max_length=1000)


class Entry(api.Explained, api.FromCatalogue, api.GenericResult):
    """A record in a list."""

    id: str
    name: str
    artists: list[str] = when_any()
    album: str | None = when_known()
    disc: int | None = when_known()
    position: int | None = when_known()
    year: int | None = when_known()
    seconds: float | None = when_known()
    genres: list[str] = when_any()
    plays: int | None = when_known()
    playable: bool | None = when_known()
    score: float | None = when_known()


class Page(api.GenericResult):
    """A page of a list: its items, how many there are in all, and whether there are more after the
    page.
    """

    items: list[Any]
    total: int
    has_more: bool

    @classmethod
    def of(
        cls,
        every: Sequence[Any],
        shape: Callable[[Any], Any],
        *,
        offset: int,
        limit: int,
        **more: Any,
    ) -> Self:
        """Return a page of a whole list, whose items are shaped."""
        end = offset + limit
        return cls(
            items=list(map(shape, every[offset:end])),
            total=len(every),
            has_more=end < len(every),
            **more,
        )

    def first(self, count: int) -> Self:
        """Return the page with its first items only."""
        if len(self.items) <= count:
            return self
        return self.model_copy(update={"items": self.items[:count], "has_more": True})


class RecordGroup(Page):
    """Records of one kind."""

    items: list[Entry]
    nearest: list[Entry] = when_any()
    """The nearest records, where a search found none that answers."""


LeanGroup = Annotated[RecordGroup, BARE_OBJECT]


class PagesResult(api.PricedResult, api.GenericResult):
    """A result with several lists that are paged together: cut, it has the first items of each."""

    offset: int = Field(default=0, exclude=True)
    """The offset of the lists, for the text."""

    @property
    def _named(self) -> dict[str, Page]:
        named = {name: getattr(self, name, None) for name in PAGES}
        return {name: page for name, page in named.items() if page is not None}

    @property
    def pages(self) -> list[Page]:
        """The lists that there are."""
        return list(self._named.values())

    @property
    def remarks(self) -> list[str]:
        """The notes, and how to get more of the lists."""
        more = [f"more with offset {self.offset + self.item_count}"] if self._has_more else []
        return [*super().remarks, *more]

    @property
    def _has_more(self) -> bool:
        return any(page.has_more for page in self.pages)

    @property
    def item_count(self) -> int:
        """The length of the longest list."""
        return max((len(page.items) for page in self.pages), default=0)

    def first(self, count: int) -> Self:
        """Return the result with the first items of each list."""
        return self.model_copy(
            update={name: page.first(count) for name, page in self._named.items()}
        )


PAGES = ("artists", "albums", "tracks", "fixes")
GROUPS = {ARTIST: "artists", ALBUM: "albums", TRACK: "tracks"}


class SearchMusicResult(api.FoundResult, PagesResult):
    """The result of `catalog.search`; kinds that were not requested are left out."""

    unit: ClassVar[str] = "of each kind"

    artists: LeanGroup | None = when_known()
    albums: LeanGroup | None = when_known()
    tracks: RecordGroup | None = when_known()
    degraded: str | None = when_known()


class GapItem(api.GenericResult):
    """One gap or duplicate."""

    name: str
    id: str | None = when_known()
    artists: list[str] = when_any()
    album: str | None = when_known()
    missing: list[str] = when_any()
    ids: list[str] = when_any()
    request: dict[str, Any] | None = when_known()
    """The arguments of `catalog.mutate` that enter a missing album."""


class GapGroup(Page):
    """One kind of gap."""

    gap: str
    items: list[GapItem]


class ProposedFix(api.GenericResult):
    """A correction: arguments for `catalog.mutate`, the values they replace, and the reasons."""

    headline: ClassVar[str] = "{request}"

    request: dict[str, Any]
    replaces: dict[str, Any]
    reasons: list[str]


class FixGroup(Page):
    """Proposed corrections."""

    items: list[ProposedFix]


def sum_totals(*groups: Page | None) -> int | None:
    """Return how many entries these groups have in all; None where there is no group."""
    totals = [group.total for group in groups if group is not None]
    return sum(totals) if totals else None


class GenreCount(api.GenericResult):
    """A genre, and how many tracks have it."""

    genre: str
    tracks: int


class Stats(api.GenericResult):
    """Counts and totals of the catalogue."""

    artists: int
    albums: int
    tracks: int
    seconds: float
    genres: list[GenreCount]
    genres_total: int
    first_year: int | None = when_known()
    last_year: int | None = when_known()
    decades: dict[str, int]
    tracks_without_year: int


class GetResult(api.FromCatalogue, PagesResult):
    """The result of `catalog.get`: the requested record, and lists; parts that do not apply are
    left out.
    """

    unit: ClassVar[str] = "of each list"
    long_parts: ClassVar[tuple[str, ...]] = ("item.*",)

    query_type: QueryType
    item: Annotated[dict[str, Any], BARE_OBJECT] | None = when_known()
    artists: LeanGroup | None = when_known()
    albums: LeanGroup | None = when_known()
    tracks: LeanGroup | None = when_known()
    stats: Annotated[Stats, BARE_OBJECT] | None = when_known()
    gaps: Annotated[list[GapGroup], BARE_LIST] = when_any()
    fixes: Annotated[FixGroup, BARE_OBJECT] | None = when_known()
    seconds: float | None = when_known()

    @property
    def pages(self) -> list[Page]:
        """The lists that there are, and those of each kind of gap."""
        return [*super().pages, *self.gaps]

    @property
    def item_count(self) -> int:
        """The length of the longest list."""
        return max(super().item_count, len(self.stats.genres) if self.stats else 0)

    @property
    def _has_more(self) -> bool:
        stats = self.stats
        return super()._has_more or (
            stats is not None and self.offset + len(stats.genres) < stats.genres_total
        )

    def first(self, count: int) -> Self:
        """Return the result with the first items of each list."""
        gaps = [gap.first(count) for gap in self.gaps]
        stats = self.stats and self.stats.model_copy(update={"genres": self.stats.genres[:count]})
        return super().first(count).model_copy(update={"gaps": gaps, "stats": stats})


def entry_of(record: api.Record, *, within: api.Record | None = None, **found: Any) -> Entry:
    """Return a record as an entry of a list, with what a search `found` of it. What those of an
    artist or album share with it need not be said again.
    """
    is_on_album = within is not None and within.kind == ALBUM
    artists = record.get("artists") or ()
    known = within and (
        (within.get("name"),) if within.kind == ARTIST else within.get("artists") or ()
    )
    place = ("disc", "position") if is_on_album else ("album",)
    return Entry(
        id=record.id,
        name=str(record.get("name")),
        artists=[] if artists == known else list(artists),
        genres=[] if is_on_album else genre_names(record),
        playable=is_playable(record) or None,
        **{name: record.get(name) for name in (*place, "year", "seconds", "plays")},
        **found,
    )


def is_playable(record: api.Record) -> bool:
    """Tell whether a record has a file that can be played."""
    return bool(record.kind == TRACK and record.get("file"))


def genre_names(record: api.Record) -> list[str]:
    """Return the first of a record's genres."""
    return [tag.value for tag in (record.get("genres") or ())[:GENRES_SHOWN]]


def identity(record: api.Record) -> dict[str, Any]:
    """Return what a record is called."""
    return {"id": record.id, "kind": record.kind, "name": record.get("name")}


def plain_value(value: Any) -> Any:
    """Return a field's value as a JSON value."""
    if not isinstance(value, tuple):
        return value
    return [
        {"category": one.category, "value": one.value} if isinstance(one, api.Tag) else one
        for one in value
    ]
