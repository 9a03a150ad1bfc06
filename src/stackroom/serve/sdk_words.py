"""Errors of the SDK that say nothing, in words that say what is wrong and what would be right."""

from typing import Any

from mcp import types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from stackroom.errors import InputError
from stackroom.text.messages import safe_message
from stackroom.text.validation_words import plain_words
from stackroom.tools.problems import place_of, refusal_of

SAYS_NOTHING = "Invalid request parameters"
"""The SDK's message where a session has not begun, and where parameters do not have their form."""
NO_SUCH_METHOD = "Method not found"


async def say_plainly(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answer a request; reword the SDK's refusals of it."""
    try:
        return await call_next(ctx)
    except ValidationError as error:
        refusal = invalid_params(ctx.method, error)
        raise MCPError(code=types.INVALID_PARAMS, message=safe_message(refusal.message)) from error
    except MCPError as error:
        words = _words_for(error.error, ctx.method)
        if words is None:
            raise
        raise MCPError(code=error.error.code, message=safe_message(words), data=error.error.data or None) from error


def invalid_params(method: str, error: ValidationError) -> InputError:
    """Return the refusal of a request whose parameters have not their form."""
    problem = refusal_of(error, _problem).message
    return InputError(f"the parameters of '{method}' are not as they should be: {problem}")


def _words_for(error: types.ErrorData, method: str) -> str | None:
    if error.message == SAYS_NOTHING:
        return "the session has not begun: send 'initialize' first, then 'notifications/initialized'"
    if error.message == NO_SUCH_METHOD:
        return f"there is no method '{method[:100]}' here"
    return None


def _problem(details: Any) -> str:
    place = place_of(details).removeprefix("params.")
    return f"'{place}' is missing" if details["type"] == "missing" else f"'{place}' {plain_words(details)}"
