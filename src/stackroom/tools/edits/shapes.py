"""The arguments and the answer of `catalog.mutate`."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import BeforeValidator, Field, model_validator

from stackroom.ingest.edits.draft import EditAction
from stackroom.ingest.edits.relations import MOST_CHANGES
from stackroom.shelf.port import Op
from stackroom.tools.budget import Continuation, PricedParams, PricedResult
from stackroom.tools.spec import BARE_LIST, GenericParams, GenericResult, one_of


def _parsed(value: Any) -> Any:
    """Return an object or a list that a client has sent as JSON text; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


Fields = Annotated[dict[str, Any] | None, BeforeValidator(_parsed)]


class ChangeParams(GenericParams):
    """One of several changes. Values next to `fields` are taken for fields where that is missing."""

    action: EditAction | None = None
    kind: str | None = None
    id: str | None = None
    fields: Fields = None
    cascade: bool = False

    @model_validator(mode="before")
    @classmethod
    def _with_fields(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "fields" in given or given.keys() <= cls.model_fields.keys():
            return given
        own = {name: value for name, value in given.items() if name in cls.model_fields}
        return {**own, "fields": {name: value for name, value in given.items() if name not in own}}


class MutateParams(PricedParams, GenericParams):
    """The arguments of `catalog.mutate`: one change, or several that take what they lack from it."""

    action: Annotated[EditAction | None, one_of(EditAction)] = None
    kind: str | None = None
    id: str | None = Field(default=None, description="Or a name; for undo a call_id")
    fields: Fields = None
    changes: Annotated[list[ChangeParams] | None, BeforeValidator(_parsed), BARE_LIST] = Field(
        default=None,
        max_length=MOST_CHANGES,
        description="Several, all or none: [{action, kind, id, fields}]",
    )
    preview: bool = Field(default=False, description="Show what would change")
    plan: str | None = Field(default=None, description="Of a preview, to apply just that")
    cascade: bool = Field(default=False, description="Delete what names it too")

    @model_validator(mode="before")
    @classmethod
    def _with_changes(cls, given: Any) -> Any:
        """Take a list of fields for a list of changes."""
        fields = _parsed(given.get("fields")) if isinstance(given, Mapping) else None
        if not isinstance(fields, list) or given.get("changes") is not None:
            return given
        rest = {name: value for name, value in given.items() if name != "fields"}
        return {**rest, "changes": [{"fields": one} for one in fields]}

    def after(self, count: int) -> Continuation:
        """Return how to get the changes after the first ones: once made, from the changelog."""
        return super().after(count) if self.preview else Continuation("changelog://recent has the others")


class MutateInCatalogueParams(MutateParams):
    """The arguments of `catalog.mutate` where several catalogues may be edited."""

    catalogue: str | None = None


class ChangedField(GenericResult):
    """A field before and after."""

    field: str
    before: Any
    after: Any


class ChangedRecord(GenericResult):
    """A record that changed."""

    id: str
    kind: str
    op: Op
    fields: list[ChangedField]


class MutateResult(PricedResult, GenericResult):
    """The answer of `catalog.mutate`."""

    paged: ClassVar[str] = "changes"
    long_texts: ClassVar[tuple[str, ...]] = ("fields.before", "fields.after")

    applied: bool
    plan: str | None
    changes: list[ChangedRecord]
    total: int
    has_more: bool
    call_id: str | None
    notes: list[str]
