"""The anime tools: search, recommend, details, taxonomy. Names, defaults, limits and fields are a
fixed interface.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from stackroom import api
from stackroom.api import ranking
from stackroom.api.shapes import optional, when_known

MOST_NAMES = 3  # the most alternative names of a result; `get_anime_details` has all of them
ENGLISH = re.compile(r"\b(?:a|and|for|in|is|my|of|on|the|to|with)\b|'s\b", re.IGNORECASE)
KANA, KANJI = re.compile("[\u3041-\u30fa]"), re.compile("[\u4e00-\u9fff]")
_folded = lru_cache(maxsize=8)(api.fold_name)
CATEGORY_ORDER = ("genre", "theme", "demographic", "setting", "other")

Category = Literal["genre", "theme", "demographic", "setting"]
Title = Annotated[str, StringConstraints(min_length=1, max_length=300)]


def _some_of(*values: str) -> WithJsonSchema:
    """Return the schema of a list of these values; other spellings of them are understood too."""
    return WithJsonSchema({"items": {"enum": list(values), "type": "string"}, "type": "array"})


AnimeTypes = Annotated[list[Title], _some_of("TV", "MOVIE", "OVA", "ONA", "SPECIAL", "UNKNOWN")]
AnimeStatuses = Annotated[list[Title], _some_of("FINISHED", "ONGOING", "UPCOMING", "UNKNOWN")]


def _require_year(value: int) -> int:
    """Refuse an impossible year; checked here since the schema costs tokens in every
    conversation.
    """
    if not 0 <= value <= 9999:
        raise ValueError("a year has at most four digits, as 1998")
    return value


Year = Annotated[int, AfterValidator(_require_year)]
Episodes = Annotated[int, Field(ge=1)]


class SearchFilters(api.ToolParams):
    """Conditions that every result meets."""

    type: AnimeTypes | None = None
    status: AnimeStatuses | None = None
    year_min: Year | None = None
    year_max: Year | None = None
    episodes_min: Episodes | None = None
    episodes_max: Episodes | None = None
    tags: list[Title] | None = optional("Wanted, all of them; see browse_taxonomy")
    exclude_tags: list[Title] | None = None
    adult: bool | None = optional("Find adult titles too")

    def conditions(self) -> list[api.Condition]:
        """Return the filters as conditions."""
        return [
            *([api.AnyOf("type", tuple(self.type))] if self.type else ()),
            *([api.AnyOf("status", tuple(self.status))] if self.status else ()),
            *_range("year", self.year_min, self.year_max),
            *_range("episodes", self.episodes_min, self.episodes_max),
            *([api.AllOf("tags", tuple(self.tags))] if self.tags else ()),
            *([api.NoneOf("tags", tuple(self.exclude_tags))] if self.exclude_tags else ()),
        ]


def _range(name: str, low: int | None, high: int | None) -> list[api.Condition]:
    if low is not None and high is not None and low > high:
        raise api.InputError(f"'filters': {name}Min {low} is after {name}Max {high}; swap them")
    return [] if low is None and high is None else [api.Range(name, low, high)]


def argument_of(condition: api.Condition) -> str:
    """Return the argument that a condition came from."""
    return (
        "filters.excludeTags" if isinstance(condition, api.NoneOf) else f"filters.{condition.field}"
    )


class SearchAnimeParams(api.ExplainParams, api.PagedParams):
    """Arguments of `search_anime`."""

    usual_text_tokens = 1_500

    query: api.QueryText = Field(description="A description, theme or title")
    limit: int = Field(default=10, ge=1, le=50, description="Most results")
    filters: SearchFilters | None = optional("What every result has")


class TagShape(api.ToolResult):
    """A tag and its category."""

    category: str
    value: str


class AnimeShape(api.FromCatalogue):
    """The fields of an anime in every list."""

    headline: ClassVar[str] = "{title} ({type}, {year}, {episodes} ep)"

    id: str
    title: str
    type: str
    episodes: int
    year: int | None
    tags: list[TagShape]
    synopsis: str | None


class SearchHit(api.Explained, AnimeShape):
    """One result of a search."""

    alternatives: list[str]
    status: str
    score: float
    relevance: str | None
    match_type: Literal["fts", "vector", "hybrid"]


class SearchAnimeResult(api.FoundResult, api.PricedResult):
    """The answer of `search_anime`."""

    long_texts = ("synopsis", "tags", "alternatives")
    whole_with = "get_anime_details"

    results: list[SearchHit]
    total_matches: int
    search_mode: Literal["hybrid", "fts_only"]
    degraded: str | None


class RecommendAnimeParams(api.ExplainParams, api.PagedParams):
    """Arguments of `recommend_similar`."""

    titles: list[Title] = Field(min_length=1, max_length=10, description="Titles the user likes")
    preferences: Annotated[str, StringConstraints(max_length=2000)] | None = optional(
        "e.g. post-2020, darker tone, not horror, under 13 episodes"
    )
    exclude_titles: list[Title] | None = optional("Seen already, not to recommend", max_length=200)
    limit: int = Field(default=8, ge=1, le=20, description="Most results")


class SignalShape(api.ToolResult):
    """The parts of a recommendation's score, each 0–1."""

    semantic: float
    taxonomy: float
    temporal: float
    format: float


class OtherSignalShape(api.ToolResult):
    """A signal that helps to choose records, 0–1, and its weight beside their similarity."""

    value: float
    weight: float


class OtherSignalsShape(api.ToolResult):
    """The signals by which a record was chosen besides its similarity; left out where they do not
    apply.
    """

    wish: OtherSignalShape | None = when_known()
    known: OtherSignalShape | None = when_known()


class RecommendedAnime(api.Explained, AnimeShape):
    """One recommendation."""

    similarity_score: float
    signals: SignalShape
    other_signals: OtherSignalsShape


class RecommendAnimeResult(api.PricedResult):
    """The answer of `recommend_similar`."""

    paged = "recommendations"
    long_texts = ("synopsis", "tags")
    whole_with = "get_anime_details"

    recommendations: list[RecommendedAnime]
    taste_centroid: list[str]
    understood: list[str]
    not_understood: list[str]


class DetailsParams(api.PricedParams):
    """Arguments of `get_anime_details`: a title or an id."""

    title: Title | None = optional("May be misspelt")
    id: Title | None = optional("e.g. mal-1")

    @model_validator(mode="after")
    def _one_of_both(self) -> "DetailsParams":
        if (self.title is None) == (self.id is None):
            raise ValueError("give either 'title' or 'id', and not both")
        return self


class TitlesShape(api.ToolResult):
    """An anime's names."""

    canonical: str
    alternatives: list[str]


class SeasonShape(api.ToolResult):
    """The year and season of the first broadcast."""

    year: int | None
    season: str | None


class AnimeDetails(api.FromCatalogue):
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


class DetailsResult(api.PricedResult):
    """The answer of `get_anime_details`."""

    has_passages = True
    paged = ()
    long_parts = (
        "anime.titles.alternatives",
        "anime.synopsis",
        "anime.tags",
        "anime.sources",
        "anime.relations",
    )

    anime: AnimeDetails | None
    suggestions: list[str]
    confidence: Annotated[float | None, SkipJsonSchema()] = when_known()
    """How sure it is that this anime was meant, 0–1, where the title is not exact or others have it
    too.
    """


class BrowseAnimeParams(api.PagedParams):
    """Arguments of `browse_taxonomy`."""

    category: Category | None = optional("Only this one")
    search: Title | None = optional("Tags like this")


class TagCount(api.ToolResult):
    """A tag and how many anime have it."""

    value: str
    count: int


class CategoryShape(api.ToolResult):
    """The tags of a category."""

    headline: ClassVar[str] = "{category}"

    category: str
    tags: list[TagCount]
    total: Annotated[int | None, SkipJsonSchema()] = when_known()
    """The number of its tags, where not all are listed."""

    def between(self, start: int, end: int) -> "CategoryShape":
        """Return the category with some of its tags, and how many there are."""
        tags, total = self.tags[max(start, 0) : max(end, 0)], self.total or len(self.tags)
        return self.model_copy(update={"tags": tags, "total": total if len(tags) < total else None})


class BrowseAnimeResult(api.PricedResult):
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
        shown = [
            one.between(start - at, end - at)
            for one, at in zip(self.categories, before, strict=False)
        ]
        return self.model_copy(update={"categories": [one for one in shown if one.tags]})


_tag = lru_cache(maxsize=4096)(TagShape)


def find_anime(call: api.Call, params: SearchAnimeParams) -> api.ResultSet:
    """Return the anime that a call finds."""
    filters = params.filters or SearchFilters()
    scoped = api.Views.of(call).scoped(
        params.query,
        filters.conditions(),
        label=argument_of,
        with_adult=filters.adult is True,
    )
    return scoped.find(page_size=params.limit, explains=params.explain)


@api.operation(
    "search_anime",
    finds=find_anime,
    reads=True,
    count_of=attrgetter("total_matches"),
)
def search_anime(call: api.Call, params: SearchAnimeParams) -> SearchAnimeResult:
    """Search anime (series and films) by description, theme or title."""
    found, filters = find_anime(call, params), params.filters or SearchFilters()
    fitting = api.fitting_notes(found) if filters.conditions() else []
    return SearchAnimeResult(
        results=[_hit(call, hit, params.query) for hit in found.page(params.start)],
        total_matches=found.total,
        search_mode=found.mode.value,
        degraded=found.degraded,
        notes=[*found.question_notes, *found.filter_notes, *found.word_notes, *fitting],
        **found.told(params.start),
    )


def _hit(call: api.Call, hit: api.Hit, query: str) -> SearchHit:
    record = hit.record
    return SearchHit(
        **_shape(record),
        alternatives=first_names(record.get("alternatives") or (), query),
        status=record.get("status"),
        match_type=hit.match_type.value,
        catalogue=call.label_of(hit.view.name),
        **hit.told(),
    )


def find_like(call: api.Call, params: RecommendAnimeParams) -> api.ResultSet:
    """Return the anime that a call recommends."""
    return _recommendations(call, params)[1]


@api.operation("recommend_similar", finds=find_like, reads=True)
def recommend_similar(call: api.Call, params: RecommendAnimeParams) -> RecommendAnimeResult:
    """Recommend anime like given titles, within preferences in plain words."""
    answers, found = _recommendations(call, params)
    items = {name: {item.key: item for item in one.items} for name, one in answers.items()}
    return RecommendAnimeResult(
        recommendations=[
            _recommended(call, items[hit.view.name][hit.key], hit, explain=params.explain)
            for hit in found.page()[params.start :]
        ],
        taste_centroid=list(
            dict.fromkeys(tag for answer in answers.values() for tag in answer.taste_tags)
        ),
        understood=_understood(answers.values()),
        not_understood=_not_understood(answers.values()),
        unread=list(found.unread),
    )


def _recommendations(
    call: api.Call, params: RecommendAnimeParams
) -> tuple[Mapping[str, ranking.Recommendations], api.ResultSet]:
    """Return what each catalogue recommends that has one of the titles, and the set of all."""
    views = api.Views.of(call)
    asked = views.recommend(
        params.titles,
        preferences=params.preferences or "",
        exclude=params.exclude_titles or (),
        limit=params.limit,
    )
    parts = [
        answer.part_of(views.found[name], by=attrgetter("score"))
        for name, answer in asked.found.items()
    ]
    return asked.found, api.ResultSet(parts=parts, page_size=params.limit, unread=asked.skipped)


def _recommended(
    call: api.Call, item: ranking.Recommendation, hit: api.Hit, *, explain: bool
) -> RecommendedAnime:
    parts, weights = item.signals, hit.view.spec.recommend
    told = {"why": parts.why(weights).told()} if explain and weights else dict[str, Any]()
    return RecommendedAnime(
        **_shape(item.record),
        **told,
        catalogue=call.label_of(hit.view.name),
        similarity_score=round(item.score, 4),
        signals=SignalShape(
            **{name: round(getattr(parts, name), 4) for name in SignalShape.model_fields}
        ),
        other_signals=OtherSignalsShape(
            wish=_other_signal(parts.wish, parts.wish_weight),
            known=_other_signal(parts.known, weights.known if weights else 0.0),
        ),
    )


@api.operation("get_anime_details", reads=True)
def get_anime_details(call: api.Call, params: DetailsParams) -> DetailsResult:
    """All about one anime, by title or id; null if none matches."""
    views, scope = api.Views.of(call), call.scope
    if params.id is not None:
        return _by_id(call, views, params.id)
    title = params.title or ""
    asked = views.ask(lambda view: view.resolve(title, scope=scope))
    choices = asked.found
    likeness = max(choice.likeness for choice in choices.values())
    likeliest = [name for name, choice in choices.items() if choice.likeness == likeness]
    found = views.only(likeliest, asked.skipped).find_one(
        title, lambda view, _title: choices[view.name].record
    )
    if found is None:
        suggestions = dict.fromkeys(
            suggestion for choice in choices.values() for suggestion in choice.suggestions
        )
        return DetailsResult(
            anime=None, suggestions=list(suggestions), notes=[f"no anime is called '{title}'"]
        )
    choice = choices[found.view.name]
    return DetailsResult(
        anime=_details(call, *found),
        suggestions=list(choice.suggestions),
        confidence=None if choice.is_certain else choice.sureness,
        notes=[f"'{title}' was taken for '{choice.title}' {choice.doubt}"] if choice.doubt else [],
    )


def _by_id(call: api.Call, views: api.Views, stated: str) -> DetailsResult:
    """Return the anime of an id; for a wrong one, what an id looks like, and what it means as a
    title.
    """
    scope = call.scope
    found = views.find_one(stated, lambda view, plain: view.find_stated(plain, scope=scope))
    if found is not None:
        return DetailsResult(anime=_details(call, *found), suggestions=[])
    choices = [view.resolve(stated, scope=scope) for view in views.found.values()]
    named = dict.fromkeys(
        label for one in choices for label in ([one.label] if one.label else one.suggestions)
    )
    notes = [view.describe_id(stated, scope=scope) for view in views.found.values()]
    return DetailsResult(anime=None, suggestions=list(named), notes=notes)


def _details(call: api.Call, view: api.CatalogueView, record: api.Record) -> AnimeDetails:
    return AnimeDetails(
        catalogue=call.label_of(view.name),
        id=record.id,
        titles=TitlesShape(
            canonical=record.get("title"), alternatives=list(record.get("alternatives") or ())
        ),
        episodes=record.get("episodes") or 0,
        season=SeasonShape(year=record.get("year"), season=record.get("season")),
        sources=list(record.get("sources") or ()),
        relations=list(record.get("relations") or ()),
        tags=_tags(record),
        **{name: record.get(name) for name in ("type", "status", "duration", "synopsis")},
    )


@api.operation("browse_taxonomy", reads=True)
def browse_taxonomy(call: api.Call, params: BrowseAnimeParams) -> BrowseAnimeResult:
    """List tags of anime (genres, themes …) with counts."""
    views = api.Views.of(call)
    facets = views.facets("tags", call.scope)
    known = [view.values_of("tags", scope=call.scope) for view in views.found.values()]
    if params.search:
        wanted = {value for values in known for value in values.matching(params.search)}
        facets = [facet for facet in facets if facet.value in wanted]
    categories = [params.category] if params.category else CATEGORY_ORDER
    tags = {
        category: [
            TagCount(value=one.value, count=one.count) for one in facets if one.category == category
        ]
        for category in categories
    }
    shown = [CategoryShape(category=category, tags=some) for category, some in tags.items() if some]
    near = dict.fromkeys(value for values in known for value in values.near(params.search or ""))
    elsewhere = sorted({facet.category for facet in facets} - {one.category for one in shown})
    notes = []
    if not shown:
        like = f" like '{params.search}'" if params.search else ""
        hint = f"; the nearest: {', '.join(near)}" if near and not facets else ""
        notes.append(f"no tag{like}{f' in {params.category}' if params.category else ''}{hint}")
    if elsewhere:
        notes.append(
            f"there are more under {', '.join(elsewhere)}; leave out 'category' to see them"
        )
    result = BrowseAnimeResult(categories=shown, notes=notes)
    return result.between(params.start, result.item_count) if params.start else result


TOOLS = (search_anime, recommend_similar, get_anime_details, browse_taxonomy)


def _shape(record: api.Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "episodes": record.get("episodes") or 0,
        "tags": _tags(record),
        **{name: record.get(name) for name in ("title", "type", "year", "synopsis")},
    }


def _tags(record: api.Record) -> list[TagShape]:
    return [_tag(category=tag.category, value=tag.value) for tag in record.get("tags") or ()]


def first_names(names: Sequence[str], query: str) -> list[str]:
    """Return a few alternative names: the one that was asked for, an English and a native one, and
    others.
    """
    wanted = _folded(query)
    # folding hardly makes a name longer
    long_enough = [name for name in names if 0 < len(wanted) <= 2 * len(name)]
    may_have = max(wanted.split(), key=len, default="") in api.fold_name("\n".join(long_enough))
    asked_for = [name for name in long_enough if wanted in api.fold_name(name)] if may_have else []
    english = (name for name in names if name.isascii() and ENGLISH.search(name))
    native = (name for script in (KANA, KANJI) for name in names if script.search(name))
    chosen = [min(asked_for, key=len, default=None), next(english, None), next(native, None)]
    return list(dict.fromkeys(name for name in (*chosen, *names) if name is not None))[:MOST_NAMES]


def _other_signal(value: float | None, weight: float) -> OtherSignalShape | None:
    return None if value is None else OtherSignalShape(value=round(value, 4), weight=weight)


def _understood(answers: Collection[ranking.Recommendations]) -> list[str]:
    """Return how titles and preferences were taken, with what is in doubt about a title."""
    liked = [
        f"{title.asked}: {_taken(title)}"
        for answer in answers
        for title in answer.titles
        if title.title
    ]
    left_out = [
        f"{one.asked}: left out, {_taken(one)}"
        for answer in answers
        for one in answer.excluded
        if one.title
    ]
    wishes = [
        f"{one.text}: {one.meaning}" for answer in answers for one in answer.preferences.understood
    ]
    return list(dict.fromkeys([*liked, *left_out, *wishes]))


def _taken(choice: ranking.NameChoice) -> str:
    return f"the title '{choice.title}'{f', {choice.doubt}' if choice.doubt else ''}"


def _not_understood(answers: Collection[ranking.Recommendations]) -> list[str]:
    """Return the unknown titles and preferences of all catalogues, and their notes."""
    every = [choice for answer in answers for choice in (*answer.titles, *answer.excluded)]
    known = {choice.asked for choice in every if choice.title}
    choices = [choice for choice in every if choice.asked not in known]
    said = [
        one for answer in answers for one in (*answer.preferences.not_understood, *answer.notes)
    ]
    hints = [
        f"; did you mean {' or '.join(choice.suggestions)}?" if choice.suggestions else ""
        for choice in choices
    ]
    unknown = [
        f"no title like '{choice.asked}'{hint}" for choice, hint in zip(choices, hints, strict=True)
    ]
    return list(dict.fromkeys([*unknown, *said]))
