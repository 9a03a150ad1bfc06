"""MCP over any bidirectional text channel: standard input and output, a WebSocket, or an SSE stream
with its posts.

The SDK's server reads and writes the connection directly, without tasks and queues in between.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import anyio
import orjson
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.inbound import InboundModernRoute, classify_inbound_request
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from stackroom.serve.async_gate import BEGUN, CALLER, DirectCalls
from stackroom.serve.frames import (
    BadFrameError,
    UnaskedAnswerError,
    read_frame,
    require_served_revision,
)
from stackroom.tools.operation import Origin

MOST_UNANSWERED = 16
"""The most unanswered requests of a connection; while there are as many, no more are read.

The limit is per connection: a caller who stops reading one connection is still served on another.
"""

Receive = Callable[[], Awaitable[bytes | str | types.JSONRPCMessage | None]]
"""Returns the next message, or None at the end."""
Send = Callable[[str], Awaitable[None]]
FindCaller = Callable[[], Awaitable[Origin]]


async def serve_messages(
    server: Server[Any], receive: Receive, send: Send, caller: FindCaller
) -> None:
    """Serve until there are no more messages; `caller` is called for each message, since rights may
    change.
    """
    connection = _Connection(send, getattr(server, "direct", None))
    incoming: Any = connection.iter_messages(receive, caller)
    with connection.scope:
        await server.run(incoming, connection, server.create_initialization_options())
    if connection.failure is not None:
        raise connection.failure


class _Connection:
    """A connection as the SDK needs it: messages, and answers one after the other; a failure to
    send ends serving.
    """

    def __init__(self, send: Send, direct: DirectCalls | None) -> None:
        self.scope = anyio.CancelScope()
        self.failure: OSError | None = None
        self._send = send
        self._direct = direct
        self._turn = asyncio.Lock()
        self._room = asyncio.Semaphore(MOST_UNANSWERED)
        self._unanswered: Counter[types.RequestId | None] = Counter()
        """The ids of unanswered requests; those with the same id count separately."""
        self._is_modern: bool | None = None
        """Whether the first request was of a revision without sessions, which the SDK then takes
        all to be.
        """
        self._revision: str | None = None
        """The revision of the session; None before it has begun, and where there is none."""

    async def iter_messages(
        self, receive: Receive, find_caller: FindCaller
    ) -> AsyncGenerator[SessionMessage, None]:
        """Yield the messages for the SDK, each with its caller, when there is room for it."""
        while (raw := await receive()) is not None:
            with suppress(anyio.BrokenResourceError):  # the connection has failed, and serving ends
                try:
                    message = read_frame(raw) if isinstance(raw, bytes | str) else raw
                    require_served_revision(message)
                except UnaskedAnswerError:
                    continue
                except BadFrameError as error:
                    await self._send_text(error.body)
                    continue
                request = await self._pass_on(message, await find_caller())
                if request is not None:
                    on_cancelled = await self._note_received(message)
                    metadata = ServerMessageMetadata(
                        request_context=request, on_request_unanswered=on_cancelled
                    )
                    yield SessionMessage(message, metadata=metadata)

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        message = item.message
        if self._revision is None and isinstance(message, types.JSONRPCResponse):
            self._revision = message.result.get("protocolVersion")
        await self._send_text(_encoded(message))
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            await self._make_room(message.id)

    async def aclose(self) -> None:
        """Do nothing: the transport that opened the connection closes it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    async def _pass_on(
        self, message: types.JSONRPCMessage, caller: Origin
    ) -> SimpleNamespace | None:
        """Return what stands for a message's request, with its scope, for the SDK; None where the
        message is answered.
        """
        scope: dict[str, Any] = {CALLER: caller}
        revision = (
            self._find_revision(message) if isinstance(message, types.JSONRPCRequest) else None
        )
        if revision is not None and self._direct is not None:
            found = await self._direct.answer(caller, message, revision)
            if isinstance(found, bytes):
                await self._send_text(found.decode())
                return None
            scope[BEGUN] = found
        return SimpleNamespace(scope=scope)

    def _find_revision(self, request: types.JSONRPCRequest) -> str | None:
        """Return the revision that a request follows; None where it is the SDK's to say."""
        params = request.params or {}
        meta = params.get("_meta")
        is_modern = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
        if self._is_modern is None:
            self._is_modern = is_modern and request.method != "initialize"
            return None
        route = classify_inbound_request({"params": params}) if is_modern else None
        known = route.protocol_version if isinstance(route, InboundModernRoute) else self._revision
        return known if is_modern == self._is_modern else None

    async def _note_received(
        self, message: types.JSONRPCMessage
    ) -> Callable[[], Awaitable[None]] | None:
        """Wait for room for a request; return what the SDK calls when it ends without an answer."""
        if not isinstance(message, types.JSONRPCRequest):
            return None
        await self._room.acquire()
        self._unanswered[message.id] += 1
        return partial(self._make_room, message.id)

    async def _make_room(self, request_id: types.RequestId | None) -> None:
        if self._unanswered[request_id]:
            self._room.release()
        self._unanswered -= Counter([request_id])

    async def _send_text(self, text: str) -> None:
        """Send a text, in turn with others."""
        async with self._turn:
            if self.failure is not None:
                raise anyio.BrokenResourceError
            try:
                await self._send(text)
            except OSError as error:
                self.failure = error
                self.scope.cancel()
                raise anyio.BrokenResourceError from error


def _encoded(message: types.JSONRPCMessage) -> str:
    """Encode a message; a response is plain JSON values, which orjson encodes faster."""
    if isinstance(message, types.JSONRPCResponse):
        with suppress(TypeError):  # an integer of more than 64 bits, or an unpaired surrogate
            return orjson.dumps(
                {"jsonrpc": "2.0", "id": message.id, "result": message.result}
            ).decode()
    return message.model_dump_json(by_alias=True, exclude_unset=True)
