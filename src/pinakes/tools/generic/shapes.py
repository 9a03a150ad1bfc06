"""Arguments and results of `search`, `fetch` and `similar`."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Self

import orjson
from pydantic import Field

from pinakes.tools.budget import PagedParams, PricedResult, shorten_list, shorten_texts
from pinakes.tools.explain.why import Explained, ExplainParams
from pinakes.tools.provenance import FromFile
from pinakes.tools.spec import BARE_LIST, FoundResult, GenericParams, GenericResult, QueryText

PIECE = re.compile(r"\s*\S{1,100}|\s+$")
"""A word with the blanks before it; a long one, as of a script without blanks, in parts."""

LEAST_WITH_FIELDS = 120
"""The length of cut texts up to which an answer has no room for fields beside them."""


class SearchParams(ExplainParams, PagedParams, GenericParams):
    """The arguments of `search`."""

    query: QueryText = Field(description="A question, topic or name")
    catalogue: str | None = Field(default=None, description="Only this one")
    filters: dict[str, Any] | None = Field(default=None, description="What every result has, by field")
    exclude: dict[str, Any] | None = Field(default=None, description="Values to leave out, by field")
    limit: int = Field(default=10, ge=1, le=50, description="Most results")


class FetchParams(PagedParams, GenericParams):
    """The arguments of `fetch`."""

    id: str = Field(min_length=3, max_length=1_000, description="CATALOGUE/ID, or a page of its source")


class SimilarParams(PagedParams, GenericParams):
    """The arguments of `similar`."""

    id: str = Field(min_length=3, max_length=1_000, description="CATALOGUE/ID")
    catalogue: str | None = Field(default=None, description="Where to look, if not in its own")
    limit: int = Field(default=8, ge=1, le=50, description="Most results")


class Found(Explained, FromFile, GenericResult):
    """One result."""

    id: str
    title: str
    url: str
    catalogue: str
    score: float
    relevance: str | None
    fields: dict[str, Any] = Field(default_factory=dict, exclude_if=lambda fields: not fields)
    """The few fields that tell most about the record, by name; `fetch` has all of them."""
    text: str


def shorten_found(results: Sequence[Found], chars: int) -> list[Found]:
    """Return results with their texts cut, and without their fields where the texts are short."""
    shorter = [shorten_texts(one, ["text"], chars) for one in results]
    if chars > LEAST_WITH_FIELDS:
        return shorter
    return [one.model_copy(update={"fields": {}}) for one in shorter]


class SearchResult(FoundResult, PricedResult, GenericResult):
    """The answer of `search`."""

    whole_with = "fetch"

    results: list[Found]
    total: int
    has_more: bool
    cursor: str | None
    notes: list[str]

    def shortened(self, chars: int) -> Self:
        """Return the answer with its texts cut; where there is little room, they alone have the fields."""
        return self.model_copy(update={"results": shorten_found(self.results, chars)})


class BundledResult(SearchResult):
    """The answer of a `search` with a budget: whole descriptions and passages, as many as fit."""

    has_passages = True


class FetchResult(PricedResult, FromFile, GenericResult):
    """The answer of `fetch`: a record, or the part of it that follows a cursor."""

    unit = "words"
    shortening = "long metadata, which the text has too, is left out"

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]

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


class SimilarResult(PricedResult, GenericResult):
    """The answer of `similar`."""

    whole_with = "fetch"

    results: Annotated[list[Found], BARE_LIST]

    def shortened(self, chars: int) -> Self:
        """Return the answer with its texts cut; where there is little room, they alone have the fields."""
        return self.model_copy(update={"results": shorten_found(self.results, chars)})
