"""The gate: `call`, `read`, the lists and `complete` for a principal, whatever the transport.

A foreseen failure of a call is an answer with `is_error` and the error's code; anything else is a bug and propagates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from pinakes.errors import ExpectedError, InputError, NotFoundError, did_you_mean
from pinakes.model.principal import Principal
from pinakes.tools.resource import ResourceContent, ResourceEntry, ResourceSpec
from pinakes.tools.spec import ToolSpec

COMPLETIONS = 20
RESOURCES_A_PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call gives back: structured content, a short text of it, and for errors their code."""

    structured: dict[str, Any] | None
    text: str
    error_code: str | None = None

    @property
    def is_error(self) -> bool:
        """Tell whether the call failed in a foreseen way."""
        return self.error_code is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePage:
    """A part of the list of resources, and the cursor of the next part."""

    entries: Sequence[ResourceEntry]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completions:
    """The first of the values that fit, and how many there are."""

    values: list[str]
    total: int


class Gate:
    """Every call goes through here."""

    def __init__(self, tools: Sequence[ToolSpec], resources: Sequence[ResourceSpec] = ()) -> None:
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
        self._resources = sorted(resources, key=lambda resource: resource.prefix)
        if len(self._tools) != len(tools):
            raise ValueError("two tools have the same name")

    def list_tools(self, principal: Principal) -> list[ToolSpec]:
        """Return the tools that the principal may call, in the order of their names."""
        return [tool for tool in self._tools.values() if tool.action in principal.actions]

    def get_tool(self, principal: Principal, name: str) -> ToolSpec:
        """Return a tool; one that the principal may not call is as unknown as one that does not exist."""
        visible = {tool.name: tool for tool in self.list_tools(principal)}
        if name not in visible:
            raise NotFoundError(f"no tool '{name}'{did_you_mean(name, list(visible))}")
        return visible[name]

    def call(self, principal: Principal, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Run a tool for a principal."""
        tool = self.get_tool(principal, name)
        try:
            result = tool.run(principal, _validated(tool, arguments))
        except ExpectedError as error:
            return Answer(structured=None, text=f"{error.code}: {error.message}", error_code=error.code)
        return Answer(structured=result.model_dump(mode="json", by_alias=True), text=tool.text(result))

    def list_resources(self, principal: Principal, cursor: str | None = None) -> ResourcePage:
        """Return a part of the resources that the principal may read; the cursor comes from the part before."""
        entries = [entry for resource in self._visible(principal) for entry in resource.entries(principal)]
        start = _position(cursor)
        end = start + RESOURCES_A_PAGE
        return ResourcePage(entries=entries[start:end], next_cursor=str(end) if end < len(entries) else None)

    def list_templates(self, principal: Principal) -> list[ResourceSpec]:
        """Return the resources with a template that the principal may read."""
        return [resource for resource in self._visible(principal) if resource.template]

    def read(self, principal: Principal, uri: str) -> ResourceContent:
        """Return what stands at an address; what may not be seen is as unknown as what does not exist."""
        for resource in self._visible(principal):
            if uri.startswith(resource.prefix):
                content = resource.read(principal, uri.removeprefix(resource.prefix))
                if content is not None:
                    return content
        raise NotFoundError(f"there is no resource '{uri[:200]}'")

    def complete(
        self, principal: Principal, template: str, variable: str, typed: str, others: Mapping[str, str]
    ) -> Completions:
        """Return values for a variable of a template that begin like what was typed."""
        for resource in self._visible(principal):
            if resource.template == template and resource.complete:
                values = resource.complete(principal, variable, typed, dict(others))
                return Completions(values=list(values)[:COMPLETIONS], total=len(values))
        raise NotFoundError(f"there is no resource template '{template[:200]}'")

    def _visible(self, principal: Principal) -> list[ResourceSpec]:
        return [resource for resource in self._resources if resource.action in principal.actions]


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal() or len(cursor) > 9:
        raise InputError("'cursor' is not one that a list of resources gave")
    return int(cursor)


def _validated(tool: ToolSpec, arguments: Mapping[str, Any]) -> BaseModel:
    try:
        return tool.params.model_validate(dict(arguments))
    except ValidationError as error:
        raise InputError("; ".join(_problem(tool, details) for details in error.errors())) from error


def _problem(tool: ToolSpec, details: Any) -> str:
    """Say what is wrong with an argument, and what would be right."""
    path = [str(step) for step in details["loc"]]
    place = ".".join(path) or "arguments"
    if details["type"] == "extra_forbidden":
        known = list(_properties_at(tool.input_schema, path[:-1]))
        return f"unknown argument '{place}'{did_you_mean(path[-1], known)}; known: {', '.join(known)}"
    if details["type"] == "missing":
        return f"'{place}' is missing"
    message = details["msg"].removeprefix("Value error, ")
    given = "" if isinstance(details["input"], dict | list) else f" (given: {str(details['input'])[:60]!r})"
    return f"'{place}': {message}{given}"


def _properties_at(schema: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    for step in path:
        schema = schema.get("properties", {}).get(step, {})
    properties: Mapping[str, Any] = schema.get("properties", {})
    return properties
