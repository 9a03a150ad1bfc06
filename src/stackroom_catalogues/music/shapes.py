"""Arguments and results of the music tools. Names, parameters and defaults are a fixed interface.

What a record does not have is left out of an answer. Every conversation pays for the declarations,
so only the tracks of `catalog.search` spell an entry out.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from stackroom import api
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
LEAN = WithJsonSchema({"type": "object"})
LEAN_LIST = WithJsonSchema({"type": "array", "items": {"type": "object"}})


def _left_out() -> Any:
    """Declare a part of a result that is left out where it is empty."""
    return Field(default=None, exclude_if=lambda value: value in (None, []))


class SearchMusicParams(api.ExplainParams, api.OffsetParams, api.GenericParams):
    """Arguments of `catalog.search`."""

    query: api.QueryText = Field(description="A name, or a description")
    limit: int = Field(default=20, ge=1, le=MOST, description="Of each kind")
    kind: Kind | None = None
    offset: int = Field(default=0, ge=0, le=MOST, description="Of each kind, how many to skip")
    exclude: dict[str, Any] | None = Field(
        default=None, description="Values to leave out, by field"
    )


class GetParams(api.OffsetParams, api.GenericParams):
    """Arguments of `catalog.get`."""

    query_type: QueryType
    id: Name | None = Field(
        default=None, description="Id or name of the record; gaps, fixes: only of this artist"
    )
    limit: int = Field(default=20, ge=1, le=MOST, description="Most entries")
    about: api.QueryText | None = Field(
        default=None, description="Playlist wish: calm piano before 1850"
    )
    minutes: float | None = Field(
        default=None, gt=0, le=MOST_MINUTES, description="Playlist length, default 60"
    )
    reference: Listed | None = Field(
        default=None, max_length=1000, description="For gaps: albums the artist should have"
    )


class Entry(api.Explained, api.FromCatalogue, api.GenericResult):
    """A record in a list."""

    id: str
    name: str
    artists: list[str] | None = _left_out()
    album: str | None = _left_out()
    disc: int | None = _left_out()
    position: int | None = _left_out()
    year: int | None = _left_out()
    seconds: float | None = _left_out()
    genres: list[str] | None = _left_out()
    plays: int | None = _left_out()
    playable: bool | None = _left_out()
    score: float | None = _left_out()


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
    nearest: list[Entry] = Field(default_factory=list, exclude_if=lambda entries: not entries)
    """The nearest records, where a search found none that answers."""


LeanGroup = Annotated[RecordGroup, LEAN]


class PagesResult(api.PricedResult, api.GenericResult):
    """A result with several lists that are paged together: cut, it has the first items of each."""

    offset: int = Field(default=0, exclude=True)
    """The offset of the lists, for the text."""

    @property
    def pages(self) -> list[Page]:
        """The lists that there are."""
        return [one for name in PAGES if isinstance(one := getattr(self, name, None), Page)]

    @property
    def remarks(self) -> list[str]:
        """The notes, and how to get more of the lists."""
        return [
            *super().remarks,
            *([f"more with offset {self.offset + self.item_count}"] if self._has_more else []),
        ]

    @property
    def _has_more(self) -> bool:
        return any(page.has_more for page in self.pages)

    @property
    def item_count(self) -> int:
        """The length of the longest list."""
        return max((len(page.items) for page in self.pages), default=0)

    def first(self, count: int) -> Self:
        """Return the result with the first items of each list."""
        pages = {
            name: one.first(count)
            for name in PAGES
            if isinstance(one := getattr(self, name, None), Page)
        }
        return self.model_copy(update=pages)


PAGES = ("artists", "albums", "tracks", "fixes")
GROUPS = {ARTIST: "artists", ALBUM: "albums", TRACK: "tracks"}


class SearchMusicResult(api.FoundResult, PagesResult):
    """The result of `catalog.search`; kinds that were not requested are left out."""

    unit: ClassVar[str] = "of each kind"

    artists: LeanGroup | None = _left_out()
    albums: LeanGroup | None = _left_out()
    tracks: RecordGroup | None = _left_out()
    degraded: str | None = _left_out()


class GapItem(api.GenericResult):
    """One gap or duplicate."""

    name: str
    id: str | None = _left_out()
    artists: list[str] | None = _left_out()
    album: str | None = _left_out()
    missing: list[str] | None = _left_out()
    ids: list[str] | None = _left_out()
    request: dict[str, Any] | None = _left_out()
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
    first_year: int | None = _left_out()
    last_year: int | None = _left_out()
    decades: dict[str, int]
    tracks_without_year: int


class GetResult(api.FromCatalogue, PagesResult):
    """The result of `catalog.get`: the requested record, and lists; parts that do not apply are
    left out.
    """

    unit: ClassVar[str] = "of each list"
    long_parts: ClassVar[tuple[str, ...]] = ("item.*",)

    query_type: QueryType
    item: Annotated[dict[str, Any], LEAN] | None = _left_out()
    artists: LeanGroup | None = _left_out()
    albums: LeanGroup | None = _left_out()
    tracks: LeanGroup | None = _left_out()
    stats: Annotated[Stats, LEAN] | None = _left_out()
    gaps: Annotated[list[GapGroup], LEAN_LIST] | None = _left_out()
    fixes: Annotated[FixGroup, LEAN] | None = _left_out()
    seconds: float | None = _left_out()

    @property
    def pages(self) -> list[Page]:
        """The lists that there are, and those of each kind of gap."""
        return [*super().pages, *(self.gaps or ())]

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
        gaps = [gap.first(count) for gap in self.gaps] if self.gaps else self.gaps
        stats = self.stats and self.stats.model_copy(update={"genres": self.stats.genres[:count]})
        return super().first(count).model_copy(update={"gaps": gaps, "stats": stats})


def entry_of(
    record: api.Record,
    *,
    within: api.Record | None = None,
    score: float | None = None,
    catalogue: str | None = None,
    why: Any = None,
) -> Entry:
    """Return a record as an entry of a list. What those of an artist or album share with it need
    not be said again.
    """
    is_on_album = within is not None and within.kind == ALBUM
    artists = tuple(record.get("artists") or ())
    known = within and (
        (within.get("name"),) if within.kind == ARTIST else tuple(within.get("artists") or ())
    )
    place = ("disc", "position") if is_on_album else ("album",)
    return Entry(
        id=record.id,
        name=str(record.get("name")),
        artists=None if artists == known else list(artists),
        genres=None if is_on_album else genre_names(record),
        playable=True if record.kind == TRACK and record.get("file") else None,
        score=None if score is None else round(score, 4),
        catalogue=catalogue,
        why=why,
        **{name: record.get(name) for name in (*place, "year", "seconds", "plays")},
    )


def genre_names(record: api.Record) -> list[str]:
    """Return the first of a record's genres."""
    return [tag.value for tag in (record.get("genres") or ())[:GENRES_SHOWN]]


def identity(record: api.Record) -> dict[str, Any]:
    """Return what a record is called."""
    return {"id": record.id, "kind": record.kind, "name": record.get("name")}


def plain_fields(record: api.Record) -> dict[str, Any]:
    """Return all fields of a record as JSON values."""
    fields = {
        name: plain_value(value) for name, value in record.fields.items() if value is not None
    }
    return {"id": record.id, "kind": record.kind, **fields}


def plain_value(value: Any) -> Any:
    """Return a field's value as a JSON value."""
    if not isinstance(value, tuple):
        return value
    return [
        {"category": one.category, "value": one.value} if isinstance(one, api.Tag) else one
        for one in value
    ]
