"""A question about a record in the answer of a search tool: which tool is meant, and what it does with the record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.model.hits import Hit
from stackroom.model.principal import Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import KIND_FIELD, Scope
from stackroom.search.trace import KeyedRecord
from stackroom.shelf.terms import meets
from stackroom.text.validation_words import plain_words
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue
from stackroom.tools.explain.explanation import explain_record
from stackroom.tools.explain.search_path import SearchPath
from stackroom.tools.generic.tools import generic_tools
from stackroom.tools.plain_names import plain_names
from stackroom.tools.resources.records import address_of
from stackroom.tools.spec import ToolSpec

GENERIC_SEARCH = "search"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The query and other arguments of a call, and the record whose place in its answer is to be explained."""

    id: str
    query: str
    tool: str | None = None
    """The tool that is called; None: the one that serves the catalogue."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


def explain_call(
    catalogue: OpenCatalogue, tools: Iterable[ToolSpec], principal: Principal, question: Question
) -> dict[str, Any]:
    """Return why a record has its place in the answer to a call, or why it is not in it."""
    record = require_record(catalogue.view(), question.id, principal)
    tool, path = find_path(catalogue, tools, principal, question, record)
    return explain_path(path, record, tool=tool.name)


def explain_path(path: SearchPath, record: Record, *, tool: str) -> dict[str, Any]:
    """Return why a record has its place in what a tool shows, or why it is not in it."""
    return {
        "id": address_of(path.view.name, record.id),
        "title": path.view.spec.title_of(record),
        "kind": record.kind,
        **explain_record(path, _keyed(path, record), tool=tool).plain(),
    }


def explain_hits(path: SearchPath, limit: int) -> list[Hit]:
    """Return the first records that a tool shows, with explanations."""
    ranked = path.rank(path.scope)
    shown = path.show(ranked)
    hits = {**{one.key: one for one in ranked.ranking}, **shown.raised}
    return ranked.read([hits[key] for key in shown.keys[:limit]], explain=True)


def find_path(
    catalogue: OpenCatalogue,
    tools: Iterable[ToolSpec],
    principal: Principal,
    question: Question,
    record: Record | None = None,
) -> tuple[ToolSpec, SearchPath]:
    """Return the tool that a question is about, and how it searches the catalogue; of a record only the kind counts."""
    kind = record.kind if record else catalogue.spec.kinds[0]
    able = _search_tools(catalogue, tools)
    asked = _Asked(catalogue=catalogue, principal=principal, question=question, kind=kind)
    return _named_path(able, asked) if question.tool else _first_path(able, asked)


def require_record(view: CatalogueView, stated: str, principal: Principal) -> Record:
    """Return the record of an id; raise NotFoundError with the one whose name is most like it."""
    scope = Scope(visibility=principal.visibility)
    record = view.find_stated(stated, scope=scope)
    if record is not None:
        return record
    alike = view.reader.titles_like(stated, scope=scope, limit=1)
    hint = f"; did you mean {address_of(view.name, view.reader.ids([alike[0].key])[0])}?" if alike else ""
    raise NotFoundError(f"no record '{stated[:200]}' in '{view.name}'{hint}")


def _keyed(path: SearchPath, record: Record) -> KeyedRecord:
    keys = path.view.reader.find([record.id], scope=Scope(visibility=path.scope.visibility))
    if record.id not in keys:
        raise NotFoundError(f"the record '{record.id[:200]}' was deleted a moment ago")
    return KeyedRecord(keys[record.id], record, path.view.spec)


def _search_tools(catalogue: OpenCatalogue, tools: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return the tools that search, the catalogue's own before the generic one."""
    able = [tool for tool in tools if tool.searches]
    return [*(tool for tool in able if tool.name != GENERIC_SEARCH), *_generic(catalogue, able)]


def _generic(catalogue: OpenCatalogue, able: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Return the generic search; one of its own where it is not served."""
    served = [tool for tool in able if tool.name == GENERIC_SEARCH]
    return served or [tool for tool in generic_tools([catalogue]) if tool.searches]


def _named_path(able: Sequence[ToolSpec], asked: "_Asked") -> tuple[ToolSpec, SearchPath]:
    names, name = [tool.name for tool in able], asked.question.tool or ""
    plain = plain_names(tool.name for tool in able)
    tool = next((tool for tool in able if name in (tool.name, plain.get(tool.name))), None)
    if tool is None:
        hint = did_you_mean(name, names)
        raise InputError(f"'tool': no search tool '{name[:80]}'{hint}; one of: {', '.join(names)}")
    path = asked.path(tool)
    if path is None:
        raise InputError(f"'tool': '{name}' does not search '{asked.catalogue.name}'; one of: {', '.join(names)}")
    return tool, path


def _first_path(able: Sequence[ToolSpec], asked: "_Asked") -> tuple[ToolSpec, SearchPath]:
    """Return the first tool that takes these arguments and finds records of this kind.

    Else it is the generic search, or where that does not take the arguments, the first tool that does.
    """
    paths = [(tool, path) for tool in able if (path := _try_path(tool, asked)) is not None]
    if not paths:
        raise _refusal(able[-1], asked)
    fitting = [(tool, path) for tool, path in paths if _finds_kind(path, asked.kind)]
    generic = [(tool, path) for tool, path in paths if tool is able[-1]]
    return (fitting or generic or paths)[0]


def _try_path(tool: ToolSpec, asked: "_Asked") -> SearchPath | None:
    """Return how a tool searches for the call; None where it does not read the catalogue, or refuses the arguments."""
    try:
        return asked.path(tool)
    except InputError:
        return None


def _refusal(tool: ToolSpec, asked: "_Asked") -> InputError:
    """Return why a tool refuses a call."""
    try:
        asked.path(tool)
    except InputError as error:
        return error
    return InputError(f"no tool searches '{asked.catalogue.name}'")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question by a caller, and the kind of record that it is about."""

    catalogue: OpenCatalogue
    principal: Principal
    question: Question
    kind: str

    def path(self, tool: ToolSpec) -> SearchPath | None:
        """Return how a tool searches the catalogue for the call; None where it does not read it."""
        params = _params(tool, {**self.question.arguments, "query": self.question.query})
        if tool.searches is None or (tool.reads and self.catalogue.name not in tool.reads(params)):
            return None
        return tool.searches(self.principal, params, self.catalogue.name, self.kind)


def _params(tool: ToolSpec, arguments: Mapping[str, Any]) -> Any:
    try:
        return tool.params.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place, known = ".".join(str(step) for step in first["loc"]), ", ".join(tool.input_schema["properties"])
        problem = f"is not known; known: {known}" if first["type"] == "extra_forbidden" else plain_words(first)
        raise InputError(f"'arguments.{place[:200]}' of '{tool.name}' {problem}") from error


def _finds_kind(path: SearchPath, kind: str) -> bool:
    conditions = [one for one in path.scope.conditions if one.field == KIND_FIELD]
    of_kind = Record(id=RecordId(""), kind=kind, fields={})
    return all(meets(of_kind, one, path.view.spec) for one in conditions)
