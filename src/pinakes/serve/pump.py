"""MCP over anything that carries texts both ways: standard input and output, a WebSocket."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
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
    into_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    unanswered = _Unanswered()

    async def read() -> None:
        async with into_server:
            while (raw := await receive()) is not None:
                try:
                    message = read_frame(raw)
                except BadFrameError as error:
                    await send(error.body)
                    continue
                await unanswered.note_received(message)
                metadata = ServerMessageMetadata(
                    request_context=await caller(), on_request_unanswered=unanswered.given_up(message)
                )
                await into_server.send(SessionMessage(message, metadata=metadata))

    async def write() -> None:
        async with from_server:
            async for session_message in from_server:
                unanswered.note_sent(session_message.message)
                await send(session_message.message.model_dump_json(by_alias=True, exclude_unset=True))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


class _Unanswered:
    """The requests of a connection that wait for their answers."""

    def __init__(self) -> None:
        self._room = anyio.Semaphore(MOST_UNANSWERED)
        self._ids: Counter[types.RequestId | None] = Counter()

    async def note_received(self, message: types.JSONRPCMessage) -> None:
        """Wait for room for a request; each needs its own, even where several have the same id."""
        if isinstance(message, types.JSONRPCRequest):
            await self._room.acquire()
            self._ids[message.id] += 1

    def given_up(self, message: types.JSONRPCMessage) -> Callable[[], Awaitable[None]]:
        """Return what the SDK calls when a request ends without an answer, because it was cancelled."""

        async def make_room() -> None:
            if isinstance(message, types.JSONRPCRequest):
                self._leave(message.id)

        return make_room

    def note_sent(self, message: types.JSONRPCMessage) -> None:
        """Make room where this is an answer."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._leave(message.id)

    def _leave(self, request_id: types.RequestId | None) -> None:
        if self._ids[request_id]:
            self._ids[request_id] -= 1
            self._room.release()
        if not self._ids[request_id]:
            del self._ids[request_id]
