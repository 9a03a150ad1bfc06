"""The gate: `call` and `list_tools` for a principal, whatever the transport.

A foreseen failure is an answer with `is_error` and the error's code; anything else is a bug and propagates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from pinakes.errors import ExpectedError, InputError, NotFoundError, did_you_mean
from pinakes.model.principal import Principal
from pinakes.tools.spec import ToolSpec


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


class Gate:
    """Every call goes through here."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)}
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
