"""Arguments and results of `search`, `fetch` and `similar`, which answer in JSON, as research
assistants expect it.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, Literal, Self, TypeVar

import orjson
from pydantic import Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from stackroom.tools import spec
from stackroom.tools.budget import PagedParams, PricedResult, shorten_list
from stackroom.tools.operation import SeveralOf
from stackroom.tools.spec import (
    BARE_LIST,
    FOR_PAGES,
    GenericParams,
    GenericResult,
    QueryText,
    SearchText,
    ToolResult,
    optional,
    when_any,
    when_known,
)

PIECE = re.compile(r"\s*\S{1,100}|\s+$")
"""A word with the blanks before it; a long one, as of a script without blanks, in parts."""

MOST_FIELDS = 2  # the most fields to group by
# the number of records that are ranked by a number, where a call does not say how many
RANKED_SHOWN = 5
MOST_NAMED = 100  # the most records that a call names by their ids

PartT = TypeVar("PartT")
ForPages = Annotated[PartT, SkipJsonSchema(), FOR_PAGES]
"""An argument or a part of an answer for programs that draw: taken and given over REST, and in no
tool list.
"""
Part = Literal["tiles", "cells", "counts", "facets", "keys", "playable", "fields"]
"""`tiles`: results with what a page draws; `cells`: with the columns of a table too; `counts`: how
many are listed and left out; `facets`; `keys`: the ids of the whole set; `playable`: those of the
first with a file to play; `fields`: a record's fields and relations, or a catalogue's.
"""
StatedId = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]


class DrawnParams(GenericParams):
    """The argument of a tool whose answer can have parts for pages."""

    include: ForPages[list[Part]] = Field(default_factory=list, max_length=10)


class SearchParams(spec.ExplainParams, PagedParams, DrawnParams):
    """The arguments of `search`; those after `limit` are for pages.

    `sort` is a field of one catalogue, with a minus before it where the greatest come first:
    records that answer are sorted, then those that are only near. With `read_conditions` a query
    such as "films after 2010" is read for conditions, but for the phrases in `as_words`. `facet`
    and `like` look for values of one field. `ids` lists these records alone, in their order. `area`
    is a part of the map of one catalogue, as `maps.map_file` reads it.
    """

    query: QueryText = Field(description="A question, topic or name")
    catalogue: str | None = optional("Only this one")
    filters: dict[str, Any] | None = optional("What every result has, by field")
    exclude: dict[str, Any] | None = optional("Values to leave out, by field")
    limit: int = Field(default=10, ge=1, le=50, description="Most results")
    sort: ForPages[str] = Field(default="", max_length=200)
    read_conditions: ForPages[bool] = True
    as_words: ForPages[list[SearchText]] = Field(default_factory=list, max_length=MOST_NAMED)
    facet: ForPages[str] = Field(default="", max_length=200)
    like: ForPages[SearchText] = ""
    ids: ForPages[list[StatedId]] = Field(default_factory=list, max_length=MOST_NAMED)
    area: ForPages[str] = Field(default="", max_length=1_500)


class FetchParams(PagedParams, DrawnParams):
    """The arguments of `fetch`."""

    id: str = Field(
        min_length=3, max_length=1_000, description="CATALOGUE/ID from a result, or its web page"
    )


class SimilarParams(PagedParams, DrawnParams):
    """The arguments of `similar`."""

    id: str = Field(min_length=3, max_length=1_000, description="CATALOGUE/ID")
    catalogue: str | None = optional("Where to look, if not in its own")
    limit: int = Field(default=8, ge=1, le=50, description="Most results")


class BrowseParams(PagedParams, DrawnParams):
    """The arguments of `browse`; with `include`, catalogues are described for pages, without values
    of their fields.
    """

    catalogue: str | None = optional("Only this one")
    field: str | None = optional("List the values of this field")
    search: SearchText | None = optional("Only values like this")
    by: SeveralOf[str] | None = optional(
        "Fields to group by: country, year/decade, price/10", max_length=MOST_FIELDS
    )
    of: str | None = optional("Number field to average, sum, rank records by")
    filters: dict[str, Any] | None = optional("As in search")
    exclude: dict[str, Any] | None = optional("As in search")
    query: SearchText | None = optional("Count only records with these words")
    sort: str | None = optional("Order of groups: count, value, mean, sum; asc or desc")
    limit: int = Field(default=30, ge=1, le=200, description="Most values of a field, or groups")

    @property
    def dimensions(self) -> list[str]:
        """The fields to group by; `field` where a number is asked for."""
        return self.by or ([self.field] if self.field and self.of else [])

    @property
    def page_size(self) -> int:
        """The most values, groups or ranked records of a page; few records unless the call says how
        many.
        """
        is_ranking = self.of and not self.dimensions and "limit" not in self.model_fields_set
        return RANKED_SHOWN if is_ranking else self.limit

    @property
    def has_figures(self) -> bool:
        """Whether groups or figures are asked for."""
        return bool(self.by or self.of)


class TileField(GenericResult):
    """A field of a record with its label, in words."""

    field: str
    label: str
    value: str


class Tile(GenericResult):
    """A record as pages draw it: the line below its title, a few fields, the beginning of its text,
    and its files.
    """

    kind: str
    line: str
    text: str
    fields: list[TileField]
    image: str | None
    audio: bool
    cells: dict[str, str] | None = when_known()


class ShownRecord(spec.Explained, spec.FromFile, GenericResult):
    """One result, or a record that was named."""

    id: str
    title: str
    url: str
    catalogue: str
    score: float
    relevance: str | None
    fields: dict[str, Any] = when_any(dict)
    """The few fields that tell most about the record, by name; `fetch` has all of them."""
    line: Callable[[], str] = Field(default=str, exclude=True)
    """Returns the same fields in words, for terminals."""
    text: str
    tile: ForPages[Tile | None] = when_known()
    signals: ForPages[dict[str, float] | None] = when_known()
    """How much each signal of a recommendation speaks for it."""


Number = int | float | str


class FacetValue(GenericResult):
    """A value of a facet, how many records have it, and whether it is wanted or left out."""

    value: str
    count: int
    chosen: bool
    excluded: bool


class Bar(GenericResult):
    """A bar of a histogram, both ends included."""

    first: Number
    last: Number
    count: int
    words: list[str] | None = when_known()
    """Both ends with their unit, where they have one."""


class Facet(GenericResult):
    """The values of a field in a result set, or the distribution of its numbers."""

    field: str
    label: str
    type: str
    values: list[FacetValue] | None = when_known()
    total: int | None = when_known()
    min: Number | None = when_known()
    max: Number | None = when_known()
    low: Number | None = when_known()
    high: Number | None = when_known()
    bars: list[Bar] | None = when_known()


class UnderstoodPhrase(GenericResult):
    """Words of the query, the condition that they state in words, and its field."""

    phrase: str
    text: str
    field: str


class Understood(GenericResult):
    """A query as it was read: the words to search for, all filters and exclusions, and the phrases
    of conditions.
    """

    query: str
    filters: dict[str, Any]
    exclude: dict[str, Any]
    phrases: list[UnderstoodPhrase]


class LeftOut(GenericResult):
    """How many records that the caller may see are not in a result set, and why."""

    adult: int
    """For adults only, which nobody asked for."""
    hidden: int
    """Of a kind that has to be asked for."""
    filtered: int
    """Without what the filters ask for."""


class RecordsResult(PricedResult, GenericResult):
    """An answer that lists records."""

    whole_with = "fetch"
    long_texts = ("text", "fields.*")


class SearchResult(spec.FoundResult, RecordsResult):
    """The answer of `search`: records in order, each with one score and its label. After `notes`:
    for pages.
    """

    results: list[ShownRecord]
    total: int
    has_more: bool
    cursor: str | None
    notes: list[str]
    understood: ForPages[Understood | None] = when_known()
    only_orders: ForPages[bool | None] = when_known()
    """Whether the words of the query only order the records that have the filters."""
    listed: ForPages[int | None] = when_known()
    """How many results there are over all pages."""
    left_out: ForPages[LeftOut | None] = when_known()
    by_catalogue: ForPages[dict[str, int] | None] = when_known()
    """How many records of each catalogue answer."""
    facets: ForPages[list[Facet] | None] = when_known()
    keys: ForPages[list[str] | None] = when_known()
    playable: ForPages[list[str] | None] = when_known()


class BundledResult(SearchResult):
    """The answer of a `search` with a budget: whole descriptions and passages, as many as fit."""

    has_passages = True


class DescribedField(GenericResult):
    """A field with its label, its type and role, and how it is filtered by: `values`, `range`, or
    not at all.
    """

    field: str
    label: str
    type: str
    role: str | None
    filter: str | None


class RecordField(DescribedField):
    """A field of a record: its value as it is and in words, and what an edit of it may be."""

    value: Any
    text: str
    is_shown: bool
    """Whether it has something to show that no relation shows."""
    is_edited: bool
    """Whether a form to edit the record has it."""
    required: bool
    choices: list[str]
    description: str


class Relation(GenericResult):
    """The records that a record names, or that name it, and how many there are."""

    name: str
    results: list[ShownRecord]
    total: int


class FetchResult(PricedResult, spec.FromFile, GenericResult):
    """The answer of `fetch`: a record, or the part of it that follows a cursor. After `metadata`:
    for pages.
    """

    unit = "words"
    shortening = "long metadata, which the text has too, is left out"

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]
    written: Annotated[dict[str, str], SkipJsonSchema()] = when_any(dict)
    """The texts of the table that values were read from, where they say more: `1.249,90 €`, `March
    3, 2009`.
    """
    tile: ForPages[Tile | None] = when_known()
    fields: ForPages[list[RecordField] | None] = when_known()
    relations: ForPages[list[Relation] | None] = when_known()
    has_vectors: ForPages[bool | None] = when_known()
    editable: ForPages[bool | None] = when_known()

    @property
    def item_count(self) -> int:
        """The number of words."""
        return len(pieces_of(self.text))

    def first(self, count: int) -> Self:
        """Return the answer with the first words of its text."""
        return self.model_copy(update={"text": "".join(pieces_of(self.text)[:count])})

    def shortened(self, chars: int) -> Self:
        """Return the answer without long metadata, which its text has too."""
        short = [one for one in self.metadata.items() if len(orjson.dumps(one[1])) <= chars]
        return self.model_copy(update={"metadata": dict(shorten_list(short, 2 * chars))})


@lru_cache(maxsize=2)
def pieces_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, each with the blanks before it: together they are the text."""
    return tuple(PIECE.findall(text))


class SimilarResult(RecordsResult):
    """The answer of `similar`."""

    results: Annotated[list[ShownRecord], BARE_LIST]


def json_text(result: ToolResult) -> str:
    """Return an answer as JSON, the same object as its structured content."""
    return orjson.dumps(result.model_dump(mode="json", by_alias=True)).decode()
