"""The judoka tools. Names, parameters, defaults, limits and fields are a fixed interface.

`query_rag` searches passages, techniques and cards; the `judokon.*` tools know cards only. Cards that the file marks
hidden are found and looked up like others; they are not drawn at random and not suggested as opponents.
"""

import random
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import orjson
from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from pinakes.api import (
    Action,
    AnyOf,
    CatalogueView,
    Cost,
    NotFoundError,
    OpenCatalogue,
    Principal,
    Record,
    RecordId,
    ResourceSpec,
    Scope,
    ShelfReader,
    ToolParams,
    ToolResult,
    ToolSpec,
    like_words,
)
from pinakes_catalogues.judoka.codes import check_code, code_key
from pinakes_catalogues.judoka.files import JudokonFiles, source_of, text_of
from pinakes_catalogues.judoka.filters import SHOWN, CardFilters
from pinakes_catalogues.judoka.rows import CARD, STATS, card_of, shown_id, stats_of
from pinakes_catalogues.judoka.synonyms import search_expanded

RAG_RESULTS = 5
LISTED_IN_TEXT = 10
ALIKE = 3
LIKE = 0.6
SET_UP = "run: pinakes rag prepare, then pinakes add FOLDER --as judoka"


def _id_text(value: Any) -> Any:
    """Take a number for the text that it is in the catalogue."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


CardId = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=512),
    BeforeValidator(_id_text),
    WithJsonSchema({"type": ["string", "integer"]}),
]
OBJECT = WithJsonSchema({"type": "object"})
LEAN = WithJsonSchema({"type": "array", "items": {"type": "object"}})
"""Every conversation pays for the declarations, so only `judokon.search`, which is used most, spells its rows out."""

SHARED = WithJsonSchema({"type": "object", "description": "As of judokon.search"})
FileId = Annotated[int | str, WithJsonSchema({"type": ["string", "integer"]})]
Side = Literal["a", "b", "draw"]
Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Code = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class RagParams(ToolParams):
    """Arguments of `query_rag`."""

    query: Query


class RagHit(ToolResult):
    """A passage, technique or card that answers."""

    id: FileId
    text: str
    source: str
    score: float
    qa_context: str | None
    tags: list[str]


class RagResult(ToolResult):
    """The answer of `query_rag`; `hint` says why it went by words alone, and what to do."""

    results: Annotated[list[RagHit], LEAN]
    hint: str | None


class SearchParams(ToolParams):
    """Arguments of `judokon.search`."""

    query: Query
    top_k: int = Field(default=8, ge=1, le=50)
    filters: CardFilters | None = None


class JudokaShape(ToolResult):
    """What a list says of a card."""

    id: FileId
    name: str
    country: str | None
    rarity: str | None
    weight_class: str | None
    stats: dict[str, int]


class JudokaHit(JudokaShape):
    """One result of a search."""

    score: float


class SearchResult(ToolResult):
    """The answer of `judokon.search`."""

    results: list[JudokaHit]
    hint: str | None


class IdParams(ToolParams):
    """Arguments of `judokon.getById`."""

    id: CardId


class CardResult(ToolResult):
    """A whole card: whatever its file has of it."""

    model_config = ConfigDict(extra="allow")


class RandomParams(ToolParams):
    """Arguments of `judokon.random`."""

    filters: Annotated[CardFilters, SHARED] | None = None
    seed: int | None = None


class CodeParams(ToolParams):
    """Arguments of `judokon.resolveCode` and `judokon.validateCardCode`."""

    code: Code


class CodeResult(ToolResult):
    """What is known of a code; it is valid when a card has it. `checksum` is null for codes without a check letter."""

    valid: bool
    format: bool
    checksum: bool | None
    known: bool
    id: Annotated[int | str | None, WithJsonSchema({"type": ["string", "integer", "null"]})]
    reason: str | None


class CompareParams(ToolParams):
    """Arguments of `judokon.compare`."""

    id_a: CardId
    id_b: CardId


class StatShape(ToolResult):
    """A stat of two cards."""

    a: int
    b: int
    winner: Side


class CompareResult(ToolResult):
    """Two cards side by side: each stat's numbers and winner, the totals, and who wins more stats."""

    a: Annotated[JudokaShape, OBJECT]
    b: Annotated[JudokaShape, OBJECT]
    stats: Annotated[dict[str, StatShape], OBJECT]
    totals: dict[str, int]
    winner: Side


class OpponentParams(ToolParams):
    """Arguments of `judokon.suggestOpponent`."""

    id: CardId
    top_k: int = Field(default=3, ge=1, le=10)


class Opponent(JudokaShape):
    """A card that makes a fair match, and why."""

    reasons: list[str]


class OpponentResult(ToolResult):
    """The answer of `judokon.suggestOpponent`."""

    opponents: Annotated[list[Opponent], LEAN]


class CountriesParams(ToolParams):
    """Arguments of `judokon.listCountries`: none."""


class CountryCount(ToolResult):
    """A country, and how many cards are of it."""

    country: str
    code: str | None
    count: int


class CountriesResult(ToolResult):
    """The answer of `judokon.listCountries`, most cards first."""

    countries: Annotated[list[CountryCount], LEAN]


class JudokonTools:
    """The nine tools over one catalogue. `chance` is what draws cards where no seed is given."""

    def __init__(self, catalogue: OpenCatalogue, chance: random.Random) -> None:
        self._catalogue = catalogue
        self._chance = chance

    def query_rag(self, principal: Principal, params: RagParams) -> RagResult:
        """Find what answers a question."""
        view, scope = self._catalogue.view(), Scope(visibility=principal.visibility)
        if not view.reader.count(scope):
            raise NotFoundError(f"the catalogue '{view.name}' is empty; {SET_UP}")
        page = search_expanded(view, params.query, scope=scope, limit=RAG_RESULTS)
        if page.degraded and not page.hits:
            raise NotFoundError(f"nothing has these words, and meaning was not compared: {_hint(page.degraded)}")
        return RagResult(results=[_rag_hit(hit.record, hit.score) for hit in page.hits], hint=_hint(page.degraded))

    def search(self, principal: Principal, params: SearchParams) -> SearchResult:
        """Find cards by a description."""
        scope = _scope(principal, params.filters)
        page = search_expanded(self._catalogue.view(), params.query, scope=scope, limit=params.top_k)
        hits = [JudokaHit(**_shape(hit.record), score=round(hit.score, 4)) for hit in page.hits]
        return SearchResult(results=hits, hint=_hint(page.degraded))

    def get_by_id(self, principal: Principal, params: IdParams) -> CardResult:
        """Look one card up."""
        return CardResult(**card_of(_get_card(self._catalogue.view(), principal, params.id)))

    def draw(self, principal: Principal, params: RandomParams) -> CardResult:
        """Draw a card that is not hidden; the same seed draws the same card of the same cards."""
        view, scope = self._catalogue.view(), _scope(principal, params.filters).narrowed(SHOWN)
        ids = sorted(view.reader.ids(view.reader.scan(scope=scope, limit=view.reader.count(scope))))
        if not ids:
            raise NotFoundError("no judoka meets these filters; judokon.listCountries lists the countries there are")
        chance = self._chance if params.seed is None else random.Random(params.seed)
        return CardResult(**card_of(_get_card(view, principal, chance.choice(ids))))

    def resolve_code(self, principal: Principal, params: CodeParams) -> CardResult:
        """Return the card that has a code."""
        record = _find_by_code(self._catalogue.view(), principal, params.code)
        if record is None:
            reason = check_code(params.code).problem
            raise NotFoundError(f"no judoka has the code '{params.code[:200]}'{f': {reason}' if reason else ''}")
        return CardResult(**card_of(record))

    def validate_code(self, principal: Principal, params: CodeParams) -> CodeResult:
        """Say whether a code is well-formed, whether its check letter is right, and whether a card has it."""
        form, record = check_code(params.code), _find_by_code(self._catalogue.view(), principal, params.code)
        is_known = record is not None
        return CodeResult(
            valid=is_known,
            format=form.is_well_formed,
            checksum=form.has_right_check,
            known=is_known,
            id=shown_id(record) if record else None,
            reason=None if is_known else form.problem or "well-formed, but no card here has it",
        )

    def compare(self, principal: Principal, params: CompareParams) -> CompareResult:
        """Set two cards side by side."""
        view = self._catalogue.view()
        one, other = _get_card(view, principal, params.id_a), _get_card(view, principal, params.id_b)
        here, there = stats_of(one), stats_of(other)
        rows = {stat: _compared(here.get(stat, 0), there.get(stat, 0)) for stat in STATS}
        won, lost = (sum(row.winner == side for row in rows.values()) for side in ("a", "b"))
        return CompareResult(
            a=JudokaShape(**_shape(one)),
            b=JudokaShape(**_shape(other)),
            stats=rows,
            totals={"a": sum(here.values()), "b": sum(there.values())},
            winner=_compared(won, lost).winner,
        )

    def suggest_opponent(self, principal: Principal, params: OpponentParams) -> OpponentResult:
        """Suggest fair matches: of the same gender first, then of the same weight class, then nearest in average."""
        view = self._catalogue.view()
        card = _get_card(view, principal, params.id)
        others = [one for one in _cards(view, principal, SHOWN) if one.id != card.id]
        others.sort(key=lambda one: _mismatch(card, one))
        return OpponentResult(
            opponents=[Opponent(**_shape(one), reasons=_reasons(card, one)) for one in others[: params.top_k]]
        )

    def list_countries(self, principal: Principal, _params: CountriesParams) -> CountriesResult:
        """Count the cards of each country."""
        reader, scope = self._catalogue.shelf.reader(), _scope(principal, None)
        rows = []
        for facet in reader.facets("country", scope=scope):
            first = reader.scan(scope=scope.narrowed(AnyOf("country", (facet.value,))), limit=1)
            record = next(iter(reader.fetch(first, scope=scope).values()), None)
            code = record.get("countryCode") if record else None
            rows.append(CountryCount(country=facet.value, code=code, count=facet.count))
        return CountriesResult(countries=rows)


def _get_card(view: CatalogueView, principal: Principal, stated: str) -> Record:
    scope = _scope(principal, None)
    record = view.find_record(RecordId(stated), scope=scope)
    if record is None or record.kind != CARD:
        raise NotFoundError(f"no judoka '{stated[:200]}'{_alike(view.reader, stated, scope)}")
    return record


def _alike(reader: ShelfReader, stated: str, scope: Scope) -> str:
    """Say which cards have an id or a name like the one asked for."""
    ids = reader.ids(reader.scan(scope=scope, limit=reader.count(scope)))
    names = [match for match in reader.titles_like(stated, scope=scope, limit=ALIKE) if match.likeness >= LIKE]
    named = reader.ids([match.key for match in names])
    alike = list(dict.fromkeys([*like_words(stated, ids)[:ALIKE], *named]))[:ALIKE]
    found = reader.fetch(list(reader.find([RecordId(one) for one in alike], scope=scope).values()), scope=scope)
    listed = ", ".join(f"{one.id} ({one.get('name')})" for one in found.values())
    return f"; alike: {listed}" if listed else "; judokon.search finds ids"


def _find_by_code(view: CatalogueView, principal: Principal, code: str) -> Record | None:
    """Return the card with a code; the first by id where several have it."""
    wanted = code_key(code)
    found = _cards(view, principal, AnyOf("codeKey", (wanted,))) if wanted else []
    return min(found, key=lambda record: record.id, default=None)


def _cards(view: CatalogueView, principal: Principal, condition: AnyOf) -> list[Record]:
    reader, scope = view.reader, _scope(principal, None).narrowed(condition)
    return list(reader.fetch(reader.scan(scope=scope, limit=reader.count(scope)), scope=scope).values())


def tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the judoka tools over the first judoka catalogue that is served."""
    judokon = JudokonTools(catalogues[0], random.SystemRandom())
    declared = partial(ToolSpec, action=Action.ACCESS_CATALOG, cost=Cost.READ, cacheable=True)
    return [
        declared(
            name="query_rag",
            title="Query RAG",
            description="Search documentation, code patterns and game data.",
            params=RagParams,
            result=RagResult,
            run=judokon.query_rag,
            text=_rag_text,
            count_of=lambda result: len(result.results),
        ),
        declared(
            name="judokon.search",
            title="Search judoka",
            description="Search judoka cards by description.",
            params=SearchParams,
            result=SearchResult,
            run=judokon.search,
            text=_search_text,
            count_of=lambda result: len(result.results),
        ),
        declared(
            name="judokon.getById",
            title="Judoka card",
            description="Full judoka card, by id.",
            params=IdParams,
            result=CardResult,
            run=judokon.get_by_id,
            text=_card_text,
        ),
        declared(
            name="judokon.random",
            cacheable=False,
            title="Random judoka",
            description="Draw a judoka card.",
            params=RandomParams,
            result=CardResult,
            run=judokon.draw,
            text=_card_text,
        ),
        declared(
            name="judokon.resolveCode",
            title="Resolve card code",
            description="Judoka of a card code.",
            params=CodeParams,
            result=CardResult,
            run=judokon.resolve_code,
            text=_card_text,
        ),
        declared(
            name="judokon.validateCardCode",
            title="Validate card code",
            description="Check a card code's format and existence.",
            params=CodeParams,
            result=CodeResult,
            run=judokon.validate_code,
            text=_code_text,
        ),
        declared(
            name="judokon.compare",
            title="Compare judoka",
            description="Compare two judoka, stat by stat.",
            params=CompareParams,
            result=CompareResult,
            run=judokon.compare,
            text=_compare_text,
        ),
        declared(
            name="judokon.suggestOpponent",
            title="Suggest opponents",
            description="Suggest fair opponents.",
            params=OpponentParams,
            result=OpponentResult,
            run=judokon.suggest_opponent,
            text=_opponent_text,
        ),
        declared(
            name="judokon.listCountries",
            title="List countries",
            description="Countries, with card counts.",
            params=CountriesParams,
            result=CountriesResult,
            run=judokon.list_countries,
            text=_countries_text,
        ),
    ]


def resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the files of the first judoka catalogue that is served."""
    return [JudokonFiles(catalogues[0]).declare()]


def _scope(principal: Principal, filters: CardFilters | None) -> Scope:
    return Scope(conditions=tuple((filters or CardFilters()).conditions()), visibility=principal.visibility)


def _hint(degraded: str | None) -> str | None:
    if degraded is None:
        return None
    return degraded if "run: " in degraded else f"{degraded}; {SET_UP}"


def _shape(record: Record) -> dict[str, Any]:
    return {
        "id": shown_id(record),
        "name": record.get("name"),
        "country": record.get("country"),
        "rarity": record.get("rarity"),
        "weight_class": record.get("weightClass"),
        "stats": stats_of(record),
    }


def _rag_hit(record: Record, score: float) -> RagHit:
    return RagHit(
        id=shown_id(record),
        text=text_of(record),
        source=source_of(record),
        score=round(score, 4),
        qa_context=record.get("qaContext"),
        tags=list(record.get("tags") or (record.kind,)),
    )


def _compared(here: int, there: int) -> StatShape:
    winner: Side = "draw" if here == there else "a" if here > there else "b"
    return StatShape(a=here, b=there, winner=winner)


def _mismatch(card: Record, other: Record) -> tuple[bool, bool, float, float, str]:
    """Return how unfair a match would be, to sort by."""
    return (
        card.get("gender") != other.get("gender"),
        card.get("weightClass") != other.get("weightClass"),
        abs((card.get("average") or 0) - (other.get("average") or 0)),
        abs((card.get("weight") or 0) - (other.get("weight") or 0)),
        other.id,
    )


def _reasons(card: Record, other: Record) -> list[str]:
    is_same_gender, is_same_class = (card.get(key) == other.get(key) for key in ("gender", "weightClass"))
    gap = (other.get("average") or 0) - (card.get("average") or 0)
    return [
        f"{'same' if is_same_gender else 'other'} gender",
        f"{'same weight class' if is_same_class else 'weight class'} {other.get('weightClass') or 'unknown'}",
        "equal average" if not gap else f"average {abs(gap):.1f} {'higher' if gap > 0 else 'lower'}",
    ]


def _line(judoka: JudokaShape) -> str:
    numbers = " ".join(f"{stat} {number}" for stat, number in judoka.stats.items())
    return f"{judoka.name} ({judoka.country}, {judoka.rarity}, {judoka.weight_class}) {numbers} [{judoka.id}]"


def _rag_text(result: RagResult) -> str:
    parts = [f"{n}. {hit.source} [{hit.id}]\n{hit.text}" for n, hit in enumerate(result.results, start=1)]
    return "\n\n".join([*(parts or ["nothing found"]), *filter(None, [result.hint])])


def _search_text(result: SearchResult) -> str:
    lines = [f"{n}. {_line(hit)}" for n, hit in enumerate(result.results[:LISTED_IN_TEXT], start=1)]
    return "\n".join(lines or ["no judoka meets this; judokon.listCountries lists the countries there are"])


def _card_text(card: CardResult) -> str:
    return orjson.dumps(card.model_dump(mode="json", by_alias=True)).decode()


def _code_text(result: CodeResult) -> str:
    return f"valid: the code of judoka {result.id}" if result.valid else f"not valid: {result.reason}"


def _compare_text(result: CompareResult) -> str:
    rows = [f"{stat}: {row.a} – {row.b} ({row.winner})" for stat, row in result.stats.items()]
    names = f"a: {result.a.name}, b: {result.b.name}"
    return "\n".join([names, *rows, f"total: {result.totals['a']} – {result.totals['b']}; winner: {result.winner}"])


def _opponent_text(result: OpponentResult) -> str:
    lines = [f"{n}. {_line(one)}: {', '.join(one.reasons)}" for n, one in enumerate(result.opponents, start=1)]
    return "\n".join(lines or ["there is no other judoka"])


def _countries_text(result: CountriesResult) -> str:
    return ", ".join(f"{one.country} ({one.count})" for one in result.countries) or "no cards"
