"""The judoka tools. Names, parameters, defaults, limits and fields are a fixed interface.

`query_rag` searches passages, techniques and cards; the `judokon.*` tools know cards only. Cards
that the file marks hidden are found and looked up like others; they are not drawn at random and not
suggested as opponents.
"""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)

from stackroom import api
from stackroom.api.shapes import BARE_LIST, BARE_OBJECT, optional
from stackroom_catalogues.judoka.files import CARDS, PREFIX, declare_files, source_of, text_of
from stackroom_catalogues.judoka.rows import (
    STATS,
    card_of,
    check_code,
    code_key,
    normalised_class,
    shown_id,
    stats_of,
)
from stackroom_catalogues.judoka.synonyms import synonyms_of

SHOWN = api.AnyOf("visibility", ("shown",))
MEASURES = (*STATS, "average")
LOWER_SIGNS, UPPER_SIGNS = (">", ">=", "≥"), ("<", "<=", "≤")
THRESHOLD = re.compile(r"\s*([A-Za-z_ -]+?)\s*(>=|<=|==|=|>|<|≥|≤)\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*")
RAG_RESULTS = 5
ALIKE = 3
LIKE = 0.6
SET_UP = "run: stackroom rag prepare, then stackroom add FOLDER --as judoka"


def parse_threshold(text: str) -> api.Range:
    """Return the condition that a threshold such as `power>=8` states."""
    found = THRESHOLD.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:60]!r} is not a threshold; 'power>=8' or 'average>=7.5' is one")
    stat, sign, number = found[1].lower(), found[2], float(found[3])
    if stat not in MEASURES:
        raise ValueError(f"no stat '{found[1]}' in {text[:60]!r}; stats: {', '.join(MEASURES)}")
    # ranges include their bounds, so a strict one begins at the next number
    low = math.nextafter(number, math.inf) if sign == ">" else number
    high = math.nextafter(number, -math.inf) if sign == "<" else number
    return api.Range(
        stat, None if sign in UPPER_SIGNS else low, None if sign in LOWER_SIGNS else high
    )


def _listed(value: Any) -> Any:
    """Split a text of several thresholds into a list."""
    return (
        re.split(r"\s*(?:,|;|&&?|\band\b)\s*", value.strip()) if isinstance(value, str) else value
    )


Threshold = Annotated[str, AfterValidator(lambda text: text if parse_threshold(text) else "")]


class CardFilters(api.ToolParams):
    """Conditions that every card meets."""

    country: str | None = optional("Name or code, of listCountries")
    rarity: Literal["Common", "Epic", "Legendary"] | None = None
    weight_class: str | None = optional("e.g. -60 or +100")
    gender: Literal["male", "female"] | None = None
    weight_min: float | None = None
    weight_max: float | None = None
    stats: Annotated[list[Threshold], BeforeValidator(_listed)] | None = optional(
        "e.g. power>=8, average>=7.5"
    )

    def conditions(self) -> list[api.Condition]:
        """Return the filters as conditions."""
        if (
            self.weight_min is not None
            and self.weight_max is not None
            and self.weight_min > self.weight_max
        ):
            raise api.InputError(
                f"'filters': weightMin {self.weight_min:g} is above weightMax {self.weight_max:g};"
                " swap them"
            )
        found: list[api.Condition] = []
        if self.country and (country := self.country.strip()):
            letters = country.replace(".", "").lower()
            is_code = len(letters) == 2 and letters.isascii() and letters.isalpha()
            code = "gb" if letters == "uk" else letters
            found.append(
                api.AnyOf("countryCode", (code,)) if is_code else api.AnyOf("country", (country,))
            )
        weight_class = normalised_class(self.weight_class or "")
        stated = {"rarity": self.rarity, "weightClass": weight_class, "gender": self.gender}
        found += [api.AnyOf(name, (value,)) for name, value in stated.items() if value]
        if self.weight_min is not None or self.weight_max is not None:
            found.append(api.Range("weight", self.weight_min, self.weight_max))
        return [*found, *(parse_threshold(text) for text in self.stats or ())]


def argument_of(condition: api.Condition) -> str:
    """Return the argument that a condition came from."""
    name = "country" if condition.field == "countryCode" else condition.field
    return f"exclude.{name}" if isinstance(condition, api.NoneOf) else f"filters.{name}"


def _id_text(value: Any) -> Any:
    """Convert a number to the text that the catalogue has."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


CardId = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=512),
    BeforeValidator(_id_text),
    WithJsonSchema({"type": "string"}),
]
SHARED = WithJsonSchema({"type": "object", "description": "As in judokon.search"})
"""Declarations cost tokens in every conversation, so only `judokon.search`, the most used, spells
its filters and rows out.
"""
FileId = Annotated[int | str, WithJsonSchema({"type": ["string", "integer"]})]
Side = Literal["a", "b", "draw"]
Code = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class RagParams(api.ExplainParams, api.PagedParams):
    """Arguments of `query_rag`."""

    query: api.QueryText = Field(description="A question about the game")


class RagHit(api.Explained, api.FromCatalogue):
    """A passage, technique or card that answers."""

    headline: ClassVar[str] = "{source}"

    id: FileId
    text: str
    source: str
    score: float
    relevance: str | None
    qa_context: str | None
    tags: list[str]


class RagResult(api.FoundResult, api.PricedResult):
    """The answer of `query_rag`; `hint` says why vectors were not used, and how to fix it."""

    long_texts: ClassVar[tuple[str, ...]] = ("text",)
    has_passages: ClassVar[bool] = True

    results: Annotated[list[RagHit], BARE_LIST]
    hint: str | None


class SearchJudokaParams(api.ExplainParams, api.PagedParams):
    """Arguments of `judokon.search`."""

    sized_by: ClassVar[tuple[str, ...]] = ("top_k",)

    query: api.QueryText = Field(description="As in: powerful judoka from Japan")
    top_k: int = Field(default=8, ge=1, le=50, description="Most results")
    filters: CardFilters | None = optional("What every card has")
    exclude: dict[str, Any] | None = optional("Values to leave out, by filter")


class JudokaShape(api.FromCatalogue):
    """The fields of a card in a list."""

    id: FileId
    name: str
    country: str | None
    rarity: str | None
    weight_class: str | None
    stats: dict[str, int]


class JudokaHit(api.Explained, JudokaShape):
    """One result of a search."""

    score: float
    relevance: str | None


class SearchJudokaResult(api.FoundResult, api.PricedResult):
    """The answer of `judokon.search`."""

    results: list[JudokaHit]
    hint: str | None


class IdParams(api.PricedParams):
    """Arguments of `judokon.getById`."""

    id: CardId = Field(description="e.g. 12, ABEGENENOU_63, or a name")


class CardResult(api.PricedResult):
    """A whole card, with every field of its file."""

    paged: ClassVar[tuple[str, ...]] = ()
    long_parts: ClassVar[tuple[str, ...]] = ("*",)

    model_config = ConfigDict(extra="allow")


class RandomParams(api.PricedParams):
    """Arguments of `judokon.random`."""

    filters: Annotated[CardFilters, SHARED] | None = None


class CodeParams(api.ToolParams):
    """Arguments of `judokon.validateCardCode`."""

    code: Code = Field(description="e.g. JDKN-7Q2M-X4WE-RTYC")


class ResolveParams(api.PricedParams, CodeParams):
    """Arguments of `judokon.resolveCode`."""


class CodeResult(api.FromCatalogue):
    """The validity of a code: it is valid when a card has it. `checksum` is null for codes without
    a check letter.
    """

    valid: bool
    format: bool
    checksum: bool | None
    known: bool
    id: Annotated[int | str | None, WithJsonSchema({"type": ["string", "integer", "null"]})]
    reason: str | None


class CompareParams(api.ToolParams):
    """Arguments of `judokon.compare`."""

    id_a: CardId = Field(description="First judoka: id or name")
    id_b: CardId = Field(description="Second judoka: id or name")


class StatShape(api.ToolResult):
    """A stat of two cards."""

    a: int
    b: int
    winner: Side


class CompareResult(api.ToolResult):
    """Two cards side by side: each stat's numbers and winner, the totals, and who wins more
    stats.
    """

    a: Annotated[JudokaShape, BARE_OBJECT]
    b: Annotated[JudokaShape, BARE_OBJECT]
    stats: Annotated[dict[str, StatShape], BARE_OBJECT]
    totals: dict[str, int]
    winner: Side


class OpponentParams(api.PagedParams):
    """Arguments of `judokon.suggestOpponent`."""

    sized_by: ClassVar[tuple[str, ...]] = ("top_k",)

    id: CardId = Field(description="Id or name")
    top_k: int = Field(default=3, ge=1, le=10, description="Most results")


class Opponent(JudokaShape):
    """A card that makes a fair match, and why."""

    reasons: list[str]


class OpponentResult(api.PricedResult):
    """The answer of `judokon.suggestOpponent`."""

    paged: ClassVar[str] = "opponents"

    opponents: Annotated[list[Opponent], BARE_LIST]


class CountriesParams(api.PagedParams):
    """Arguments of `judokon.listCountries`."""


class CountryCount(api.ToolResult):
    """A country, and how many cards are of it."""

    country: str
    code: str | None
    count: int


class CountriesResult(api.PricedResult):
    """The answer of `judokon.listCountries`, most cards first."""

    paged: ClassVar[str] = "countries"

    countries: Annotated[list[CountryCount], BARE_LIST]


CHANCE = random.SystemRandom()


def _count(result: "RagResult | SearchJudokaResult") -> int:
    return len(result.results)


def find_passages(call: api.Call, params: RagParams) -> api.ResultSet:
    """Return what `query_rag` finds."""
    return (
        api.Views.of(call)
        .scoped(params.query)
        .find(is_plain=True, also=synonyms_of, page_size=RAG_RESULTS, explains=params.explain)
    )


@api.operation("query_rag", finds=find_passages, reads=True, count_of=_count)
def query_rag(call: api.Call, params: RagParams) -> RagResult:
    """Search the judo card game JU-DO-KON!: documentation, code patterns, techniques, cards."""
    views, scope = api.Views.of(call), call.scope
    if not any(view.reader.count(scope) for view in views.found.values()):
        raise api.NotFoundError(f"the catalogue '{' and '.join(views.found)}' is empty; {SET_UP}")
    found = find_passages(call, params)
    if found.degraded and not any(len(part.ranking.keys) for part in found.parts):
        raise api.NotFoundError(
            f"no result by words, and vectors were not used: {_hint(found.degraded)}"
        )
    return RagResult(
        results=[_rag_hit(call, hit) for hit in found.page(params.start)],
        notes=found.word_notes,
        hint=_hint(found.degraded),
        **found.told(params.start),
    )


def find_cards(call: api.Call, params: SearchJudokaParams) -> api.ResultSet:
    """Return what `judokon.search` finds; filters ask for all that meet them."""
    scoped = _scoped(call, params.filters, params.exclude, query=params.query)
    found = scoped.find(also=synonyms_of, page_size=params.top_k, explains=params.explain)
    return replace(found, is_whole=params.filters is not None)


@api.operation("judokon.search", finds=find_cards, reads=True, count_of=_count)
def search(call: api.Call, params: SearchJudokaParams) -> SearchJudokaResult:
    """Search judoka cards of the game JU-DO-KON! by description."""
    found = find_cards(call, params)
    shown = found.page(params.start)
    hints = (
        []
        if shown or params.start
        else ["no judoka meets this; judokon.listCountries lists the countries there are"]
    )
    return SearchJudokaResult(
        results=[
            JudokaHit(**_shape(call, hit.view.name, hit.record), **hit.told()) for hit in shown
        ],
        hint=_hint(found.degraded),
        notes=[*found.question_notes, *found.filter_notes, *found.word_notes, *hints],
        **found.told(params.start),
    )


@api.operation("judokon.getById", reads=True)
def get_by_id(call: api.Call, params: IdParams) -> CardResult:
    """Get one judoka card, with all stats."""
    return _card(call, *_get_card(call, params.id))


@api.operation("judokon.random")
def draw(call: api.Call, params: RandomParams) -> CardResult:
    """Draw a random judoka card."""
    scoped = _scoped(call, params.filters)
    cards = [
        (view, card)
        for name, view in scoped.views.found.items()
        for card in view.records(scope=scoped.scopes[name].narrowed(SHOWN))
    ]
    if not cards:
        raise api.NotFoundError(
            "no judoka meets these filters; judokon.listCountries lists the countries"
        )
    return _card(call, *CHANCE.choice(cards))


@api.operation("judokon.resolveCode", reads=True)
def resolve_code(call: api.Call, params: ResolveParams) -> CardResult:
    """Find the judoka card of a card code."""
    found = _find_by_code(call, params.code)
    if found is None:
        reason = check_code(params.code).problem
        raise api.NotFoundError(
            f"no judoka has the code '{params.code[:200]}'{f': {reason}' if reason else ''};"
            " try judokon.search"
        )
    return _card(call, *found)


@api.operation("judokon.validateCardCode", reads=True)
def validate_code(call: api.Call, params: CodeParams) -> CodeResult:
    """Check the form of a card code, and whether a card has it."""
    form, found = check_code(params.code), _find_by_code(call, params.code)
    is_known = found is not None
    return CodeResult(
        valid=is_known,
        format=form.is_well_formed,
        checksum=form.has_right_check,
        known=is_known,
        id=shown_id(found[1]) if found else None,
        reason=None if is_known else form.problem or "well-formed, but no card here has it",
        catalogue=call.label_of(found[0].name) if found else None,
    )


@api.operation("judokon.compare", reads=True)
def compare(call: api.Call, params: CompareParams) -> CompareResult:
    """Compare two judoka, stat by stat."""
    views = api.Views.of(call)
    (view, one), (other_view, other) = (
        _get_card(call, wanted, views) for wanted in (params.id_a, params.id_b)
    )
    here, there = stats_of(one), stats_of(other)
    rows = {stat: _compared(here.get(stat, 0), there.get(stat, 0)) for stat in STATS}
    won, lost = (sum(row.winner == side for row in rows.values()) for side in ("a", "b"))
    return CompareResult(
        a=JudokaShape(**_shape(call, view.name, one)),
        b=JudokaShape(**_shape(call, other_view.name, other)),
        stats=rows,
        totals={"a": sum(here.values()), "b": sum(there.values())},
        winner=_compared(won, lost).winner,
    )


@api.operation("judokon.suggestOpponent", reads=True)
def suggest_opponent(call: api.Call, params: OpponentParams) -> OpponentResult:
    """Suggest fair opponents for a judoka."""
    view, card = _get_card(call, params.id)
    others = [one for one in _cards(view, call, SHOWN) if one.id != card.id]
    others.sort(key=lambda one: _mismatch(card, one))
    end = params.start + params.top_k
    return OpponentResult(
        opponents=[
            Opponent(**_shape(call, view.name, other), reasons=_reasons(card, other))
            for other in others[params.start : end]
        ],
        cursor=str(end) if end < len(others) else None,
    )


@api.operation("judokon.listCountries", reads=True)
def list_countries(call: api.Call, params: CountriesParams) -> CountriesResult:
    """List the countries of judoka, with card counts."""
    views, scope = api.Views.of(call), call.scope.narrowed(CARDS)
    rows = [
        CountryCount(
            country=facet.value, code=_country_code(views, facet.value, scope), count=facet.count
        )
        for facet in views.facets("country", scope)[params.start :]
    ]
    return CountriesResult(countries=rows)


TOOLS = (
    *(query_rag, search, get_by_id, draw, resolve_code, validate_code, compare),
    *(suggest_opponent, list_countries),
)


def _get_card(
    call: api.Call, stated: str, views: api.Views | None = None
) -> tuple[api.CatalogueView, api.Record]:
    views, scope = views or api.Views.of(call), call.scope.narrowed(CARDS)
    found = views.find_one(stated, lambda view, plain: _find_card(view, plain, scope))
    if found is None or found.record.kind not in CARDS.values:
        alike = [one for view in views.found.values() for one in _alike(view, stated, scope)]
        hint = f"; alike: {', '.join(alike[:ALIKE])}" if alike else "; judokon.search finds ids"
        raise api.NotFoundError(f"no judoka '{stated[:200]}'{hint}")
    return found


def _find_by_code(call: api.Call, code: str) -> tuple[api.CatalogueView, api.Record] | None:
    """Return the card with a code; the first by id where several of a catalogue have it."""
    condition = api.AnyOf("codeKey", (code_key(code),))
    if not all(condition.values):
        return None

    def find(view: api.CatalogueView, _code: str) -> api.Record | None:
        return min(_cards(view, call, condition), key=lambda one: one.id, default=None)

    return api.Views.of(call).find_one(code, find)


def _card(call: api.Call, view: api.CatalogueView, record: api.Record) -> CardResult:
    label = call.label_of(view.name)
    return CardResult(**{**card_of(record), **({"catalogue": label} if label else {})})


def _shape(call: api.Call, catalogue: str, record: api.Record) -> dict[str, Any]:
    return {
        "id": shown_id(record),
        **{name: record.get(name) for name in ("name", "country", "rarity")},
        "weight_class": record.get("weightClass"),
        "stats": stats_of(record),
        "catalogue": call.label_of(catalogue),
    }


def _rag_hit(call: api.Call, hit: api.Hit) -> RagHit:
    record = hit.record
    return RagHit(
        id=shown_id(record),
        text=text_of(record),
        source=source_of(record),
        qa_context=record.get("qaContext"),
        tags=list(record.get("tags") or (record.kind,)),
        catalogue=call.label_of(hit.view.name),
        **hit.told(),
    )


def _find_card(view: api.CatalogueView, stated: str, scope: api.Scope) -> api.Record | None:
    """Return the card of an id, or else of a name that only one judoka has."""
    named = view.resolve(stated, scope=scope)
    return view.find_stated(stated, scope=scope) or (named.record if named.is_certain else None)


def _alike(view: api.CatalogueView, stated: str, scope: api.Scope) -> list[str]:
    """Return the cards that have an id or a name like the one asked for."""
    reader = view.reader
    names = [
        match
        for match in reader.titles_like(stated, scope=scope, limit=ALIKE)
        if match.likeness >= LIKE
    ]
    ids = view.ids_like(stated, scope=scope)[:ALIKE]
    alike = list(dict.fromkeys([*ids, *reader.ids([match.key for match in names])]))[:ALIKE]
    found = reader.fetch(list(reader.find(alike, scope=scope).values()), scope=scope)
    return [f"{one.id} ({one.get('name')})" for one in found.values()]


def _cards(view: api.CatalogueView, call: api.Call, condition: api.AnyOf) -> list[api.Record]:
    return view.records(scope=call.scope.narrowed(CARDS, condition))


def _country_code(views: api.Views, country: str, scope: api.Scope) -> str | None:
    """Return the code that the first card of a country has."""
    own = scope.narrowed(api.AnyOf("country", (country,)))
    found = [card for view in views.found.values() for card in view.records(scope=own, limit=1)]
    return cast(str | None, found[0].get("countryCode")) if found else None


def resources(catalogues: Sequence[api.OpenCatalogue]) -> list[api.ResourceSpec]:
    """Declare the files of the catalogue named like its layout, or the first; of several, also
    those of each.
    """
    main = next(
        (catalogue for catalogue in catalogues if catalogue.name == catalogue.spec.name),
        catalogues[0],
    )
    several = catalogues if len(catalogues) > 1 else ()
    return [
        declare_files(main, PREFIX),
        *(declare_files(one, f"{PREFIX}{one.name}/") for one in several),
    ]


def _scoped(
    call: api.Call,
    filters: CardFilters | None,
    exclude: Mapping[str, Any] | None = None,
    *,
    query: str = "",
) -> api.CatalogueScopes:
    """Return the scope of the cards that meet the filters, in each catalogue."""
    conditions = (filters or CardFilters()).conditions()
    return api.Views.of(call).scoped(
        query, conditions, within=[CARDS], exclude=exclude, label=argument_of
    )


def _hint(degraded: str | None) -> str | None:
    return degraded if degraded is None or "run: " in degraded else f"{degraded}; {SET_UP}"


def _compared(here: int, there: int) -> StatShape:
    winner: Side = "draw" if here == there else "a" if here > there else "b"
    return StatShape(a=here, b=there, winner=winner)


def _mismatch(card: api.Record, other: api.Record) -> tuple[object, ...]:
    """Return a sort key: by gender first, then by weight class, then by the distance of averages
    and weights.
    """
    is_other = (card.get(name) != other.get(name) for name in ("gender", "weightClass"))
    distances = (
        abs((card.get(name) or 0) - (other.get(name) or 0)) for name in ("average", "weight")
    )
    return (*is_other, *distances, other.id)


def _reasons(card: api.Record, other: api.Record) -> list[str]:
    is_same_gender, is_same_class = (
        card.get(key) == other.get(key) for key in ("gender", "weightClass")
    )
    gap = (other.get("average") or 0) - (card.get("average") or 0)
    return [
        f"{'same' if is_same_gender else 'other'} gender",
        (
            f"{'same weight class' if is_same_class else 'weight class'}"
            f" {other.get('weightClass') or 'unknown'}"
        ),
        (
            "equal average"
            if not gap
            else f"average {abs(gap):.1f} {'higher' if gap > 0 else 'lower'}"
        ),
    ]
