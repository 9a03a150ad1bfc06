"""Files over HTTP: sent whole, by a single range of bytes, or not at all where the caller has them already."""

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse

from stackroom.errors import UnknownResourceError
from stackroom.serve.http.replies import CONTENT_HEADERS, status_reply
from stackroom.tools.media import MediaFile

_SINGLE_RANGE = re.compile(r"bytes=(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})")

KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
"""The header of a file that was asked for by its version: another one has another address."""


def file_reply(request: Request, found: MediaFile, name: str) -> Response:
    """Return the answer to a request for a file that was just found; `name` is how the caller asked for it."""
    try:
        stat_result = found.path.stat()
    except OSError as error:
        raise UnknownResourceError(
            f"there is no file of '{name[:200]}' any more; get the record to see what it has", uri=name[:200]
        ) from error
    headers = CONTENT_HEADERS if request.query_params.get("v") != found.version else {**CONTENT_HEADERS, **KEPT}
    reply = FileResponse(found.path, headers=headers, media_type=found.mime_type, stat_result=stat_result)
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if reply.headers["etag"] in known or known == ["*"]:
        return NotModifiedResponse(reply.headers)
    part = _find_part(request, reply.headers)
    if part is None:  # several ranges and malformed ones are answered with the whole
        del MutableHeaders(scope=request.scope)["range"]
    elif not part:
        length = stat_result.st_size
        refusal = status_reply(416, "range_not_satisfiable", f"the file is {length} bytes long; ask for a part of it")
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
