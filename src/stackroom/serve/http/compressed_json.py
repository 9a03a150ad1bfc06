"""JSON for readers, compressed where it is long: what the page reads, and lists of tools, as `GET` answers them.

Answers to `POST`, which tools and MCP are called by, are sent as they are: their callers are programs nearby more often
than not, and each would pay for it. No secret is at stake: a foreign site can neither send a reader's cookie nor read.
"""

import gzip

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.serve.http.accepting import JSON, choose_encoding

SHORTEST = 2_000
LONG = 100_000
"""So many bytes take milliseconds to compress, in which nobody else would be answered."""
LEVEL = 5


class CompressedJson:
    """ASGI: compresses long JSON answers to `GET`, for clients that take gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "http" and scope["method"] == "GET" and choose_encoding(Headers(scope=scope), ["gzip"]):
            send = _Compressing(send)
        await self._app(scope, receive, send)


class _Compressing:
    """ASGI send: holds the beginning of a JSON answer back until its body comes, and compresses one that is whole."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_json(message):
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            message = await _compress(start, message)
            await self._send(start)
        await self._send(message)


def _is_json(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return headers.get("content-type", "").startswith(JSON) and "content-encoding" not in headers


async def _compress(start: Message, body: Message) -> Message:
    """Return the body that is sent, and change the beginning accordingly; a long one is compressed in a thread."""
    content = body.get("body", b"")
    headers = MutableHeaders(raw=start["headers"])
    headers.add_vary_header("Accept-Encoding")
    if body.get("more_body", False) or len(content) < SHORTEST:
        return body
    is_long = len(content) >= LONG
    compressed = await anyio.to_thread.run_sync(_packed, content) if is_long else _packed(content)
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(compressed))
    return {**body, "body": compressed}


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, LEVEL, mtime=0)
