"""Examples of every name of `stackroom.api`, for the sample of the package that `stackroom new`
writes: items, and the makers of items.

`docs/reference/package-api.md` shows them, and `tests/golden/test_api_examples.py` runs them. A
comment with names begins the example of these names.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from pydantic import Field

from stackroom import api

# CataloguePackage, Sample, RowMapping, deferred
PACKAGE = api.CataloguePackage(
    declaration=files("workshop") / "catalogue.toml",
    mapping=api.RowMapping(records_of=api.deferred("workshop.rows:records_of")),
    samples=(api.Sample(name="workshop", files=files("workshop") / "sample.jsonl"),),
    tools=api.deferred("workshop.tools:TOOLS"),
)


# Record, RecordId, Tag, fold_name
def records_of(row: Mapping[str, Any]) -> list[api.Record]:
    """Return the record of a row, with a tag for the first letter of its title."""
    letter = api.fold_name(row["title"])[:1]  # in lower case and without accents
    fields = {"title": row["title"], "marks": (api.Tag("letter", letter),)}
    return [api.Record(id=api.RecordId(row["id"]), kind="item", fields=fields)]


# InputError, ExpectedError
def parse_year(text: str) -> int:
    """Return a year; the message of an error says what would be right."""
    if not text.isdecimal():
        raise api.InputError(f"'year' is {text!r}; a number such as 2019 is right")
    return int(text)


def describe_year(text: str) -> str:
    """Return a year in words, or why it is none; every foreseen error is an ExpectedError."""
    try:
        return f"the year {parse_year(text)}"
    except api.ExpectedError as error:
        return error.message


# NotFoundError, ConflictError, ForbiddenError, StorageError, UnavailableError
ERRORS = [
    api.NotFoundError("no shelf '7'; there are 1 to 6"),
    api.ConflictError("shelf 6 is full; remove something first"),
    api.ForbiddenError("shelf 5 is locked; ask an administrator for access"),
    api.StorageError("shelves.json cannot be read; restore it"),
    api.UnavailableError("the price server did not answer; try later"),
]

# AnyOf, AllOf, NoneOf, Range, Condition, Scope, KIND_FIELD, having_words
ITEMS = api.AnyOf(api.KIND_FIELD, ("item",))
CONDITIONS: list[api.Condition] = [
    api.AllOf("maker_ids", ("m1", "m2")),  # made by both
    api.NoneOf("country", ("Portugal",)),
    api.Range("year", at_least=2015, at_most=None),
    api.having_words(["small oak"]),  # both words, in any searched field
]
SCOPE = api.Scope(conditions=(ITEMS, *CONDITIONS))


# tool, SeenCatalogue, Action
@api.tool(title="Items of a year", action=api.Action.ACCESS_CATALOG)
def items_of_year(seen: api.SeenCatalogue, year: int) -> list[str]:
    """List the items of a year."""
    return [seen.title_of(one) for one in seen.list(kind="item") if one.get("year") == year]


# ToolParams, ToolResult, QueryText, ExplainParams, PagedParams,
# FoundResult, PricedResult, Explained, FromCatalogue
class FindParams(api.ExplainParams, api.PagedParams):
    """What is asked for; names are in camelCase, as all of `ToolParams`."""

    query: api.QueryText = Field(description="A description")
    limit: int = Field(default=10, ge=1, le=50, description="Most results")
    made_after: int | None = None


class FoundItem(api.Explained, api.FromCatalogue):
    """One result: with `why` if asked for, and `catalogue` where there are several."""

    id: str
    title: str
    score: float
    relevance: str | None


class FindResult(api.FoundResult, api.PricedResult):
    """An answer with its evidence, cut to the tokens that the caller pays for."""

    results: list[FoundItem]
    total: int


class MakerShape(api.ToolResult):
    """A part of an answer that is not found by a search."""

    name: str
    items: int


# Call, Views, CatalogueScopes, ResultSet, fitting_notes, operation, Hit
def find_items(call: api.Call, params: FindParams) -> api.ResultSet:
    """Return what a call finds in every catalogue of the package."""
    after = [] if params.made_after is None else [api.Range("year", params.made_after)]
    scoped: api.CatalogueScopes = api.Views.of(call).scoped(params.query, after, within=[ITEMS])
    return scoped.find(page_size=params.limit, explains=params.explain)


@api.operation("find_items", finds=find_items, reads=True, count_of=lambda result: result.total)
def search_items(call: api.Call, params: FindParams) -> FindResult:
    """Find items by description."""
    found = find_items(call, params)
    return FindResult(
        results=[shape(call, hit) for hit in found.page(params.start)],
        total=found.total,
        notes=[*found.question_notes, *found.filter_notes, *api.fitting_notes(found)],
        **found.told(params.start),  # evidence, and the cursor of the next page
    )


def shape(call: api.Call, hit: api.Hit) -> FoundItem:
    """Return a hit as it is answered."""
    return FoundItem(
        id=hit.record.id,
        title=str(hit.record.get("title")),
        catalogue=call.label_of(hit.view.name),
        **hit.told(),  # score, relevance, why
    )


# GenericParams, GenericResult, PricedParams, OffsetParams, Operation
class ListParams(api.OffsetParams, api.GenericParams):
    """Parameters in snake_case, with `offset` and, as all of `PricedParams`, `max_tokens`."""

    limit: int = Field(default=20, ge=1, le=100)


class CountResult(api.GenericResult):
    """An answer in snake_case."""

    items_in_all: int
    listed: int


@api.operation("count_items", reads=True)
def count_items(call: api.Call, params: ListParams) -> CountResult:
    """Count the items that there are, and those of a page."""
    scope = call.scope.narrowed(ITEMS)
    count = sum(view.reader.count(scope) for view in api.Views.of(call).found.values())
    return CountResult(items_in_all=count, listed=max(0, min(params.limit, count - params.offset)))


def is_cheap(operation: api.Operation[Any, Any]) -> bool:
    """Tell whether an operation only reads, and its parameters have a budget."""
    return operation.is_read and issubclass(operation.params, api.PricedParams)


# CatalogueView, resolve_choices
def titles_of(view: api.CatalogueView, kind: str) -> list[str]:
    """Return all titles of a kind in one catalogue; `makers` is understood as `maker`."""
    (meant, *_), _notes = api.resolve_choices([kind], view.spec.kinds, label="kind")
    records = view.records(scope=api.Scope(conditions=(api.AnyOf(api.KIND_FIELD, (meant,)),)))
    return [view.spec.title_of(record) for record in records]


# ResourceSpec, ResourceEntry, ResourceContent, OpenCatalogue, Principal
def resources(catalogues: Sequence[api.OpenCatalogue]) -> list[api.ResourceSpec]:
    """Declare a resource of each catalogue: its titles, as far as a caller sees them."""
    entries = [
        api.ResourceEntry(uri=f"workshop://{one.name}", name=one.name, mime_type="application/json")
        for one in catalogues
    ]

    def read(principal: api.Principal, name: str) -> api.ResourceContent | None:
        scope = api.Scope(visibility=principal.visibility)
        for one in catalogues:
            if one.name == name:
                titles = [str(record.get("title")) for record in one.view().records(scope=scope)]
                text = json.dumps(titles)
                return api.ResourceContent(mime_type="application/json", text=text)
        return None

    return [
        api.ResourceSpec(
            prefix="workshop://",
            action=api.Action.ACCESS_CATALOG,
            entries=lambda _principal: entries,
            read=read,
        )
    ]


# OwnChange, EditRequest
class Wishes:
    """The kind `wish`, which belongs to users: `CataloguePackage.own_kinds` returns it."""

    fields: Mapping[str, Sequence[str]] = {"wish": ("text",)}

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def change(self, principal: api.Principal, request: api.EditRequest) -> api.OwnChange | None:
        """Keep the wish of a user."""
        before, after = self._texts.get(principal.name), str(request.fields.get("text"))
        if before == after:
            return None
        self._texts[principal.name] = after
        former = {"text": before} if before else {}
        return api.OwnChange(id=principal.name, before=former, after={"text": after})


# SettingsSection, setting, Texts, Address
class WorkshopSettings(api.SettingsSection):
    """The section `[workshop]`, named by an entry point of the group `stackroom.settings`."""

    price_server: api.Address = api.setting("https://prices.example.org", "WORKSHOP_PRICES")
    hidden_makers: api.Texts = api.setting((), "WORKSHOP_HIDDEN")
