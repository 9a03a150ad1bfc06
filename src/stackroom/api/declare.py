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
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_type_hints

from pydantic import BaseModel, create_model

from stackroom.errors import NotFoundError
from stackroom.model.principal import Action, Cost, Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from stackroom.search.result_set import Hit
from stackroom.tools.budget import json_text
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue, choose_catalogue
from stackroom.tools.endpoint import Endpoint, EndpointRequest, QueryParams
from stackroom.tools.faces.mcp import CHOICE
from stackroom.tools.layout import LayoutCatalogues
from stackroom.tools.spec import GenericParams, GenericResult, ToolResult, ToolSpec

MOST_LISTED = 50
PATH_VARIABLE = re.compile(r"\{(\w+)(?::path)?\}")
RESULT = "result"


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


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A function that is a tool, and perhaps an endpoint."""

    function: Callable[..., Any]
    title: str
    action: Action
    cost: Cost
    method: str = ""
    path: str = ""

    def __call__(self, seen: SeenCatalogue, **arguments: Any) -> Any:
        """Call the function itself, as its tests do."""
        return self.function(seen, **arguments)

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split())

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations of the arguments after the first, and of the answer."""
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a call, as fields of a model."""
        _seen, *stated = inspect.signature(self.function).parameters.values()
        defaults = {one.name: ... if one.default is one.empty else one.default for one in stated}
        return {name: (self.hints[name], default) for name, default in defaults.items()}

    @cached_property
    def result(self) -> type[ToolResult]:
        """The class of the answer; what is no class of answers itself is its `result`."""
        stated = self.hints["return"]
        if isinstance(stated, type) and issubclass(stated, ToolResult):
            return stated
        return create_model(f"{self.name}_result", __base__=GenericResult, result=(stated, ...))

    def answer(
        self, catalogue: OpenCatalogue, principal: Principal, given: BaseModel
    ) -> ToolResult:
        """Call the function for a caller, and return its answer in its class."""
        seen = SeenCatalogue(view=catalogue.view(), principal=principal)
        answer = self.function(seen, **{name: getattr(given, name) for name in self.arguments})
        return answer if isinstance(answer, ToolResult) else self.result(**{RESULT: answer})

    def over(self, catalogues: Sequence[OpenCatalogue]) -> ToolSpec:
        """Return the tool over catalogues of one layout."""

        def run(principal: Principal, params: Any, *, catalogue: str | None = None) -> ToolResult:
            return self.answer(
                choose_catalogue(catalogues, principal, catalogue), principal, params
            )

        return ToolSpec(
            name=self.name,
            title=self.title,
            description=self.summary,
            params=create_model(f"{self.name}_params", __base__=GenericParams, **self.arguments),
            result=self.result,
            action=self.action,
            cost=self.cost,
            read_only=self.cost is Cost.READ,
            cacheable=self.cost is Cost.READ,
            run=run,
            text=json_text,
        )

    def as_endpoint(self) -> Endpoint:
        """Return the endpoint; arguments that its path does not have are those of the query
        string.
        """
        in_path = PATH_VARIABLE.findall(self.path)
        layout = self.path.split("/")[2]
        queried = {name: field for name, field in self.arguments.items() if name not in in_path}
        model = create_model(f"{self.name}_params", __base__=GenericParams, **self.arguments)

        def run(request: EndpointRequest[Any, None]) -> ToolResult:
            served = [one for one in request.catalogues if one.spec.name == layout]
            chosen = choose_catalogue(served, request.principal, request.query.catalogue)
            asked = request.query.model_dump(exclude={"catalogue"}, exclude_unset=True)
            return self.answer(chosen, request.principal, model(**request.path, **asked))

        run.__doc__ = self.summary
        return Endpoint(
            self.method,
            self.path,
            run,
            tag=layout,
            operation=f"{layout}/{self.name}",
            operation_id=self.name,
            path_parameters=dict.fromkeys(in_path, ""),
            query=create_model(
                f"{self.name}_query",
                __base__=QueryParams,
                catalogue=(str | None, CHOICE),
                **queried,
            ),
            result=self.result,
            action=self.action,
            cost=self.cost,
        )


def tool(
    *, title: str = "", action: Action = Action.ACCESS_CATALOG, cost: Cost = Cost.READ
) -> Callable[[Callable[..., Any]], Declared]:
    """Declare a function over a catalogue as a tool, by default one that reads."""
    return lambda function: Declared(function=function, title=title, action=action, cost=cost)


def endpoint(method: str, path: str) -> Callable[[Declared], Declared]:
    """Make a tool an endpoint too: `/v1/LAYOUT/…`, with arguments in braces."""
    return lambda declared: replace(declared, method=method, path=path)


def tools_of(*declared: Declared) -> Callable[[Sequence[OpenCatalogue]], Sequence[ToolSpec]]:
    """Return the tools of a package; where several of its catalogues are served, a call chooses
    one.
    """
    return lambda catalogues: LayoutCatalogues(catalogues).declare(
        [one.over(catalogues) for one in declared]
    )


def endpoints_of(*declared: Declared) -> Callable[[], Sequence[Endpoint]]:
    """Return the endpoints of a package."""
    return lambda: [one.as_endpoint() for one in declared if one.path]
