"""The outermost ASGI layer: refuses foreign hosts and origins and oversized bodies, and catches bugs."""

import logging

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.errors import TooLargeError
from pinakes.serve.frames import MAX_FRAME_BYTES
from pinakes.serve.http.hosts import KnownHosts
from pinakes.serve.http.replies import JSONReply, error_reply, status_reply

logger = logging.getLogger(__name__)

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)


class Guard:
    """ASGI: passes on requests for this server with a bounded body; logs exceptions from inside."""

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
        secured = _WithSecurityHeaders(send)
        body = await _whole_body(scope, receive, secured)
        if body is None:
            return
        try:
            whole: Message = {"type": "http.request", "body": body, "more_body": False}
            await self._app(scope, once_more(whole, receive), secured)
        except Exception:
            logger.exception("a request failed: %s %r", scope["method"], scope["path"][:200])


class _WithSecurityHeaders:
    """ASGI send: adds the security headers to a response."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *SECURITY_HEADERS]
        await self._send(message)


async def _whole_body(scope: Scope, receive: Receive, send: Send) -> bytes | None:
    """Return the body; None where it was too large, which is answered here, or where the client disconnected."""
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return b""
    too_large = TooLargeError(f"a body is at most {MAX_FRAME_BYTES} bytes long")
    declared = Headers(scope=scope).get("content-length", "0")
    if not declared.isdecimal() or int(declared[:12]) > MAX_FRAME_BYTES:
        await error_reply(too_large, {"Connection": "close"})(scope, receive, send)
        return None
    parts: list[bytes] = []
    size = 0
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


def once_more(message: Message, receive: Receive) -> Receive:
    """Return a `receive` that first repeats a message."""
    waiting = [message]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


async def refuse_upgrade(reply: JSONReply, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a WebSocket's opening request with an HTTP response."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "websocket.http.response.start", "status": reply.status_code, "headers": reply.raw_headers})
    await send({"type": "websocket.http.response.body", "body": reply.body})
