"""Declaration of operations and tools: permission, parameters and function in Python, words and
places in TOML.
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from pydantic import Field

from stackroom.model.principal import Action, Cost
from stackroom.toml_text import load_packaged
from stackroom.tools.operation import Operation, OperationCall
from stackroom.tools.spec import GenericParams, ToolSpec

WORDS = load_packaged(__package__, "operations.toml")
DESCRIPTIONS = load_packaged(__package__, "tools.toml")


def declare(
    name: str, params: type[GenericParams], run: Callable[[OperationCall, Any], Any], **more: Any
) -> Operation:
    """Return an operation with its help, endpoint and command as `operations.toml` has them."""
    words = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in WORDS[name].items()
    }
    return Operation(name=name, params=params, run=run, **{**more, **words})


def optional(description: str, **bounds: Any) -> Any:
    """Return a parameter that may be left out, and is null then."""
    return Field(default=None, description=description, **bounds)


def declare_tool(
    name: str, params: type[GenericParams], run: Callable[..., Any], **declared: Any
) -> ToolSpec:
    """Return a tool with its description as `tools.toml` has it."""
    return ToolSpec(name=name, description=DESCRIPTIONS[name], params=params, run=run, **declared)


declare_query_tool = partial(
    declare_tool, action=Action.SERVER_ADMIN, cost=Cost.READ, count_of=attrgetter("total")
)
declare_change_tool = partial(declare_tool, cost=Cost.WRITE, read_only=False)
