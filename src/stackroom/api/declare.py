"""Tools and endpoints in a few lines: a function over a catalogue as its caller sees it.

The function's signature declares the arguments and the answer, its docstring the description:

    @tool(title="Items by maker", address="GET /v1/workshop/makers/{maker}/items")
    def items_by_maker(seen: SeenCatalogue, maker: str) -> list[str]:
        "List what a maker has made."
        found = seen.named(maker, kind="maker")
        return [seen.title_of(item) for item in seen.list(kind="item", maker_ids=found.id)]
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, get_type_hints

from pydantic import BaseModel, create_model

from stackroom.errors import NotFoundError
from stackroom.frozen import frozen
from stackroom.model.principal import Action, Cost, Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import KIND_FIELD, WORDS_FIELD, AllOf, AnyOf, Scope
from stackroom.search.result_set import Hit, ResultSet
from stackroom.text.analyser import query_tokens
from stackroom.tools.budget import json_text
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue
from stackroom.tools.faces.mcp import Words
from stackroom.tools.operation import (
    AnyOperation,
    Audit,
    Call,
    Faces,
    Needs,
    Operation,
    ParamsT,
    Reads,
    Rest,
    ResultT,
    Tool,
)
from stackroom.tools.operation import operation as declare_operation
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import GenericParams, GenericResult, ToolResult

MOST_LISTED = 50

ReadNames = Callable[[Sequence[OpenCatalogue], Any], Iterable[str]]
"""Returns the names of the catalogues that a call with some parameters reads."""


@frozen
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
        return self.view.records(scope=scope, limit=limit)

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


def operation(
    name: str,
    *,
    action: Action = Action.ACCESS_CATALOG,
    writes: bool = False,
    title: str = "",
    finds: Callable[[Call, Any], ResultSet] | None = None,
    reads: bool | ReadNames = False,
    asks_all: bool = False,
    schemas: Callable[[Sequence[OpenCatalogue]], Mapping[str, Any]] | None = None,
    count_of: Callable[[Any], int | None] = lambda _result: None,
    text: Callable[[Any], str] = result_text,
    **declared: Any,
) -> Callable[[Callable[[Call, ParamsT], ResultT]], Operation[ParamsT, ResultT]]:
    """Declare a function of a call and its parameters as a tool: its annotations are the schemas,
    its docstring the description.

    `finds` returns the result set of a call, for explanations. `reads` tells that equal calls have
    equal answers while the catalogues are the same, or returns the names of those that a call
    reads. `asks_all` keeps a call from choosing one catalogue of several. `schemas` returns those
    of arguments that depend on what is served. `count_of` counts the records of a result, for
    analytics; `text` returns a result as text.
    """
    words = None if schemas is None else lambda catalogues: Words(properties=schemas(catalogues))
    return declare_operation(
        name,
        needs=Needs(any_of=(action,)),
        cost=Cost.WRITE if writes else Cost.READ,
        finds=finds,
        reads=Reads(names=reads if callable(reads) else None) if reads else None,
        faces=Faces(
            tool=Tool(title=title, has_choice=not asks_all, words=words),
            audit=Audit(count_of=count_of),
            text=text,
        ),
        **declared,
    )


def tool(
    *,
    title: str = "",
    action: Action = Action.ACCESS_CATALOG,
    writes: bool = False,
    address: str = "",
) -> Callable[[Callable[..., Any]], AnyOperation]:
    """Declare a function over a catalogue as a tool, by default one that reads.

    With an address, as `GET /v1/LAYOUT/…` with arguments in braces, it is an endpoint too; the
    other arguments are in the query string or the body.
    """

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
        declared = operation(
            function.__name__,
            action=action,
            writes=writes,
            title=title,
            reads=not writes,
            text=json_text,
            params=create_model(f"{function.__name__}_params", __base__=GenericParams, **fields),
            result=result,
        )(run)
        if not address:
            return declared
        layout = address.split("/")[2]
        rest = Rest(address, tag=layout, operation_id=declared.name, max_body_bytes=None)
        return replace(
            declared,
            over=lambda spec: spec.name == layout,
            faces=replace(declared.faces, rest=rest, audit=Audit(notes_parameters=False)),
        )

    return declare


def having_words(texts: Iterable[str]) -> AllOf:
    """Return the condition that a record has every word of these texts, in any searched field;
    without values where they have no word.
    """
    tokens = chain.from_iterable(map(query_tokens, texts))
    return AllOf(WORDS_FIELD, tuple(dict.fromkeys(tokens)))
