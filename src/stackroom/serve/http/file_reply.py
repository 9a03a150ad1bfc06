"""Files over HTTP: sent whole, by a single range, or not at all where the caller has them already."""

import logging
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import BinaryIO, NamedTuple

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from stackroom.errors import UnknownResourceError
from stackroom.serve.http.ranges import NOT_MODIFIED, Part, etag_of, find_part, find_refusal, last_modified_of
from stackroom.serve.http.replies import CONTENT_HEADERS, status_reply
from stackroom.tools.media import MediaFile

logger = logging.getLogger(__name__)

BLOCK_BYTES = 64 * 1024


class OpenedFile(NamedTuple):
    """An open file, with its size and time as they were when it was opened."""

    content: BinaryIO
    file: MediaFile


def open_file(found: MediaFile, name: str) -> OpenedFile:
    """Open a file that was just found; `name` is how the caller asked for it."""
    try:
        content = found.path.open("rb", buffering=0)
        now = os.fstat(content.fileno())
    except OSError as error:
        raise UnknownResourceError(f"there is no file of '{name[:200]}' any more", uri=name[:200]) from error
    return OpenedFile(content, replace(found, size_bytes=now.st_size, modified_at=now.st_mtime))


def count_sent(request: Request, file: MediaFile) -> int:
    """Return how many bytes of a file answer a request."""
    if request.method == "HEAD" or find_refusal(request.headers, file) is not None:
        return 0
    part = _find_part(request, file)
    return file.size_bytes if part is None else part.size_bytes


def file_reply(request: Request, opened: OpenedFile) -> Response:
    """Return the answer to a request for a file; closes the file when it is sent, or need not be."""
    part = _find_part(request, opened.file)
    refusal = _find_refusal(request, opened.file, part)
    if refusal is not None:
        opened.content.close()
        return refusal
    return FileReply(opened.content, opened.file, part)


class FileReply(StreamingResponse):
    """An open file, or a part of it: as many bytes as it had when it was opened, even if it changes meanwhile."""

    def __init__(self, content: BinaryIO, file: MediaFile, part: Part | None) -> None:
        self._content = content
        self._name = file.path.name
        sent = part or Part(0, file.size_bytes)
        content_range = {"Content-Range": f"bytes {sent.first}-{sent.end - 1}/{file.size_bytes}"} if part else {}
        super().__init__(
            self._blocks(sent),
            status_code=206 if part else 200,
            media_type=file.mime_type,
            headers={
                **_validators(file),
                **content_range,
                "Accept-Ranges": "bytes",
                "Content-Length": str(sent.size_bytes),
            },
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the bytes; where the file became shorter, send what is left and end the connection."""
        try:
            if scope["method"] == "HEAD":
                await Response(status_code=self.status_code, headers=dict(self.headers))(scope, receive, send)
            else:
                await super().__call__(scope, receive, send)
        except _CutShortError:
            logger.warning("%s became shorter while it was sent", self._name)
        finally:
            self._content.close()

    async def _blocks(self, part: Part) -> AsyncIterator[bytes]:
        left = part.size_bytes
        await anyio.to_thread.run_sync(self._content.seek, part.first)
        while left:
            block = await anyio.to_thread.run_sync(self._content.read, min(left, BLOCK_BYTES))
            if not block:
                raise _CutShortError
            left -= len(block)
            yield block


class _CutShortError(Exception):
    """A file has fewer bytes than were promised."""


def _find_part(request: Request, file: MediaFile) -> Part | None:
    """Return the range of a GET request; other methods have none."""
    return find_part(request.headers, file) if request.method == "GET" else None


def _find_refusal(request: Request, file: MediaFile, part: Part | None) -> Response | None:
    """Return the answer where the file is not sent: not modified, a failed precondition, or an empty range."""
    status = find_refusal(request.headers, file)
    if status == NOT_MODIFIED:
        return Response(status_code=status, headers=_validators(file))
    if status is not None:
        return status_reply(status, "precondition_failed", "the file has changed: its ETag or its date is another")
    if part is None or part.size_bytes:
        return None
    refusal = status_reply(416, "range_not_satisfiable", f"the file is {file.size_bytes} bytes long")
    refusal.headers["Content-Range"] = f"bytes */{file.size_bytes}"
    return refusal


def _validators(file: MediaFile) -> dict[str, str]:
    return {**CONTENT_HEADERS, "ETag": etag_of(file), "Last-Modified": last_modified_of(file)}
