"""The arguments and the answer of `catalog.mutate`."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from pinakes.ingest.edits.draft import EditAction
from pinakes.shelf.port import Op
from pinakes.tools.admin.row_text import shorten_value
from pinakes.tools.budget import Continuation, PricedParams, PricedResult
from pinakes.tools.spec import GenericParams, GenericResult, one_of


class MutateParams(PricedParams, GenericParams):
    """The arguments of `catalog.mutate`."""

    action: Annotated[EditAction, one_of(EditAction)]
    kind: str | None = Field(default=None, description="Of a new record")
    id: str | None = Field(default=None, description="Or a name; for undo a call_id or change number")
    fields: dict[str, Any] | None = Field(default=None, description="Values to set; null removes")
    preview: bool = Field(default=False, description="Only tell what would change, with a plan")
    plan: str | None = Field(default=None, description="Of a preview: refuse if anything moved since")
    cascade: bool = Field(default=False, description="Delete what names it too")

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

    applied: bool
    plan: str | None
    changes: list[ChangedRecord]
    total: int
    has_more: bool
    call_id: str | None
    notes: list[str]

    def shortened(self, chars: int) -> Self:
        """Return the answer with long values cut."""
        return self.model_copy(update={"changes": [_shorter(one, chars) for one in self.changes]})


def _shorter(change: ChangedRecord, chars: int) -> ChangedRecord:
    values = ("before", "after")
    fields = [
        one.model_copy(update={name: shorten_value(getattr(one, name), chars) for name in values})
        for one in change.fields
    ]
    return change.model_copy(update={"fields": fields})
