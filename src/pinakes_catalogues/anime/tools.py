"""The anime tools: search, recommend, details, taxonomy. Names, defaults, limits and fields are a fixed interface."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from pinakes.api import (
    Action,
    AllOf,
    AnyOf,
    Condition,
    Cost,
    InputError,
    OpenCatalogue,
    Principal,
    Range,
    Recommendation,
    Recommendations,
    Record,
    RecordId,
    Request,
    Scope,
    TitleChoice,
    ToolParams,
    ToolResult,
    ToolSpec,
    like_words,
    resolve_title,
)

AnimeType = Literal["TV", "MOVIE", "OVA", "ONA", "SPECIAL", "UNKNOWN"]
AnimeStatus = Literal["FINISHED", "ONGOING", "UPCOMING", "UNKNOWN"]
Category = Literal["genre", "theme", "demographic", "setting"]
Title = Annotated[str, StringConstraints(min_length=1, max_length=300)]


def _require_year(value: int) -> int:
    """Refuse what no calendar has; said here rather than in the schema, which every conversation pays for."""
    if not 0 <= value <= 9999:
        raise ValueError("a year has at most four digits")
    return value


Year = Annotated[int, AfterValidator(_require_year)]

CATEGORY_ORDER = ("genre", "theme", "demographic", "setting", "other")
LISTED_IN_TEXT = 10


class SearchFilters(ToolParams):
    """Conditions that every result meets."""

    type: list[AnimeType] | None = None
    status: list[AnimeStatus] | None = None
    year_min: Year | None = None
    year_max: Year | None = None
    tags: list[Title] | None = Field(default=None, description="All of these")

    def conditions(self) -> list[Condition]:
        """Return the filters as conditions."""
        if self.year_min is not None and self.year_max is not None and self.year_min > self.year_max:
            raise InputError(f"'filters': yearMin {self.year_min} is after yearMax {self.year_max}")
        found: list[Condition] = []
        if self.type:
            found.append(AnyOf("type", tuple(self.type)))
        if self.status:
            found.append(AnyOf("status", tuple(self.status)))
        if self.year_min is not None or self.year_max is not None:
            found.append(Range("year", self.year_min, self.year_max))
        if self.tags:
            found.append(AllOf("tags", tuple(self.tags)))
        return found


class SearchParams(ToolParams):
    """Arguments of `search_anime`."""

    query: Annotated[str, StringConstraints(min_length=1)] = Field(description="Natural language")
    limit: int = Field(default=10, ge=1, le=50)
    filters: SearchFilters | None = None


class TagShape(ToolResult):
    """A tag and its category."""

    category: str
    value: str


class AnimeShape(ToolResult):
    """What every answer says of an anime."""

    id: str
    title: str
    type: str
    episodes: int
    year: int | None
    tags: list[TagShape]
    synopsis: str | None


class SearchHit(AnimeShape):
    """One result of a search."""

    alternatives: list[str]
    status: str
    score: float
    match_type: Literal["fts", "vector", "hybrid"]


class SearchResult(ToolResult):
    """The answer of `search_anime`."""

    results: list[SearchHit]
    total_matches: int
    search_mode: Literal["hybrid", "fts_only"]
    degraded: str | None


class RecommendParams(ToolParams):
    """Arguments of `recommend_similar`."""

    titles: list[Title] = Field(min_length=1, max_length=10, description="Titles the user likes")
    preferences: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        default=None, description='e.g. "post-2020, darker tone, not horror, under 13 episodes"'
    )
    exclude_titles: list[Title] | None = Field(default=None, max_length=200, description="Already seen")
    limit: int = Field(default=8, ge=1, le=20)


class SignalShape(ToolResult):
    """The parts of a recommendation's score, each 0–1."""

    semantic: float
    taxonomy: float
    temporal: float
    format: float


class RecommendedAnime(AnimeShape):
    """One recommendation."""

    similarity_score: float
    signals: SignalShape


class RecommendResult(ToolResult):
    """The answer of `recommend_similar`."""

    recommendations: list[RecommendedAnime]
    taste_centroid: list[str]
    understood: list[str]
    not_understood: list[str]


class DetailsParams(ToolParams):
    """Arguments of `get_anime_details`: a title or an id."""

    title: Title | None = Field(default=None, description="Spelling may be off")
    id: Title | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "DetailsParams":
        if (self.title is None) == (self.id is None):
            raise ValueError("give either 'title' or 'id'")
        return self


class TitlesShape(ToolResult):
    """An anime's names."""

    canonical: str
    alternatives: list[str]


class SeasonShape(ToolResult):
    """When it first aired."""

    year: int | None
    season: str | None


class AnimeDetails(ToolResult):
    """All that is known of an anime."""

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


class DetailsResult(ToolResult):
    """The answer of `get_anime_details`."""

    anime: AnimeDetails | None
    suggestions: list[str]


class BrowseParams(ToolParams):
    """Arguments of `browse_taxonomy`."""

    category: Category | None = None
    search: Title | None = Field(default=None, description="Fuzzy, within tags")


class TagCount(ToolResult):
    """A tag and how many anime have it."""

    value: str
    count: int


class CategoryShape(ToolResult):
    """The tags of a category."""

    category: str
    tags: list[TagCount]


class BrowseResult(ToolResult):
    """The answer of `browse_taxonomy`."""

    categories: list[CategoryShape]


class AnimeTools:
    """The four tools over one anime catalogue."""

    def __init__(self, catalogue: OpenCatalogue) -> None:
        self._catalogue = catalogue

    def search(self, principal: Principal, params: SearchParams) -> SearchResult:
        """Find anime by a description."""
        conditions = params.filters.conditions() if params.filters else []
        scope = Scope(conditions=tuple(conditions), visibility=principal.visibility)
        page = self._catalogue.view().search(params.query, scope=scope, limit=params.limit)
        return SearchResult(
            results=[
                SearchHit(
                    **_shape(hit.record),
                    alternatives=list(hit.record.get("alternatives") or ()),
                    status=hit.record.get("status"),
                    score=round(hit.score, 4),
                    match_type=hit.match_type.value,
                )
                for hit in page.hits
            ],
            total_matches=page.total_matches,
            search_mode=page.mode.value,
            degraded=page.degraded,
        )

    def recommend(self, principal: Principal, params: RecommendParams) -> RecommendResult:
        """Recommend anime like those given."""
        request = Request(
            titles=tuple(params.titles),
            preferences=params.preferences or "",
            exclude=tuple(params.exclude_titles or ()),
            limit=params.limit,
        )
        answer = self._catalogue.view().recommend(request, scope=Scope(visibility=principal.visibility))
        return RecommendResult(
            recommendations=[_recommended(item) for item in answer.items],
            taste_centroid=list(answer.taste_tags),
            understood=_understood(answer),
            not_understood=_not_understood(answer),
        )

    def details(self, principal: Principal, params: DetailsParams) -> DetailsResult:
        """Look one anime up."""
        view, scope = self._catalogue.view(), Scope(visibility=principal.visibility)
        if params.id is not None:
            record = view.find_record(RecordId(params.id), scope=scope)
            return DetailsResult(anime=_details(record) if record else None, suggestions=[])
        choice = resolve_title(view.reader, view.spec, params.title or "", scope=scope)
        return DetailsResult(
            anime=_details(choice.record) if choice.record else None, suggestions=list(choice.suggestions)
        )

    def browse(self, principal: Principal, params: BrowseParams) -> BrowseResult:
        """List tags by category, with how many anime have each."""
        facets = self._catalogue.shelf.reader().facets("tags", scope=Scope(visibility=principal.visibility))
        if params.search:
            wanted = set(like_words(params.search, {facet.value for facet in facets}))
            facets = [facet for facet in facets if facet.value in wanted]
        categories = [params.category] if params.category else CATEGORY_ORDER
        shapes = [
            CategoryShape(
                category=category,
                tags=[TagCount(value=f.value, count=f.count) for f in facets if f.category == category],
            )
            for category in categories
        ]
        return BrowseResult(categories=[shape for shape in shapes if shape.tags])


def tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the anime tools over the first anime catalogue that is served."""
    anime = AnimeTools(catalogues[0])
    return [
        ToolSpec(
            name="search_anime",
            title="Search anime",
            description="Search anime by description, theme or title; hybrid text and semantic search.",
            params=SearchParams,
            result=SearchResult,
            action=Action.ACCESS_CATALOG,
            cost=Cost.READ,
            cacheable=True,
            run=anime.search,
            text=_search_text,
            count_of=attrgetter("total_matches"),
        ),
        ToolSpec(
            name="recommend_similar",
            title="Recommend similar anime",
            description="Recommend anime similar to given titles, within preferences in plain words.",
            params=RecommendParams,
            result=RecommendResult,
            action=Action.ACCESS_CATALOG,
            cost=Cost.READ,
            cacheable=True,
            run=anime.recommend,
            text=_recommend_text,
        ),
        ToolSpec(
            name="get_anime_details",
            title="Anime details",
            description="Full metadata of one anime, by title (fuzzy) or id; null when nothing matches.",
            params=DetailsParams,
            result=DetailsResult,
            action=Action.ACCESS_CATALOG,
            cost=Cost.READ,
            cacheable=True,
            run=anime.details,
            text=_details_text,
        ),
        ToolSpec(
            name="browse_taxonomy",
            title="Browse tags",
            description="Tags, genres and themes with counts.",
            params=BrowseParams,
            result=BrowseResult,
            action=Action.ACCESS_CATALOG,
            cost=Cost.READ,
            cacheable=True,
            run=anime.browse,
            text=_browse_text,
        ),
    ]


def _shape(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "title": record.get("title"),
        "type": record.get("type"),
        "episodes": record.get("episodes") or 0,
        "year": record.get("year"),
        "tags": _tags(record),
        "synopsis": record.get("synopsis"),
    }


def _tags(record: Record) -> list[TagShape]:
    return [TagShape(category=tag.category, value=tag.value) for tag in record.get("tags") or ()]


def _recommended(item: Recommendation) -> RecommendedAnime:
    parts = item.signals
    return RecommendedAnime(
        **_shape(item.record),
        similarity_score=round(item.score, 4),
        signals=SignalShape(
            semantic=round(parts.semantic, 4),
            taxonomy=round(parts.taxonomy, 4),
            temporal=round(parts.temporal, 4),
            format=round(parts.format, 4),
        ),
    )


def _understood(answer: Recommendations) -> list[str]:
    titles = [f"{choice.asked}: the title '{choice.title}'" for choice in answer.titles if choice.title]
    return [*titles, *(f"{one.text}: {one.meaning}" for one in answer.wishes.understood)]


def _not_understood(answer: Recommendations) -> list[str]:
    return [
        *(_unknown(choice) for choice in answer.titles if not choice.title),
        *answer.wishes.not_understood,
        *answer.notes,
    ]


def _unknown(choice: TitleChoice) -> str:
    hint = f"; did you mean {' or '.join(choice.suggestions)}?" if choice.suggestions else ""
    return f"no title like '{choice.asked}'{hint}"


def _details(record: Record) -> AnimeDetails:
    return AnimeDetails(
        id=record.id,
        titles=TitlesShape(canonical=record.get("title"), alternatives=list(record.get("alternatives") or ())),
        type=record.get("type"),
        episodes=record.get("episodes") or 0,
        status=record.get("status"),
        season=SeasonShape(year=record.get("year"), season=record.get("season")),
        duration=record.get("duration"),
        sources=list(record.get("sources") or ()),
        relations=list(record.get("relations") or ()),
        tags=_tags(record),
        synopsis=record.get("synopsis"),
    )


def _line(anime: AnimeShape) -> str:
    return f"{anime.title} ({anime.type}, {anime.year or 'year unknown'}, {anime.episodes or '?'} ep) [{anime.id}]"


def _search_text(result: SearchResult) -> str:
    head = f"{result.total_matches} matches ({result.search_mode})"
    return "\n".join([head, *(f"{n}. {_line(hit)}" for n, hit in enumerate(result.results[:LISTED_IN_TEXT], start=1))])


def _recommend_text(result: RecommendResult) -> str:
    lines = [f"{n}. {_line(item)} {item.similarity_score}" for n, item in enumerate(result.recommendations, start=1)]
    notes = [*result.understood, *(f"not understood: {one}" for one in result.not_understood)]
    return "\n".join([*(lines or ["nothing fits these preferences"]), *notes])


def _details_text(result: DetailsResult) -> str:
    if result.anime is None:
        hint = f"; did you mean {', '.join(result.suggestions)}?" if result.suggestions else ""
        return f"no such anime{hint}"
    anime = result.anime
    return f"{anime.titles.canonical} ({anime.type}, {anime.season.year or 'year unknown'}): {anime.synopsis or ''}"


def _browse_text(result: BrowseResult) -> str:
    return "\n".join(
        f"{one.category}: " + ", ".join(f"{tag.value} ({tag.count})" for tag in one.tags[:LISTED_IN_TEXT])
        for one in result.categories
    )
