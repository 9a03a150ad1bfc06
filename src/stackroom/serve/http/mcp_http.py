"""MCP over Streamable HTTP at `/mcp`, by the SDK's transport, over SSE at `/sse`, and over a
WebSocket at `/v1/mcp`.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qs
from uuid import uuid4

import anyio
from mcp import types
from mcp.server.auth.middleware.bearer_auth import authorization_context
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, check_accept_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.errors import ExpectedError, OverloadedError, TooLargeError
from stackroom.serve.async_gate import BEGUN, CALLER
from stackroom.serve.connections import POLICY_VIOLATION, OpenStream, Streams
from stackroom.serve.frames import (
    BadFrameError,
    UnaskedAnswerError,
    read_frame,
    require_served_revision,
)
from stackroom.serve.http.guard import Authenticator, find_secret, once_more, refuse_upgrade
from stackroom.serve.http.replies import error_reply, status_reply
from stackroom.serve.message_loop import serve_messages
from stackroom.tools.operation import Origin

MESSAGES_PATH = "/messages"
# the request (from 2026-07-28) whose answer is a stream that stays open
LISTEN = "subscriptions/listen"
JSON = "application/json"
PING_EVERY_S = 15.0
# the lifetime of an idle session of Streamable HTTP (up to 2025-11-25) without an open stream
SESSION_IDLE_S = 300.0
EVENT_STREAM = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


def refuse_message(error: ExpectedError, headers: Mapping[str, str]) -> Response:
    """Return the answer to a message whose body is not taken; one that is too large is no valid
    request of JSON-RPC.
    """
    if not isinstance(error, TooLargeError):
        return error_reply(error, headers)
    body = BadFrameError(types.INVALID_REQUEST, error.message, data={"code": error.code}).body
    return Response(body, status_code=error.http_status, headers=headers, media_type=JSON)


def read_posted(body: bytes, headers: Headers) -> types.JSONRPCMessage | Response:
    """Return a posted message, or the refusal of one that is not a single, well-formed message of
    JSON-RPC.

    A revision that the headers name is compared with theirs by the SDK. From 2026-07-28 on a server
    sends no requests, so an answer is one that nobody waits for.
    """
    kinds = headers.getlist("content-type")
    if len(kinds) != 1 or kinds[0].partition(";")[0].strip().lower() != JSON:
        return status_reply(415, "not_json", "messages are of the content type application/json")
    try:
        message = read_frame(body)
        if headers.get(MCP_PROTOCOL_VERSION_HEADER) not in MODERN_PROTOCOL_VERSIONS:
            require_served_revision(message)
        elif isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            raise UnaskedAnswerError
    except UnaskedAnswerError:
        return Response(status_code=202)
    except BadFrameError as error:
        return Response(error.body, status_code=400, media_type=JSON)
    return message


NO_ROOM = OverloadedError("there are too many open streams")


class Streaming:
    """ASGI: registers the stream that an application answers with, and completes it when it is
    ended.
    """

    def __init__(self, app: ASGIApp, streams: Streams) -> None:
        self._app = app
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the stream ends, or is ended."""
        if self._streams.is_full:
            await error_reply(NO_ROOM)(scope, receive, send)
            return
        has_begun = is_whole = False

        async def watched(message: Message) -> None:
            nonlocal has_begun, is_whole
            if message["type"] == "http.response.start":
                has_begun = True
            elif not message.get("more_body", False):
                is_whole = True
            await send(message)

        with self._streams.opened(scope[CALLER].identity):
            await self._app(scope, receive, watched)
        if has_begun and not is_whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class StreamableHTTP:
    """ASGI: Streamable HTTP, with and without sessions."""

    def __init__(self, server: Server[Any], streams: Streams, *, most: int) -> None:
        self._sessions = StreamableHTTPSessionManager(
            server, session_idle_timeout=SESSION_IDLE_S, max_sessions=most
        )
        self.run = self._sessions.run
        self._direct = getattr(server, "direct", None)
        self._streamed = Streaming(self._sessions.handle_request, streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message, or serve a stream."""
        if scope["method"] != "POST":
            app = self._streamed if scope["method"] == "GET" else self._sessions.handle_request
            await app(scope, receive, send)
            return
        headers, posted = Headers(scope=scope), await receive()
        message = read_posted(posted.get("body", b""), headers)
        reply = (
            message
            if isinstance(message, Response)
            else await self._find_reply(scope, headers, message)
        )
        if reply is not None:
            await reply(scope, receive, send)
            return
        is_listening = headers.get(MCP_METHOD_HEADER, "") == LISTEN
        app = self._streamed if is_listening else self._sessions.handle_request
        await app(scope, once_more(posted, receive), send)

    async def _find_reply(
        self, scope: Scope, headers: Headers, message: types.JSONRPCMessage
    ) -> Response | None:
        """Return the reply to a call that is answered without the SDK; where it is not, note what
        was begun of it.
        """
        version = headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
        is_alone = version in MODERN_PROTOCOL_VERSIONS
        is_open = _is_whole(headers, message) if is_alone else self._is_in_session(scope, headers)
        if self._direct is None or not is_open or not all(check_accept_headers(Request(scope))):
            return None
        found = await self._direct.answer(scope[CALLER], message, version, may_wait=is_alone)
        if not isinstance(found, bytes):
            scope[BEGUN] = found
            return None
        session = (
            headers.get(MCP_SESSION_ID_HEADER) if version in HANDSHAKE_PROTOCOL_VERSIONS else None
        )
        return Response(
            found, media_type=JSON, headers={MCP_SESSION_ID_HEADER: session} if session else None
        )

    def _is_in_session(self, scope: Scope, headers: Headers) -> bool:
        """Tell whether a request belongs to an open session of its caller, and keep the session
        from expiring.

        Which sessions are open the SDK does not promise to tell; where it does not, it answers
        every request.
        """
        session = headers.get(MCP_SESSION_ID_HEADER)
        transport: Any = getattr(self._sessions, "_server_instances", {}).get(session)
        owner = getattr(self._sessions, "_session_owners", {}).get(session)
        if transport is None or owner != authorization_context(scope["user"]):
            return False
        idle, version = transport.idle_scope, headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if (
            transport.is_terminated
            or idle.cancel_called
            or version not in HANDSHAKE_PROTOCOL_VERSIONS
        ):
            return False
        if idle.deadline < math.inf:  # no other request holds it open
            idle.deadline = anyio.current_time() + SESSION_IDLE_S
        return True


def _is_whole(headers: Headers, message: types.JSONRPCMessage) -> bool:
    """Tell whether a request without a session says all that it has to, and its headers the
    same.
    """
    if not isinstance(message, types.JSONRPCRequest):
        return False
    given = headers.items()
    route = classify_inbound_request(
        {"method": message.method, "params": message.params}, headers=dict(given)
    )
    return isinstance(route, InboundModernRoute) and find_duplicated_routing_header(given) is None


class SSE:
    """Both halves of the SSE transport, as ASGI applications."""

    def __init__(self, server: Server[Any], streams: Streams) -> None:
        self._server = server
        self._open: dict[str, _EventStream] = {}
        self.stream = Streaming(self._serve, streams)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the messages that are posted to a session, until the client closes its stream."""
        session, stream = uuid4().hex, _EventStream(scope[CALLER], send)
        self._open[session] = stream
        try:
            await send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM})
            root = scope.get("root_path", "").rstrip("/")
            await stream.send(f"{root}{MESSAGES_PATH}?session_id={session}", "endpoint")
            async with anyio.create_task_group() as group:
                group.start_soon(stream.keep_open)
                group.start_soon(
                    serve_messages, self._server, stream.receive, stream.send, stream.find_caller
                )
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()
        finally:
            del self._open[session]
            stream.posted.close()

    async def messages(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a message that is posted to a session; it is answered on the stream."""
        message = read_posted((await receive()).get("body", b""), Headers(scope=scope))
        session = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [""])[0]
        stream, caller = self._open.get(session), scope[CALLER]
        is_owner = stream is not None and stream.caller.principal.name == caller.principal.name
        refusal = (
            message
            if isinstance(message, Response)
            else None
            if is_owner
            else _no_such_stream(session)
        )
        await (refusal or Response("Accepted", status_code=202))(scope, receive, send)
        if refusal is None and stream is not None:
            with suppress(anyio.BrokenResourceError):  # the stream ended in the meantime
                await stream.post.send((message, caller))


class _EventStream:
    """An SSE stream: messages that are posted to it, and events that are sent on it."""

    def __init__(self, caller: Origin, send: Send) -> None:
        self.caller = caller
        self.post, self.posted = anyio.create_memory_object_stream[tuple[Any, Origin]]()
        self._send = send

    async def receive(self) -> types.JSONRPCMessage | None:
        """Return the next message."""
        message, self.caller = await self.posted.receive()
        return cast("types.JSONRPCMessage", message)

    async def find_caller(self) -> Origin:
        """Return the caller who posted the last message."""
        return self.caller

    async def send(self, text: str, name: str = "message") -> None:
        """Send an event."""
        await self._send_part(f"event: {name}\r\ndata: {text}\r\n\r\n")

    async def keep_open(self) -> None:
        """Send a comment now and then, so that proxies keep the stream open."""
        while True:
            await anyio.sleep(PING_EVERY_S)
            await self._send_part(": ping\r\n\r\n")

    async def _send_part(self, part: str) -> None:
        await self._send({"type": "http.response.body", "body": part.encode(), "more_body": True})


def _no_such_stream(session: str) -> Response:
    """Return the refusal of a message that is posted to no open stream of its caller."""
    if len(session) == 32:
        return status_reply(
            404, "not_found", "there is no such stream, or it has ended; open another with GET /sse"
        )
    return status_reply(
        400, "invalid_input", "'session_id' is missing or malformed; GET /sse says where to post"
    )


SUBPROTOCOL = "mcp"
UNSUPPORTED_DATA, TRY_AGAIN_LATER = 1003, 1013


class WebSocketEndpoint:
    """ASGI: MCP over WebSockets."""

    def __init__(self, server: Server[Any], authenticator: Authenticator, streams: Streams) -> None:
        self._server = server
        self._authenticator = authenticator
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept the WebSocket of an authenticated caller, and serve until either side closes
        it.
        """
        found = await self._authenticator.admit(scope, via="websocket")
        is_refused = isinstance(found, Origin) and self._streams.is_full
        opener = error_reply(NO_ROOM) if is_refused else found
        if not isinstance(opener, Origin):
            await refuse_upgrade(opener, scope, receive, send)
            return
        await receive()
        subprotocol = SUBPROTOCOL if SUBPROTOCOL in scope.get("subprotocols", ()) else None
        await send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": []})
        with self._streams.opened(opener.identity) as stream:
            await self._serve(
                find_secret(Headers(scope=scope)) or "", opener, stream, receive, send
            )
        with suppress(Exception):  # the client may have disconnected already
            await send({"type": "websocket.close", "code": stream.code, "reason": stream.reason})

    async def _serve(
        self, secret: str, opener: Origin, stream: OpenStream, receive: Receive, send: Send
    ) -> None:
        """Serve until the client disconnects, or the stream is ended."""

        async def receive_text() -> str | None:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return None
            text: str | None = message.get("text")
            if text is None:
                stream.end(UNSUPPORTED_DATA, "messages are texts")
            return text

        async def send_text(text: str) -> None:
            await send({"type": "websocket.send", "text": text})

        async def caller() -> Origin:
            while True:
                try:
                    known = await self._authenticator.identify_secret(secret)
                except ExpectedError as error:
                    stream.end(TRY_AGAIN_LATER, error.message)
                else:
                    if known is not None:
                        return replace(opener, identity=known)
                    stream.end(POLICY_VIOLATION, "the credential is no longer valid")
                await anyio.sleep_forever()  # the end of the stream cancels this

        try:
            await serve_messages(self._server, receive_text, send_text, caller)
        except* OSError:  # the client disconnected during a send
            pass
