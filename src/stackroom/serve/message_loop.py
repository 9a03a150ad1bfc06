"""MCP over any bidirectional text channel: standard input and output, or a WebSocket.

The SDK's server reads and writes the connection directly, without tasks and queues in between.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Self

import anyio
import orjson
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from stackroom.serve.async_gate import Caller
from stackroom.serve.frames import BadFrameError, UnaskedAnswerError, read_frame, require_served_revision

MOST_UNANSWERED = 16
"""The most unanswered requests of a connection; while there are as many, no more are read.

The limit is per connection: a caller who stops reading one connection is still served on another.
"""

Receive = Callable[[], Awaitable[bytes | str | None]]
"""Returns the next message, or None at the end."""
Send = Callable[[str], Awaitable[None]]
"""Sends a message to the client."""


async def serve_messages(
    server: Server[Any], receive: Receive, send: Send, caller: Callable[[], Awaitable[Caller]]
) -> None:
    """Serve until there are no more messages; `caller` is called for each message, since rights may change."""
    unanswered = Unanswered()
    outgoing = _Outgoing(send, unanswered)
    incoming = _Incoming(receive, caller, unanswered, refuse=outgoing.send_text)
    with outgoing.scope:
        await server.run(incoming, outgoing, server.create_initialization_options())
    if outgoing.failure is not None:
        raise outgoing.failure


class MessageStream:
    """The interface that the SDK needs of both directions of a connection."""

    async def aclose(self) -> None:
        """Do nothing: the transport that opened the connection closes it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class IncomingStream(MessageStream, ABC):
    """The interface that the SDK needs of the direction that it reads."""

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next message."""

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or raise EndOfStream."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _Incoming(IncomingStream):
    """The client's messages, parsed strictly, each with its caller."""

    def __init__(
        self, receive: Receive, caller: Callable[[], Awaitable[Caller]], unanswered: "Unanswered", *, refuse: Send
    ) -> None:
        self._receive = receive
        self._caller = caller
        self._unanswered = unanswered
        self._refuse = refuse

    async def __anext__(self) -> SessionMessage:
        """Return the next message, when the connection has room for it; malformed ones are answered here."""
        while (raw := await self._receive()) is not None:
            try:
                message = read_frame(raw)
                require_served_revision(message)
            except UnaskedAnswerError:
                continue
            except BadFrameError as error:
                with suppress(anyio.BrokenResourceError):  # the connection has failed, and serving ends
                    await self._refuse(error.body)
                continue
            on_cancelled = await self._unanswered.note_received(message)
            metadata = ServerMessageMetadata(request_context=await self._caller(), on_request_unanswered=on_cancelled)
            return SessionMessage(message, metadata=metadata)
        raise StopAsyncIteration


class _Outgoing(MessageStream):
    """Sends answers to the client, one after the other; a failure ends serving."""

    def __init__(self, send: Send, unanswered: "Unanswered") -> None:
        self.scope = anyio.CancelScope()
        self.failure: OSError | None = None
        self._send = send
        self._unanswered = unanswered
        self._turn = asyncio.Lock()

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        async with self._turn:
            self._unanswered.note_sent(item.message)
            await self._send_now(_encoded(item.message))

    async def send_text(self, text: str) -> None:
        """Send a text, in turn with the messages."""
        async with self._turn:
            await self._send_now(text)

    async def _send_now(self, text: str) -> None:
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
            return orjson.dumps({"jsonrpc": "2.0", "id": message.id, "result": message.result}).decode()
    return message.model_dump_json(by_alias=True, exclude_unset=True)


class Unanswered:
    """The unanswered requests of a connection, as a bounded count."""

    def __init__(self) -> None:
        self._ids: Counter[types.RequestId | None] = Counter()
        self._room = MOST_UNANSWERED
        self._has_moved = anyio.Event()

    async def note_received(self, message: types.JSONRPCMessage) -> Callable[[], Awaitable[None]] | None:
        """Wait for room for a request; requests with the same id count separately.

        Return the callback that the SDK calls when the request is cancelled, and so ends without an answer.
        """
        if not isinstance(message, types.JSONRPCRequest):
            return None
        while not self._room:
            self._has_moved = anyio.Event()
            await self._has_moved.wait()
        request_id = message.id
        self._room -= 1
        self._ids[request_id] += 1

        async def on_cancelled() -> None:
            self._make_room(request_id)

        return on_cancelled

    def note_sent(self, message: types.JSONRPCMessage) -> None:
        """Make room where the message is a response."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._make_room(message.id)

    def _make_room(self, request_id: types.RequestId | None) -> None:
        waiting = self._ids[request_id]
        if waiting > 1:
            self._ids[request_id] = waiting - 1
        else:
            del self._ids[request_id]
        if waiting:
            self._room += 1
            self._has_moved.set()
