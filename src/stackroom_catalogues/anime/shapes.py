"""Arguments and results of the anime tools. Names, parameters and defaults are a fixed interface."""

from itertools import accumulate
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from stackroom.api import (
    AllOf,
    AnyOf,
    Condition,
    Explained,
    ExplainParams,
    FoundResult,
    FromCatalogue,
    InputError,
    NoneOf,
    PagedParams,
    PricedParams,
    PricedResult,
    QueryText,
    Range,
    Relevance,
    ToolParams,
    ToolResult,
)

Category = Literal["genre", "theme", "demographic", "setting"]
Title = Annotated[str, StringConstraints(min_length=1, max_length=300)]


def _some_of(*values: str) -> WithJsonSchema:
    """Return the schema of a list of these values; other spellings of them are understood too."""
    return WithJsonSchema({"items": {"enum": list(values), "type": "string"}, "type": "array"})


AnimeTypes = Annotated[list[Title], _some_of("TV", "MOVIE", "OVA", "ONA", "SPECIAL", "UNKNOWN")]
AnimeStatuses = Annotated[list[Title], _some_of("FINISHED", "ONGOING", "UPCOMING", "UNKNOWN")]


def _require_year(value: int) -> int:
    """Refuse an impossible year; checked here since the schema costs tokens in every conversation."""
    if not 0 <= value <= 9999:
        raise ValueError("a year has at most four digits, as 1998")
    return value


Year = Annotated[int, AfterValidator(_require_year)]
Episodes = Annotated[int, Field(ge=1)]


class SearchFilters(ToolParams):
    """Conditions that every result meets."""

    type: AnimeTypes | None = None
    status: AnimeStatuses | None = None
    year_min: Year | None = None
    year_max: Year | None = None
    episodes_min: Episodes | None = None
    episodes_max: Episodes | None = None
    tags: list[Title] | None = Field(default=None, description="Wanted, all of them; see browse_taxonomy")
    exclude_tags: list[Title] | None = None
    adult: bool | None = Field(default=None, description="Find adult titles too")

    def conditions(self) -> list[Condition]:
        """Return the filters as conditions."""
        found: list[Condition] = []
        if self.type:
            found.append(AnyOf("type", tuple(self.type)))
        if self.status:
            found.append(AnyOf("status", tuple(self.status)))
        found += _range("year", self.year_min, self.year_max)
        found += _range("episodes", self.episodes_min, self.episodes_max)
        if self.tags:
            found.append(AllOf("tags", tuple(self.tags)))
        if self.exclude_tags:
            found.append(NoneOf("tags", tuple(self.exclude_tags)))
        return found


def _range(name: str, low: int | None, high: int | None) -> list[Condition]:
    if low is not None and high is not None and low > high:
        raise InputError(f"'filters': {name}Min {low} is after {name}Max {high}; swap them")
    return [] if low is None and high is None else [Range(name, low, high)]


def argument_of(condition: Condition) -> str:
    """Return the argument that a condition came from."""
    return "filters.excludeTags" if isinstance(condition, NoneOf) else f"filters.{condition.field}"


class SearchAnimeParams(ExplainParams, PagedParams):
    """Arguments of `search_anime`."""

    usual_text_tokens = 1_500

    query: QueryText = Field(description="A description, theme or title")
    limit: int = Field(default=10, ge=1, le=50, description="Most results")
    filters: SearchFilters | None = Field(default=None, description="What every result has")


class TagShape(ToolResult):
    """A tag and its category."""

    category: str
    value: str


class AnimeShape(FromCatalogue):
    """The fields of an anime in every list."""

    headline: ClassVar[str] = "{title} ({type}, {year}, {episodes} ep)"

    id: str
    title: str
    type: str
    episodes: int
    year: int | None
    tags: list[TagShape]
    synopsis: str | None


class SearchHit(Explained, AnimeShape):
    """One result of a search."""

    alternatives: list[str]
    status: str
    score: float
    relevance: Relevance
    match_type: Literal["fts", "vector", "hybrid"]


class SearchAnimeResult(FoundResult, PricedResult):
    """The answer of `search_anime`."""

    long_texts = ("synopsis", "tags", "alternatives")
    whole_with = "get_anime_details"

    results: list[SearchHit]
    total_matches: int
    search_mode: Literal["hybrid", "fts_only"]
    degraded: str | None


class RecommendAnimeParams(ExplainParams, PagedParams):
    """Arguments of `recommend_similar`."""

    titles: list[Title] = Field(min_length=1, max_length=10, description="Titles the user likes")
    preferences: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        default=None, description="e.g. post-2020, darker tone, not horror, under 13 episodes"
    )
    exclude_titles: list[Title] | None = Field(
        default=None, max_length=200, description="Seen already, not to recommend"
    )
    limit: int = Field(default=8, ge=1, le=20, description="Most results")


class SignalShape(ToolResult):
    """The parts of a recommendation's score, each 0–1."""

    semantic: float
    taxonomy: float
    temporal: float
    format: float


class OtherSignalShape(ToolResult):
    """A signal that helps to choose records, 0–1, and its weight beside their similarity."""

    value: float
    weight: float


class OtherSignalsShape(ToolResult):
    """The signals by which a record was chosen besides its similarity; left out where they do not apply."""

    wish: OtherSignalShape | None = Field(default=None, exclude_if=lambda signal: signal is None)
    known: OtherSignalShape | None = Field(default=None, exclude_if=lambda signal: signal is None)


class RecommendedAnime(Explained, AnimeShape):
    """One recommendation."""

    similarity_score: float
    signals: SignalShape
    other_signals: OtherSignalsShape


class RecommendAnimeResult(PricedResult):
    """The answer of `recommend_similar`."""

    paged = "recommendations"
    long_texts = ("synopsis", "tags")
    whole_with = "get_anime_details"

    recommendations: list[RecommendedAnime]
    taste_centroid: list[str]
    understood: list[str]
    not_understood: list[str]


class DetailsParams(PricedParams):
    """Arguments of `get_anime_details`: a title or an id."""

    title: Title | None = Field(default=None, description="May be misspelt")
    id: Title | None = Field(default=None, description="e.g. mal-1")

    @model_validator(mode="after")
    def _one_of_both(self) -> "DetailsParams":
        if (self.title is None) == (self.id is None):
            raise ValueError("give either 'title' or 'id', and not both")
        return self


class TitlesShape(ToolResult):
    """An anime's names."""

    canonical: str
    alternatives: list[str]


class SeasonShape(ToolResult):
    """The year and season of the first broadcast."""

    year: int | None
    season: str | None


class AnimeDetails(FromCatalogue):
    """Every field of an anime."""

    headline: ClassVar[str] = ""

    id: str
    titles: TitlesShape
    type: str
    episodes: int
    status: str
    season: SeasonShape
    duration: int | None
    sources: list[str]
    relations: list[str]
    tags: list[TagShape]
    synopsis: str | None


class DetailsResult(PricedResult):
    """The answer of `get_anime_details`."""

    has_passages = True
    paged = ()
    long_parts = ("anime.titles.alternatives", "anime.synopsis", "anime.tags", "anime.sources", "anime.relations")

    anime: AnimeDetails | None
    suggestions: list[str]
    confidence: Annotated[float | None, SkipJsonSchema()] = Field(default=None, exclude_if=lambda value: value is None)
    """How sure it is that this anime was meant, 0–1, where the title is not exact or others have it too."""


class BrowseAnimeParams(PagedParams):
    """Arguments of `browse_taxonomy`."""

    category: Category | None = Field(default=None, description="Only this one")
    search: Title | None = Field(default=None, description="Tags like this")


class TagCount(ToolResult):
    """A tag and how many anime have it."""

    value: str
    count: int


class CategoryShape(ToolResult):
    """The tags of a category."""

    headline: ClassVar[str] = "{category}"

    category: str
    tags: list[TagCount]
    total: Annotated[int | None, SkipJsonSchema()] = Field(default=None, exclude_if=lambda total: total is None)
    """The number of its tags, where not all are listed."""

    def between(self, start: int, end: int) -> "CategoryShape":
        """Return the category with some of its tags, and how many there are."""
        tags, total = self.tags[max(start, 0) : max(end, 0)], self.total or len(self.tags)
        return self.model_copy(update={"tags": tags, "total": total if len(tags) < total else None})


class BrowseAnimeResult(PricedResult):
    """The answer of `browse_taxonomy`: its items are tags, counted over all categories."""

    unit = "tags"
    has_passages = True

    categories: list[CategoryShape]

    @property
    def item_count(self) -> int:
        """The number of tags."""
        return sum(len(one.tags) for one in self.categories)

    def first(self, count: int) -> "BrowseAnimeResult":
        """Return the answer with its first tags only."""
        return self.between(0, count)

    def between(self, start: int, end: int) -> "BrowseAnimeResult":
        """Return the answer with the tags from one place to before another."""
        before = [0, *accumulate(len(one.tags) for one in self.categories)]
        shown = [one.between(start - at, end - at) for one, at in zip(self.categories, before, strict=False)]
        return self.model_copy(update={"categories": [one for one in shown if one.tags]})
