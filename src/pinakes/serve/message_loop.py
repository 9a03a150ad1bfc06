"""MCP over anything that carries texts both ways: standard input and output, a WebSocket.

The server reads from the connection and writes to it by itself, without tasks and queues of ours in between.
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
from mcp.server import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from pinakes.serve.caller import Caller
from pinakes.serve.frames import BadFrameError, read_frame

MOST_UNANSWERED = 16
"""How many requests of one connection may wait for their answers; until there is one, no more are read.

It is for each connection, not for each caller: who does not read on one must not be kept waiting on another.
"""

Receive = Callable[[], Awaitable[bytes | str | None]]
"""Give the next message; None when there are no more."""
Send = Callable[[str], Awaitable[None]]
"""Carry a message to the other side."""


async def pump(server: Server[Any], receive: Receive, send: Send, caller: Callable[[], Awaitable[Caller]]) -> None:
    """Serve until there are no more messages. `caller` says anew for each message whom it is from."""
    unanswered = Unanswered()
    outgoing = _Outgoing(send, unanswered)
    incoming = _Incoming(receive, caller, unanswered, refuse=outgoing.send_text)
    with outgoing.scope:
        await server.run(incoming, outgoing, server.create_initialization_options())
    if outgoing.failure is not None:
        raise outgoing.failure


class Stream:
    """What the SDK wants of both directions of a connection."""

    async def aclose(self) -> None:
        """Do nothing: whoever opened the connection closes it."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()


class IncomingStream(Stream, ABC):
    """What the SDK wants of the direction that it reads."""

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next message."""

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message, or raise that there are no more."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None


class _Incoming(IncomingStream):
    """The messages of the other side, strictly read, each with whom it is from."""

    def __init__(
        self, receive: Receive, caller: Callable[[], Awaitable[Caller]], unanswered: "Unanswered", *, refuse: Send
    ) -> None:
        self._receive = receive
        self._caller = caller
        self._unanswered = unanswered
        self._refuse = refuse

    async def __anext__(self) -> SessionMessage:
        """Return the next message, when there is room for it; what is none is answered here."""
        while (raw := await self._receive()) is not None:
            try:
                message = read_frame(raw)
            except BadFrameError as error:
                with suppress(anyio.BrokenResourceError):  # then all of it ends
                    await self._refuse(error.body)
                continue
            given_up = await self._unanswered.note_received(message)
            metadata = ServerMessageMetadata(request_context=await self._caller(), on_request_unanswered=given_up)
            return SessionMessage(message, metadata=metadata)
        raise StopAsyncIteration


class _Outgoing(Stream):
    """Carries answers to the other side, one after the other. When one cannot be carried, serving ends."""

    def __init__(self, send: Send, unanswered: "Unanswered") -> None:
        self.scope = anyio.CancelScope()
        self.failure: OSError | None = None
        self._send = send
        self._unanswered = unanswered
        self._turn = asyncio.Lock()

    async def send(self, item: SessionMessage) -> None:
        """Carry a message."""
        async with self._turn:
            self._unanswered.note_sent(item.message)
            await self._carry(_encoded(item.message))

    async def send_text(self, text: str) -> None:
        """Carry a text, in turn with the messages."""
        async with self._turn:
            await self._carry(text)

    async def _carry(self, text: str) -> None:
        if self.failure is not None:
            raise anyio.BrokenResourceError
        try:
            await self._send(text)
        except OSError as error:
            self.failure = error
            self.scope.cancel()
            raise anyio.BrokenResourceError from error


def _encoded(message: types.JSONRPCMessage) -> str:
    """Return a message as JSON. An answer is all JSON values by now, which has a quicker way."""
    if isinstance(message, types.JSONRPCResponse):
        with suppress(TypeError):  # of a number of more than 64 bits, or a text that is none
            return orjson.dumps({"jsonrpc": "2.0", "id": message.id, "result": message.result}).decode()
    return message.model_dump_json(by_alias=True, exclude_unset=True)


class Unanswered:
    """The requests of a connection that wait for their answers."""

    def __init__(self) -> None:
        self._ids: Counter[types.RequestId | None] = Counter()
        self._room = MOST_UNANSWERED
        self._has_moved = anyio.Event()

    async def note_received(self, message: types.JSONRPCMessage) -> Callable[[], Awaitable[None]] | None:
        """Wait for room for a request; each needs its own, even where several have the same id.

        Return what the SDK is to call when the request ends without an answer, because it was cancelled.
        """
        if not isinstance(message, types.JSONRPCRequest):
            return None
        while not self._room:
            self._has_moved = anyio.Event()
            await self._has_moved.wait()
        request_id = message.id
        self._room -= 1
        self._ids[request_id] += 1

        async def make_room() -> None:
            self._leave(request_id)

        return make_room

    def note_sent(self, message: types.JSONRPCMessage) -> None:
        """Make room where this is an answer."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._leave(message.id)

    def _leave(self, request_id: types.RequestId | None) -> None:
        waiting = self._ids[request_id]
        if waiting > 1:
            self._ids[request_id] = waiting - 1
        else:
            del self._ids[request_id]
        if waiting:
            self._room += 1
            self._has_moved.set()
