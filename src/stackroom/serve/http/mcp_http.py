"""MCP over Streamable HTTP at `/mcp`, and over SSE at `/sse` with `/messages`, with the SDK's transports."""

from collections.abc import Mapping
from contextlib import suppress
from contextvars import Context
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.errors import ExpectedError, TooLargeError
from stackroom.serve.frames import BadFrameError, UnaskedAnswerError, read_frame, require_served_revision
from stackroom.serve.http.guard import once_more
from stackroom.serve.http.replies import error_reply, status_reply
from stackroom.serve.http.streams import Streaming, Streams
from stackroom.serve.message_loop import IncomingStream, MessageStream, Unanswered

MESSAGES_PATH = "/messages"
LISTEN = "subscriptions/listen"
"""The request (from 2026-07-28) whose answer is a stream that stays open."""


def refuse_message(error: ExpectedError, headers: Mapping[str, str]) -> Response:
    """Return the answer to a message whose body is not taken; one that is too large is no valid request of JSON-RPC."""
    if not isinstance(error, TooLargeError):
        return error_reply(error, headers)
    body = BadFrameError(types.INVALID_REQUEST, error.message, data={"code": error.code}).body
    return Response(body, status_code=error.http_status, headers=headers, media_type="application/json")


class FrameChecked:
    """ASGI: passes on single, well-formed JSON-RPC messages only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a posted message; pass on other methods unchecked."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        kinds = [kind.partition(";")[0].strip().lower() for kind in Headers(scope=scope).getlist("content-type")]
        if kinds != ["application/json"]:
            refusal = status_reply(415, "not_json", "messages are of the content type application/json")
            await refusal(scope, receive, send)
            return
        message = await receive()
        try:
            _check_message(message.get("body", b""), Headers(scope=scope))
        except UnaskedAnswerError:
            await Response(status_code=202)(scope, receive, send)
            return
        except BadFrameError as error:
            await Response(error.body, status_code=400, media_type="application/json")(scope, receive, send)
            return
        await self._app(scope, once_more(message, receive), send)


def _check_message(body: bytes, headers: Headers) -> None:
    """Refuse a malformed message; a revision that the headers name is compared with theirs by the SDK.

    From 2026-07-28 on a server sends no requests, so an answer is one that nobody waits for.
    """
    message = read_frame(body)
    if headers.get(MCP_PROTOCOL_VERSION_HEADER) not in MODERN_PROTOCOL_VERSIONS:
        require_served_revision(message)
    elif isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
        raise UnaskedAnswerError


class StreamableHTTP:
    """ASGI: Streamable HTTP, with and without sessions."""

    def __init__(self, server: Server[Any], streams: Streams, *, session_idle_s: float, most_sessions: int) -> None:
        self._sessions = StreamableHTTPSessionManager(
            server, session_idle_timeout=session_idle_s, max_sessions=most_sessions
        )
        self.run = self._sessions.run
        self._posted = FrameChecked(self._sessions.handle_request)
        self._streamed = Streaming(self._sessions.handle_request, streams)
        self._listened = FrameChecked(self._streamed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message, or serve a stream."""
        is_listening = Headers(scope=scope).get("mcp-method", "").strip() == LISTEN
        posted = self._listened if is_listening else self._posted
        await (self._streamed if scope["method"] == "GET" else posted)(scope, receive, send)


class SSE:
    """Both halves of the SSE transport, as ASGI applications."""

    def __init__(self, server: Server[Any], streams: Streams) -> None:
        self._server = server
        self._transport = SseServerTransport(MESSAGES_PATH)
        self.stream = Streaming(self._serve, streams)
        self.messages = FrameChecked(self._post)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._transport.connect_sse(scope, receive, send) as (incoming, outgoing):
            unanswered = Unanswered()
            requests, answers = _Requests(incoming, unanswered), _Answers(outgoing, unanswered)
            await self._server.run(requests, answers, self._server.create_initialization_options())

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal: Response | None = None

        async def in_our_form(message: Message) -> None:
            nonlocal refusal
            if message["type"] == "http.response.start" and message["status"] >= 400:
                refusal = _no_such_stream(message["status"])
            if refusal is None:
                await send(message)

        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the stream ended in the meantime
            await self._transport.handle_post_message(scope, receive, in_our_form)
        if refusal is not None:
            await refusal(scope, receive, send)


def _no_such_stream(status: int) -> Response:
    """Return the refusal of a message that is posted to no open stream, for which the SDK has a text of its own."""
    if status == 404:
        return status_reply(404, "not_found", "there is no such stream, or it has ended; open another with GET /sse")
    return status_reply(status, "invalid_input", "'session_id' is missing or malformed; GET /sse says where to post")


class _Requests(IncomingStream):
    """Messages posted to an SSE stream; held back while many of its requests are unanswered."""

    def __init__(self, posted: Any, unanswered: Unanswered) -> None:
        self._posted = posted
        self._unanswered = unanswered

    async def aclose(self) -> None:
        """Close the stream."""
        await self._posted.aclose()

    @property
    def last_context(self) -> Context | None:
        """The context in which the last message was posted, for the SDK."""
        context: Context | None = self._posted.last_context
        return context

    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next message, when the connection has room for it."""
        item: SessionMessage | Exception = await anext(self._posted)
        if isinstance(item, SessionMessage) and isinstance(item.metadata, ServerMessageMetadata):
            item.metadata.on_request_unanswered = await self._unanswered.note_received(item.message)
        return item


class _Answers(MessageStream):
    """Messages sent on an SSE stream; a delivered answer makes room for another request."""

    def __init__(self, stream: Any, unanswered: Unanswered) -> None:
        self._stream = stream
        self._unanswered = unanswered

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        await self._stream.send(item)
        self._unanswered.note_sent(item.message)
