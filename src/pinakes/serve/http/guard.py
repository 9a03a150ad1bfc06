"""The outermost layer: foreign hosts and origins, oversized bodies, slow readers, and bugs end here."""

import logging
from collections import deque
from dataclasses import dataclass

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.errors import TooLargeError
from pinakes.serve.frames import MAX_FRAME_BYTES
from pinakes.serve.http.hosts import KnownHosts
from pinakes.serve.http.replies import JSONReply, error_reply, status_reply

logger = logging.getLogger(__name__)

READ_TIMEOUT_S = 20.0
"""How long a body may take to arrive."""
WRITE_TIMEOUT_S = 20.0
"""How long a client may take to read what was sent to it."""
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)


@dataclass(frozen=True, slots=True)
class SlowReaderError(Exception):
    """A client does not read what it asked for."""


class Guard:
    """ASGI: lets through what is meant for us and not too large, and answers for what goes wrong inside."""

    def __init__(self, app: ASGIApp, hosts: KnownHosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
        refusal = self._refusal(Headers(scope=scope))
        if scope["type"] == "websocket":
            await (refuse_upgrade(refusal, scope, receive, send) if refusal else self._app(scope, receive, send))
        elif refusal:
            await refusal(scope, receive, send)
        else:
            await self._guarded(scope, receive, send)

    def _refusal(self, headers: Headers) -> JSONReply | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1:
            return status_reply(400, "no_host", "a request has one 'Host' header")
        if not self._hosts.knows_host(hosts[0]):
            return status_reply(421, "misdirected", "the 'Host' header does not name this server")
        if not all(self._hosts.knows_origin(origin, hosts[0]) for origin in origins):
            return status_reply(403, "foreign_origin", "the 'Origin' header is not of a page of this server")
        if headers.get("content-encoding", "identity") != "identity":
            return status_reply(415, "encoded_body", "bodies are taken as they are, without 'Content-Encoding'")
        return None

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = _Answered(send)
        body = await _whole_body(scope, receive, answered)
        if body is None:
            return
        try:
            await self._app(scope, _replay(body, receive), answered)
        except Exception as error:
            if _is_of_slow_reader(error):
                logger.warning("a client did not read its answer for %.0f s; its connection is closed", WRITE_TIMEOUT_S)
            else:
                logger.exception("a request failed: %s %s", scope["method"], scope["path"][:200])


def _is_of_slow_reader(error: Exception) -> bool:
    """Tell whether this is a slow reader's error, or the SDK's, whose tasks fail together."""
    return isinstance(error, SlowReaderError) or (
        isinstance(error, ExceptionGroup) and error.subgroup(SlowReaderError) is not None
    )


class _Answered:
    """Sends an answer with the security headers; gives up on a client that does not read."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
        with anyio.move_on_after(WRITE_TIMEOUT_S) as waiting:
            await self._send(message)
        if waiting.cancelled_caught:
            raise SlowReaderError


async def _whole_body(scope: Scope, receive: Receive, send: Send) -> bytes | None:
    """Return the body; None where it was refused for its size or its slowness, and that was answered."""
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return b""
    too_large = TooLargeError(f"a body is at most {MAX_FRAME_BYTES} bytes long")
    declared = Headers(scope=scope).get("content-length", "0")
    if not declared.isdecimal() or int(declared[:12]) > MAX_FRAME_BYTES:
        await error_reply(too_large, {"Connection": "close"})(scope, receive, send)
        return None
    parts: list[bytes] = []
    size = 0
    with anyio.move_on_after(READ_TIMEOUT_S) as reading:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > MAX_FRAME_BYTES:
                await error_reply(too_large, {"Connection": "close"})(scope, receive, send)
                return None
            if not message.get("more_body", False):
                return b"".join(parts)
    if reading.cancelled_caught:
        too_slow = status_reply(408, "slow_body", "the body took too long to arrive")
        too_slow.headers["Connection"] = "close"
        await too_slow(scope, receive, send)
    return None


def _replay(body: bytes, receive: Receive) -> Receive:
    first: deque[Message] = deque([{"type": "http.request", "body": body, "more_body": False}])

    async def replayed() -> Message:
        return first.popleft() if first else await receive()

    return replayed


async def refuse_upgrade(reply: JSONReply, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a WebSocket's opening request with a refusal, before it becomes a WebSocket."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "websocket.http.response.start", "status": reply.status_code, "headers": reply.raw_headers})
    await send({"type": "websocket.http.response.body", "body": reply.body})
