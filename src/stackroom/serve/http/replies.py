"""Answers: JSON, with its cache headers, the one form of errors, and files, whole or by a range of
bytes.
"""

import math
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import orjson
from pydantic import BaseModel, Field
from pydantic_core import to_jsonable_python
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.staticfiles import NotModifiedResponse

from stackroom.errors import ExpectedError, UnknownResourceError
from stackroom.text.instructions import safe_message
from stackroom.text.safe import safe_json
from stackroom.tools.faces.rest import Download
from stackroom.tools.media import MediaFile
from stackroom.tools.spec import GenericResult, is_none

PRIVATE = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
"""Headers of an answer that is for this caller alone."""
CONTENT_HEADERS = {**PRIVATE, "Content-Security-Policy": "default-src 'none'; sandbox"}
"""Headers of a user's content, which must not run in a browser."""
NO_STORE = {"Cache-Control": "no-store"}  # headers of an answer that must not be kept

Handler = Callable[[Request], Awaitable[Response]]


class ErrorDetails(GenericResult):
    """A failure."""

    code: str = Field(description="stable; for programs")
    message: str = Field(description="what is wrong and what would be right; for people")
    retry_after_s: int | None = Field(
        default=None, exclude_if=is_none, description="when it is worth trying again"
    )


class ErrorResult(GenericResult):
    """The answer to every request that fails."""

    error: ErrorDetails


class JSONReply(Response):
    """A value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the value, safe to show."""
        return safe_json(orjson.dumps(content, default=to_jsonable_python).decode()).encode()


def model_reply(
    result: BaseModel, *, status: int = 200, headers: Mapping[str, str] = PRIVATE
) -> JSONReply:
    """Return an endpoint's result as JSON."""
    return JSONReply(result.model_dump(by_alias=True), status_code=status, headers=headers)


def error_reply(error: ExpectedError, headers: Mapping[str, str] | None = None) -> JSONReply:
    """Return a foreseen failure: its HTTP status, `{"error": {"code", "message"}}`, and when to
    come back.
    """
    retry_after_s = None if error.retry_after_s is None else math.ceil(error.retry_after_s)
    come_back = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    details = ErrorDetails(
        code=error.code, message=safe_message(error.message), retry_after_s=retry_after_s
    )
    return model_reply(
        ErrorResult(error=details),
        status=error.http_status,
        headers={**(headers or {}), **come_back},
    )


def status_reply(status: int, code: str, message: str) -> JSONReply:
    """Return a failure that has no `ExpectedError`, such as an unknown path."""
    return model_reply(
        ErrorResult(error=ErrorDetails(code=code, message=message)), status=status, headers={}
    )


def with_error_replies(handler: Handler) -> Handler:
    """Return the handler, with its foreseen failures as replies."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ExpectedError as error:
            return error_reply(
                error, {"WWW-Authenticate": "Bearer"} if error.http_status == 401 else None
            )

    return handle


def download_reply(download: Download) -> Response:
    """Return a file that is made while it is sent."""
    saved = {"Content-Disposition": f"attachment; filename*=utf-8''{quote(download.name)}"}
    return StreamingResponse(
        download.pieces, 200, {**CONTENT_HEADERS, **saved}, download.media_type
    )


_SINGLE_RANGE = re.compile(r"bytes=(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})")

KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
"""The header of a file that was asked for by its version: another one has another address."""


def file_reply(request: Request, found: MediaFile, name: str) -> Response:
    """Return the answer to a request for a file that was just found; `name` is how the caller asked
    for it.
    """
    try:
        stat_result = found.path.stat()
    except OSError as error:
        problem = f"there is no file of '{name[:200]}' any more; get the record to see what it has"
        raise UnknownResourceError(problem, uri=name[:200]) from error
    headers = (
        CONTENT_HEADERS
        if request.query_params.get("v") != found.version
        else {**CONTENT_HEADERS, **KEPT}
    )
    reply = FileResponse(
        found.path, headers=headers, media_type=found.mime_type, stat_result=stat_result
    )
    known = [
        tag.strip().removeprefix("W/")
        for tag in request.headers.get("if-none-match", "").split(",")
    ]
    if reply.headers["etag"] in known or known == ["*"]:
        return NotModifiedResponse(reply.headers)
    part = _find_part(request, reply.headers)
    if part is None:  # several ranges and malformed ones are answered with the whole
        del MutableHeaders(scope=request.scope)["range"]
    elif not part:
        length = stat_result.st_size
        refusal = status_reply(
            416, "range_not_satisfiable", f"the file is {length} bytes long; ask for a part of it"
        )
        refusal.headers["Content-Range"] = f"bytes */{length}"
        return refusal
    return reply


def count_sent(request: Request, reply: Response) -> int:
    """Return how many bytes of a file an answer sends."""
    if request.method == "HEAD" or not isinstance(reply, FileResponse):
        return 0
    part = _find_part(request, reply.headers)
    return int(reply.headers["content-length"]) if part is None else len(part)


def _find_part(request: Request, reply: Headers) -> range | None:
    """Return the bytes of the range that a request asks for; None for the whole file."""
    found = _SINGLE_RANGE.fullmatch(request.headers.get("range", ""))
    known, size = request.headers.get("if-range"), int(reply["content-length"])
    is_current = known in (None, reply["etag"], reply["last-modified"])
    if found is None or not any(found.groups()) or not is_current or request.method != "GET":
        return None
    first, last = found.groups()
    if not first:
        return range(max(size - int(last), 0), size)
    end = min(int(last) + 1, size) if last else size
    return None if last and int(last) < int(first) else range(int(first), end)
