"""Arguments and results of the judoka tools. Names, parameters and defaults are a fixed interface."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from stackroom.api import (
    Explained,
    ExplainParams,
    FoundResult,
    FromCatalogue,
    PagedParams,
    PricedParams,
    PricedResult,
    QueryText,
    Relevance,
    ToolParams,
    ToolResult,
)
from stackroom_catalogues.judoka.filters import CardFilters


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
OBJECT = WithJsonSchema({"type": "object"})
LEAN = WithJsonSchema({"type": "array", "items": {"type": "object"}})
"""Declarations cost tokens in every conversation, so only `judokon.search`, the most used, spells its rows out."""

SHARED = WithJsonSchema({"type": "object", "description": "As of judokon.search"})
FileId = Annotated[int | str, WithJsonSchema({"type": ["string", "integer"]})]
Side = Literal["a", "b", "draw"]
Code = Annotated[str, StringConstraints(min_length=1, max_length=400)]


class RagParams(ExplainParams, PagedParams):
    """Arguments of `query_rag`."""

    query: QueryText = Field(description="A question about the game")


class RagHit(Explained, FromCatalogue):
    """A passage, technique or card that answers."""

    headline: ClassVar[str] = "{source}"

    id: FileId
    text: str
    source: str
    score: float
    relevance: Relevance
    qa_context: str | None
    tags: list[str]


class RagResult(FoundResult, PricedResult):
    """The answer of `query_rag`; `hint` says why vectors were not used, and how to fix it."""

    long_texts: ClassVar[tuple[str, ...]] = ("text",)
    has_passages: ClassVar[bool] = True

    results: Annotated[list[RagHit], LEAN]
    hint: str | None


class SearchParams(ExplainParams, PagedParams):
    """Arguments of `judokon.search`."""

    sized_by: ClassVar[tuple[str, ...]] = ("top_k",)

    query: QueryText = Field(description="As in: powerful judoka from Japan")
    top_k: int = Field(default=8, ge=1, le=50, description="Most results")
    filters: CardFilters | None = Field(default=None, description="What every card has")
    exclude: dict[str, Any] | None = Field(default=None, description="Values to leave out, by filter")


class JudokaShape(FromCatalogue):
    """The fields of a card in a list."""

    id: FileId
    name: str
    country: str | None
    rarity: str | None
    weight_class: str | None
    stats: dict[str, int]


class JudokaHit(Explained, JudokaShape):
    """One result of a search."""

    score: float
    relevance: Relevance


class SearchResult(FoundResult, PricedResult):
    """The answer of `judokon.search`."""

    results: list[JudokaHit]
    hint: str | None


class IdParams(PricedParams):
    """Arguments of `judokon.getById`."""

    id: CardId = Field(description="12 or ABEGENENOU_63")


class CardResult(PricedResult):
    """A whole card, with every field of its file."""

    paged: ClassVar[tuple[str, ...]] = ()
    long_parts: ClassVar[tuple[str, ...]] = ("*",)

    model_config = ConfigDict(extra="allow")


class RandomParams(PricedParams):
    """Arguments of `judokon.random`."""

    filters: Annotated[CardFilters, SHARED] | None = None
    seed: int | None = Field(default=None, description="Same seed, same card")


class CodeParams(ToolParams):
    """Arguments of `judokon.validateCardCode`."""

    code: Code = Field(description="As JDKN-7Q2M-X4WE-RTYC")


class ResolveParams(PricedParams, CodeParams):
    """Arguments of `judokon.resolveCode`."""


class CodeResult(FromCatalogue):
    """The validity of a code: it is valid when a card has it. `checksum` is null for codes without a check letter."""

    valid: bool
    format: bool
    checksum: bool | None
    known: bool
    id: Annotated[int | str | None, WithJsonSchema({"type": ["string", "integer", "null"]})]
    reason: str | None


class CompareParams(ToolParams):
    """Arguments of `judokon.compare`."""

    id_a: CardId = Field(description="As of getById")
    id_b: CardId = Field(description="Of the other")


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


class OpponentParams(PagedParams):
    """Arguments of `judokon.suggestOpponent`."""

    sized_by: ClassVar[tuple[str, ...]] = ("top_k",)

    id: CardId = Field(description="As of getById")
    top_k: int = Field(default=3, ge=1, le=10, description="Most results")


class Opponent(JudokaShape):
    """A card that makes a fair match, and why."""

    reasons: list[str]


class OpponentResult(PricedResult):
    """The answer of `judokon.suggestOpponent`."""

    paged: ClassVar[str] = "opponents"

    opponents: Annotated[list[Opponent], LEAN]


class CountriesParams(PagedParams):
    """Arguments of `judokon.listCountries`."""


class CountryCount(ToolResult):
    """A country, and how many cards are of it."""

    country: str
    code: str | None
    count: int


class CountriesResult(PricedResult):
    """The answer of `judokon.listCountries`, most cards first."""

    paged: ClassVar[str] = "countries"

    countries: Annotated[list[CountryCount], LEAN]
