"""Declaration of operations: permission, parameters and function in Python, words and places in `operations.toml`."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from stackroom.model.principal import Action, Cost
from stackroom.toml_text import load_packaged
from stackroom.tools.operation import Operation, OperationCall
from stackroom.tools.spec import GenericParams, ToolSpec

WORDS = load_packaged(__package__, "operations.toml")


def declare(
    name: str, params: type[GenericParams], run: Callable[[OperationCall, Any], Any], **declared: Any
) -> Operation:
    """Return an operation with its help, endpoint and command as `operations.toml` has them."""
    words = {key: tuple(value) if isinstance(value, list) else value for key, value in WORDS[name].items()}
    return Operation(name=name, params=params, run=run, **{**declared, **words})


declare_query_tool = partial(ToolSpec, action=Action.SERVER_ADMIN, cost=Cost.READ, count_of=attrgetter("total"))
