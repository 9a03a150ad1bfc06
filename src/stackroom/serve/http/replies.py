"""Answers in JSON, their cache headers, and the one form that errors have."""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python
from starlette.requests import Request
from starlette.responses import Response

from stackroom.errors import ExpectedError
from stackroom.text.instructions import safe_message
from stackroom.text.safe import safe_json
from stackroom.tools.endpoint import EndpointResult

PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
"""Headers of an answer that is for this caller alone."""
CONTENT_HEADERS = {**PRIVATE, "Content-Security-Policy": "default-src 'none'; sandbox"}
"""Headers of a user's content, which must not run in a browser."""
NO_STORE = {"Cache-Control": "no-store"}
"""Headers of an answer that must not be kept."""

Handler = Callable[[Request], Awaitable[Response]]


def is_none(value: object) -> bool:
    """Tell whether an optional field of a result is left out."""
    return value is None


class ErrorDetails(EndpointResult):
    """A failure."""

    code: str = Field(description="stable; for programs")
    message: str = Field(description="what is wrong and what would be right; for people")
    retry_after_s: int | None = Field(default=None, exclude_if=is_none, description="when it is worth trying again")


class ErrorResult(EndpointResult):
    """The answer to every request that fails."""

    error: ErrorDetails


class JSONReply(Response):
    """A value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the value, safe to show."""
        return safe_json(orjson.dumps(content, default=to_jsonable_python).decode()).encode()


class UnsupportedMediaTypeError(Exception):
    """A body that is not declared to be JSON."""


def model_reply(result: BaseModel, *, status: int = 200, headers: Mapping[str, str] = PRIVATE) -> JSONReply:
    """Return an endpoint's result as JSON."""
    return JSONReply(result.model_dump(by_alias=True), status_code=status, headers=headers)


def error_reply(error: ExpectedError, headers: Mapping[str, str] | None = None) -> JSONReply:
    """Return a foreseen failure: its HTTP status, `{"error": {"code", "message"}}`, and when to come back."""
    retry_after_s = None if error.retry_after_s is None else math.ceil(error.retry_after_s)
    come_back = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    details = ErrorDetails(code=error.code, message=safe_message(error.message), retry_after_s=retry_after_s)
    return model_reply(ErrorResult(error=details), status=error.http_status, headers={**(headers or {}), **come_back})


def status_reply(status: int, code: str, message: str) -> JSONReply:
    """Return a failure that has no `ExpectedError`, such as an unknown path."""
    return model_reply(ErrorResult(error=ErrorDetails(code=code, message=message)), status=status, headers={})


def with_error_replies(handler: Handler) -> Handler:
    """Return the handler, with its foreseen failures as replies."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ExpectedError as error:
            return error_reply(error, {"WWW-Authenticate": "Bearer"} if error.http_status == 401 else None)
        except UnsupportedMediaTypeError:
            return status_reply(415, "unsupported_media_type", "the body must be JSON: Content-Type: application/json")

    return handle
