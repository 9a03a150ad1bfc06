"""MCP over a WebSocket at `/v1/mcp`: one JSON-RPC message per text frame."""

import logging
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcp.server.lowlevel import Server
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from stackroom.errors import ExpectedError
from stackroom.serve.async_gate import Caller
from stackroom.serve.http.guard import LOCAL_IDENTITY, Authenticator, find_secret, refuse_upgrade
from stackroom.serve.http.streams import NO_LONGER_VALID, Streams
from stackroom.serve.message_loop import serve_messages

logger = logging.getLogger(__name__)

SUBPROTOCOL = "mcp"
GOING_AWAY, UNSUPPORTED_DATA, POLICY_VIOLATION, TRY_AGAIN_LATER = 1001, 1003, 1008, 1013


class _ClosedError(Exception):
    """A reason for the server to close the WebSocket."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class WebSocketEndpoint:
    """ASGI: MCP over WebSockets."""

    def __init__(self, server: Server[Any], authenticator: Authenticator, streams: Streams) -> None:
        self._server = server
        self._authenticator = authenticator
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept the WebSocket of an authenticated caller, and serve until either side closes it."""
        found = await self._authenticator.admit(scope, via="websocket")
        opener = (self._streams.find_refusal() or found) if isinstance(found, Caller) else found
        if not isinstance(opener, Caller):
            await refuse_upgrade(opener, scope, receive, send)
            return
        await receive()
        subprotocol = SUBPROTOCOL if SUBPROTOCOL in scope.get("subprotocols", ()) else None
        await send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": []})
        code, reason = await self._serve(find_secret(Headers(scope=scope)) or "", opener, receive, send)
        with suppress(Exception):  # the client may have disconnected already
            await send({"type": "websocket.close", "code": code, "reason": reason})

    async def _serve(self, secret: str, opener: Caller, receive: Receive, send: Send) -> tuple[int, str]:
        """Serve until the client disconnects or the stream is ended; return the close code and reason."""

        async def receive_text() -> str | None:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return None
            text: str | None = message.get("text")
            if text is None:
                raise _ClosedError(UNSUPPORTED_DATA, "messages are texts")
            return text

        async def send_text(text: str) -> None:
            await send({"type": "websocket.send", "text": text})

        async def caller() -> Caller:
            try:
                known = await self._authenticator.identify_secret(secret)
            except ExpectedError as error:
                raise _ClosedError(TRY_AGAIN_LATER, error.message) from error
            if known is None:
                raise _ClosedError(POLICY_VIOLATION, "the credential is no longer valid")
            return replace(opener, principal=known.principal, identity=known)

        ending = (1000, "")
        with self._streams.opened(opener.identity or LOCAL_IDENTITY) as stream:
            try:
                await serve_messages(self._server, receive_text, send_text, caller)
            except* _ClosedError as group:
                ending = _first(group)
            except* OSError:  # the client disconnected during a send
                pass
        if not stream.reason:
            return ending
        return (POLICY_VIOLATION if stream.reason == NO_LONGER_VALID else GOING_AWAY), stream.reason


def _first(group: BaseExceptionGroup[_ClosedError]) -> tuple[int, str]:
    """Return the close code and reason of the first error in nested groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, _ClosedError)
    return error.code, error.reason
