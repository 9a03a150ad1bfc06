"""The JSON of what the page reads: hits, facets and catalogues."""

from typing import Any

from pydantic import Field

from pinakes.model.hits import Evidence
from pinakes.serve.http.replies import is_none
from pinakes.tools.endpoint import EndpointResult, QueryParams

Number = int | float | str
"""A number, or a date."""


class ExploreParams(QueryParams):
    """A query over one catalogue; f.FIELD=VALUE, x.FIELD=VALUE and r.FIELD=LOW..HIGH may be repeated, and so may u."""

    q: str = Field(default="", description="words to search for, with conditions such as 'after 2010, not horror'")
    sort: str = Field(default="", description="a field; with a minus before it, the greatest first")
    parts: str = Field(default="", description="only these, by commas: catalogue, hits, facets, keys")
    cursor: str = Field(default="0", description="from the page before")
    limit: str = Field(default="24", description="most hits, up to 100; most keys, up to 20000")
    view: str = Field(default="", description="table: hits have the values of all columns")
    facet: str = Field(default="", description="only the facet of this field")
    like: str = Field(default="", description="only its values like this")


class SearchAllParams(QueryParams):
    """A query over all catalogues."""

    q: str = Field(default="", description="words to search for")
    limit: str = Field(default="24", description="most hits, up to 100")


class ToolCallResult(EndpointResult):
    """The call of a tool that finds the same."""

    name: str
    arguments: dict[str, Any]


class HitFieldResult(EndpointResult):
    """A field of a record, in words."""

    field: str
    label: str
    value: str


class HitResult(EndpointResult):
    """A record as every view of the page shows it."""

    key: str
    catalogue: str
    id: str
    kind: str
    title: str
    subtitle: str
    text: str
    fields: list[HitFieldResult]
    image: str | None
    audio: bool
    score: float | None
    evidence: Evidence | None
    url: str | None
    cells: dict[str, str] | None = Field(default=None, exclude_if=is_none)


class ValueResult(EndpointResult):
    """A value of a facet."""

    value: str
    count: int
    chosen: bool
    excluded: bool


class BarResult(EndpointResult):
    """A bar of a histogram, both ends included."""

    from_: Number = Field(alias="from")
    to: Number
    count: int


class FacetResult(EndpointResult):
    """The values of a field in a result set, or the distribution of its numbers."""

    field: str
    label: str
    type: str
    values: list[ValueResult] | None = None
    total: int | None = None
    min: Number | None = None
    max: Number | None = None
    low: Number | None = None
    high: Number | None = None
    bars: list[BarResult] | None = None


class FieldResult(EndpointResult):
    """A field of a catalogue, and what can be done with it."""

    field: str
    label: str
    type: str
    role: str | None
    filter: str | None
    sortable: bool


class CatalogueOverviewResult(EndpointResult):
    """A catalogue, before anything is asked of it."""

    name: str
    title: str
    summary: str
    records: int
    kinds: list[str]
    has_map: bool
    has_vectors: bool
    has_audio: bool
    samples: list[str]
    changed_at: str | None = None
    fields: list[FieldResult] | None = None


class CataloguesResult(EndpointResult):
    """The catalogues that the caller may see."""

    catalogues: list[CatalogueOverviewResult]


class UnderstoodResult(EndpointResult):
    """Words of the query that are a condition."""

    phrase: str
    text: str
    field: str


class ExploreResult(EndpointResult):
    """A result set of a catalogue; of hits, facets and keys those parts that were asked for."""

    query: str = Field(description="without the words that are conditions")
    filters: dict[str, Any]
    exclude: dict[str, Any]
    sort: str
    understood: list[UnderstoodResult]
    call: ToolCallResult | None
    notes: list[str]
    catalogue: CatalogueOverviewResult | None = None
    evidence: Evidence | None = None
    only_orders: bool | None = Field(default=None, description="the words only order what has the conditions")
    total: int | None = Field(default=None, description="how many answer, or are listed without a query")
    listed: int | None = Field(default=None, description="how many hits there are over all pages")
    has_more: bool | None = None
    cursor: str | None = None
    hits: list[HitResult] | None = None
    facets: list[FacetResult] | None = None
    counted: int | None = Field(default=None, description="how many records the facets count")
    keys: list[str] | None = None


class CountedCatalogueResult(EndpointResult):
    """A catalogue, and how many of its records answer."""

    name: str
    title: str
    total: int


class SearchAllResult(EndpointResult):
    """The hits of all catalogues."""

    query: str
    evidence: Evidence
    total: int
    catalogues: list[CountedCatalogueResult]
    hits: list[HitResult]
    notes: list[str]
    call: ToolCallResult | None
