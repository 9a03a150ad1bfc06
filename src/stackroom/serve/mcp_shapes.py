"""Tools, resources, results and errors as MCP has them; foreseen failures say what would be right."""

import base64
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mcp import types
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from stackroom.errors import (
    ExpectedError,
    InputError,
    NotFoundError,
    OverloadedError,
    RateLimitedError,
    UnauthenticatedError,
    UnknownResourceError,
)
from stackroom.gate.answer import Answer
from stackroom.model.record import Flag
from stackroom.serve.caller import Context
from stackroom.serve.prompts import Prompt
from stackroom.text.instructions import safe_message
from stackroom.text.safe import safe_text
from stackroom.text.validation_words import plain_words
from stackroom.tools.resources.resource import ResourceContent, ResourceEntry, ResourceSpec
from stackroom.tools.spec import ToolSpec, place_of, refusal_of
from stackroom.tools.toolbox import with_plain_names

logger = logging.getLogger(__name__)

RETRY_AFTER = "io.stackroom/retryAfterS"
"""The key in a refused call's `_meta` that says when to retry."""
PAGE = "io.stackroom/page"
"""The key in the `_meta` of a resource's content that says which part of the resource it is."""
FLAGGED = "io.stackroom/flagged"
"""The key in the `_meta` of an answer or a resource that has the places whose text reads like an instruction."""
ERROR_CODES = {UnauthenticatedError: -32010, RateLimitedError: -32011, OverloadedError: -32012}
"""Error codes from JSON-RPC's range for servers, where neither MCP nor its SDK has any."""
NO_NAMES: Mapping[str, str] = {}

PICTURE = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='7' fill='#0f766e'/>"
    "<path d='M8 9h16M8 16h16M8 23h9' stroke='white' stroke-width='3' stroke-linecap='round'/></svg>"
)
ADDRESS = f"data:image/svg+xml;base64,{base64.b64encode(PICTURE.encode()).decode()}"
SINCE = "2025-11-25"
"""The revision that added icons."""


def with_icon(described: Mapping[str, Any], protocol_version: str) -> dict[str, Any]:
    """Return the description of the server with its icon, where the revision of the protocol has icons."""
    icons = [{"src": ADDRESS, "mimeType": "image/svg+xml", "sizes": ["any"]}]
    return {**described, "icons": icons} if protocol_version >= SINCE else dict(described)


SAYS_NOTHING = "Invalid request parameters"
"""The SDK's message where a session has not begun, and where parameters do not have their form."""
NO_SUCH_METHOD = "Method not found"


async def say_plainly(ctx: Context, call_next: CallNext) -> HandlerResult:
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


@contextmanager
def protocol_errors() -> Iterator[None]:
    """Convert exceptions to protocol errors."""
    try:
        yield
    except Exception as error:
        raise _protocol_error(error) from error


def _protocol_error(error: Exception) -> MCPError:
    """Return the protocol error of a foreseen failure; a bug is logged, and its details are hidden."""
    if isinstance(error, UnknownResourceError):
        return MCPError(
            code=types.INVALID_PARAMS, message=safe_message(error.message), data={"uri": safe_text(error.uri)}
        )
    if isinstance(error, NotFoundError | InputError):
        return MCPError(code=types.INVALID_PARAMS, message=safe_message(error.message))
    if isinstance(error, ExpectedError):
        data: dict[str, Any] = {"code": error.code}
        if error.retry_after_s is not None:
            data["retryAfterS"] = math.ceil(error.retry_after_s)
        return MCPError(
            code=ERROR_CODES.get(type(error), types.INTERNAL_ERROR), message=safe_message(error.message), data=data
        )
    logger.error("a request failed", exc_info=error)
    return MCPError(code=types.INTERNAL_ERROR, message="internal error; the server's log has the details")


def tool_result(answer: Answer) -> dict[str, Any]:
    """Return a `CallToolResult` as JSON values; the SDK checks it, and drops fields that the revision does not have."""
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": answer.text}],
        "isError": answer.is_error,
        "resultType": "complete",
    }
    if answer.structured is not None:
        result["structuredContent"] = answer.structured
    if answer.error is not None and answer.error.retry_after_s is not None:
        result["_meta"] = {RETRY_AFTER: math.ceil(answer.error.retry_after_s)}
    if answer.flags:
        result["_meta"] = flagged(answer.flags)
    return result


def flagged(flags: Sequence[Flag]) -> dict[str, Any] | None:
    """Return the `_meta` of an answer with its flags; None without any."""
    return {FLAGGED: [flag.plain() for flag in flags]} if flags else None


def tool_entry(tool: ToolSpec, names: Mapping[str, str] = NO_NAMES) -> types.Tool:
    """Return a tool as MCP lists it; `names` has other names of tools."""
    return types.Tool(
        name=names.get(tool.name, tool.name),
        title=tool.title or None,
        description=with_plain_names(tool.description, names),
        input_schema=tool.listed_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(read_only_hint=tool.read_only),
    )


def prompt_entry(prompt: Prompt) -> types.Prompt:
    """Return a prompt as MCP lists it."""
    arguments = [
        types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
        for argument in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)


def resource_entry(entry: ResourceEntry) -> types.Resource:
    """Return a resource as MCP lists it."""
    return types.Resource(uri=entry.uri, name=entry.name, title=entry.title or None, mime_type=entry.mime_type)


def template_entry(resource: ResourceSpec) -> types.ResourceTemplate:
    """Return a resource template as MCP lists it."""
    return types.ResourceTemplate(
        uri_template=resource.template,
        name=resource.name,
        description=resource.description,
        mime_type=resource.template_mime_type,
    )


def resource_contents(uri: str, content: ResourceContent) -> types.TextResourceContents | types.BlobResourceContents:
    """Return the content of a resource as MCP has it."""
    if content.blob is None:
        meta = {PAGE: content.page.plain()} if content.page else None
        return types.TextResourceContents(uri=uri, mime_type=content.mime_type, text=content.text or "", _meta=meta)
    blob = base64.b64encode(content.blob).decode()
    return types.BlobResourceContents(uri=uri, mime_type=content.mime_type, blob=blob)
