"""Arguments, filters and results of the judoka tools. Names, parameters and defaults are a fixed interface."""

import math
import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from stackroom.api import (
    KIND_FIELD,
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
from stackroom_catalogues.judoka.rows import CARD, STATS, normalised_class

CARDS = AnyOf(KIND_FIELD, (CARD,))
SHOWN = AnyOf("visibility", ("shown",))
MEASURES = (*STATS, "average")
THRESHOLD = re.compile(r"\s*([A-Za-z_ -]+?)\s*(>=|<=|==|=|>|<|≥|≤)\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*")


def parse_threshold(text: str) -> Range:
    """Return the condition that a threshold such as `power>=8` states."""
    found = THRESHOLD.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:60]!r} is not a threshold; 'power>=8' or 'average>=7.5' is one")
    stat, sign, number = found.groups()
    if stat.lower() not in MEASURES:
        raise ValueError(f"no stat '{stat}' in {text[:60]!r}; stats: {', '.join(MEASURES)}")
    return _range(stat.lower(), sign, float(number))


def _range(stat: str, sign: str, number: float) -> Range:
    """Return the range of a comparison; ranges include their bounds, so a strict one begins at the next number."""
    match sign:
        case ">=" | "≥":
            return Range(stat, at_least=number)
        case "<=" | "≤":
            return Range(stat, at_most=number)
        case ">":
            return Range(stat, at_least=math.nextafter(number, math.inf))
        case "<":
            return Range(stat, at_most=math.nextafter(number, -math.inf))
    return Range(stat, at_least=number, at_most=number)


def _require_threshold(text: str) -> str:
    parse_threshold(text)
    return text


def _listed(value: Any) -> Any:
    """Split a text of several thresholds into a list."""
    return re.split(r"\s*(?:,|;|&&?|\band\b)\s*", value.strip()) if isinstance(value, str) else value


Threshold = Annotated[str, AfterValidator(_require_threshold)]


class CardFilters(ToolParams):
    """Conditions that every card meets."""

    country: str | None = Field(default=None, description="Name or code, of listCountries")
    rarity: Literal["Common", "Epic", "Legendary"] | None = None
    weight_class: str | None = Field(default=None, description="e.g. -60 or +100")
    gender: Literal["male", "female"] | None = None
    weight_min: float | None = None
    weight_max: float | None = None
    stats: Annotated[list[Threshold], BeforeValidator(_listed)] | None = Field(
        default=None, description="e.g. power>=8, average>=7.5"
    )

    def conditions(self) -> list[Condition]:
        """Return the filters as conditions."""
        if self.weight_min is not None and self.weight_max is not None and self.weight_min > self.weight_max:
            raise InputError(
                f"'filters': weightMin {self.weight_min:g} is above weightMax {self.weight_max:g}; swap them"
            )
        found: list[Condition] = []
        if self.country and (country := self.country.strip()):
            letters = country.replace(".", "").lower()
            is_code = len(letters) == 2 and letters.isascii() and letters.isalpha()
            code = "gb" if letters == "uk" else letters
            found.append(AnyOf("countryCode", (code,)) if is_code else AnyOf("country", (country,)))
        if self.rarity:
            found.append(AnyOf("rarity", (self.rarity,)))
        if self.weight_class and self.weight_class.strip():
            found.append(AnyOf("weightClass", (normalised_class(self.weight_class),)))
        if self.gender:
            found.append(AnyOf("gender", (self.gender,)))
        if self.weight_min is not None or self.weight_max is not None:
            found.append(Range("weight", self.weight_min, self.weight_max))
        return [*found, *(parse_threshold(text) for text in self.stats or ())]


def argument_of(condition: Condition) -> str:
    """Return the argument that a condition came from."""
    name = "country" if condition.field == "countryCode" else condition.field
    return f"exclude.{name}" if isinstance(condition, NoneOf) else f"filters.{name}"


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

SHARED = WithJsonSchema({"type": "object", "description": "As in judokon.search"})
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


class SearchJudokaParams(ExplainParams, PagedParams):
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


class SearchJudokaResult(FoundResult, PricedResult):
    """The answer of `judokon.search`."""

    results: list[JudokaHit]
    hint: str | None


class IdParams(PricedParams):
    """Arguments of `judokon.getById`."""

    id: CardId = Field(description="e.g. 12, ABEGENENOU_63, or a name")


class CardResult(PricedResult):
    """A whole card, with every field of its file."""

    paged: ClassVar[tuple[str, ...]] = ()
    long_parts: ClassVar[tuple[str, ...]] = ("*",)

    model_config = ConfigDict(extra="allow")


class RandomParams(PricedParams):
    """Arguments of `judokon.random`."""

    filters: Annotated[CardFilters, SHARED] | None = None


class CodeParams(ToolParams):
    """Arguments of `judokon.validateCardCode`."""

    code: Code = Field(description="e.g. JDKN-7Q2M-X4WE-RTYC")


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

    id_a: CardId = Field(description="First judoka: id or name")
    id_b: CardId = Field(description="Second judoka: id or name")


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

    id: CardId = Field(description="Id or name")
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
