"""Tools and endpoints in a few lines: a function over a catalogue as its caller sees it.

The function's signature declares the arguments and the answer, its docstring the description:

    @endpoint("GET", "/v1/workshop/makers/{maker}/items")
    @tool(title="Items by maker")
    def items_by_maker(seen: SeenCatalogue, maker: str) -> list[str]:
        "List what a maker has made."
        found = seen.named(maker, kind="maker")
        return [seen.title_of(item) for item in seen.list(kind="item", maker_ids=found.id)]
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from pydantic import BaseModel, create_model

from stackroom.errors import NotFoundError
from stackroom.model.principal import Action, Cost, Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.search.result_set import Hit
from stackroom.tools.budget import json_text
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue
from stackroom.tools.operation import (
    AnyOperation,
    Audit,
    Call,
    Faces,
    Needs,
    Reads,
    Rest,
    Tool,
    operation,
)
from stackroom.tools.spec import GenericParams, GenericResult, ToolResult

MOST_LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCatalogue:
    """A catalogue at one moment, as one caller sees it: every read is limited to what they may
    see.
    """

    view: CatalogueView
    principal: Principal

    @property
    def name(self) -> str:
        """The catalogue's name."""
        return self.view.name

    def title_of(self, record: Record) -> str:
        """Return the title of a record."""
        return self.view.spec.title_of(record)

    def get(self, record_id: str) -> Record | None:
        """Return the record of an id."""
        return self.view.find_record(RecordId(record_id), scope=self._scope({}))

    def named(self, text: str, *, kind: str | None = None) -> Record:
        """Return the record that a name or an id means, small misspellings understood; raise
        NotFoundError for none.
        """
        choice = self.view.resolve(text, scope=self._scope({"kind": kind} if kind else {}))
        if choice.record is None:
            hint = f"; did you mean {', '.join(choice.suggestions)}?" if choice.suggestions else ""
            raise NotFoundError(f"no {kind or 'record'} '{text[:60]}' in '{self.name}'{hint}")
        return choice.record

    def list(self, *, limit: int = MOST_LISTED, **values: str | Sequence[str]) -> list[Record]:
        """Return the records that have a value of each field: `kind="item", maker_ids="m1"`."""
        scope = self._scope(values)
        return list(
            self.view.reader.fetch(
                self.view.reader.scan(scope=scope, limit=limit), scope=scope
            ).values()
        )

    def search(
        self, query: str, *, limit: int = 10, **values: str | Sequence[str]
    ) -> Sequence[Hit]:
        """Return the best records for a query, among those that have a value of each field."""
        return self.view.search(query, scope=self._scope(values), limit=limit).hits(limit)

    def _scope(self, values: dict[str, Any]) -> Scope:
        conditions = [
            AnyOf(
                KIND_FIELD if name == "kind" else name,
                (value,) if isinstance(value, str) else tuple(value),
            )
            for name, value in values.items()
        ]
        return Scope(conditions=tuple(conditions), visibility=self.principal.visibility)


def tool(
    *, title: str = "", action: Action = Action.ACCESS_CATALOG, cost: Cost = Cost.READ
) -> Callable[[Callable[..., Any]], AnyOperation]:
    """Declare a function over a catalogue as a tool, by default one that reads."""

    def declare(function: Callable[..., Any]) -> AnyOperation:
        hints = get_type_hints(function, include_extras=True)
        _seen, *stated = inspect.signature(function).parameters.values()
        fields: dict[str, Any] = {
            one.name: (hints[one.name], ... if one.default is one.empty else one.default)
            for one in stated
        }
        answer, result = hints["return"], hints["return"]
        if not (isinstance(answer, type) and issubclass(answer, ToolResult)):
            result = create_model(
                f"{function.__name__}_result", __base__=GenericResult, result=(answer, ...)
            )

        def run(call: Call, params: BaseModel) -> ToolResult:
            chosen = call.choose(call.chosen)
            seen = SeenCatalogue(view=chosen.view(), principal=call.principal)
            found = function(seen, **{name: getattr(params, name) for name in fields})
            return found if isinstance(found, ToolResult) else result(result=found)

        run.__doc__ = inspect.getdoc(function)
        return operation(
            function.__name__,
            needs=Needs(any_of=(action,)),
            cost=cost,
            params=create_model(f"{function.__name__}_params", __base__=GenericParams, **fields),
            result=result,
            reads=Reads() if cost is Cost.READ else None,
            faces=Faces(tool=Tool(title=title), text=json_text),
        )(run)

    return declare


def endpoint(method: str, path: str) -> Callable[[AnyOperation], AnyOperation]:
    """Make a tool an endpoint too: `/v1/LAYOUT/…`, with arguments in braces; those that its path
    does not have are in the query string or the body.
    """
    layout = path.split("/")[2]

    def declare(tool: AnyOperation) -> AnyOperation:
        rest = Rest(f"{method} {path}", tag=layout, operation_id=tool.name, max_body_bytes=None)
        return replace(
            tool,
            over=lambda spec: spec.name == layout,
            faces=replace(tool.faces, rest=rest, audit=Audit(notes_parameters=False)),
        )

    return declare


def tools_of(*declared: AnyOperation) -> Callable[[Sequence[OpenCatalogue]], list[AnyOperation]]:
    """Return the tools of a package; where several of its catalogues are served, a call chooses
    one.
    """
    return lambda _catalogues: list(declared)


def endpoints_of(*declared: AnyOperation) -> Callable[[], list[AnyOperation]]:
    """Return the endpoints of a package."""
    return lambda: [one for one in declared if isinstance(one.faces.rest, Rest)]
