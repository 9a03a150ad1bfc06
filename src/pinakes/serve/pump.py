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
from pinakes.serve.lanes import Lanes

Receive = Callable[[], Awaitable[bytes | str | None]]
"""Give the next message; None when there are no more."""
Send = Callable[[str], Awaitable[None]]
"""Carry a message to the other side."""


async def pump(
    server: Server[Any],
    receive: Receive,
    send: Send,
    caller: Callable[[], Awaitable[Caller]],
    *,
    lanes: Lanes,
    name: str,
) -> None:
    """Serve until there are no more messages. `caller` says anew for each message whom it is from.

    A request waits for room in the lane of this name before the next message is read.
    """
    into_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    unanswered = _Unanswered(lanes, name)

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

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            await server.run(incoming, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    finally:
        unanswered.leave_all()


class _Unanswered:
    """The requests of a connection that wait for their answers."""

    def __init__(self, lanes: Lanes, name: str) -> None:
        self._lanes = lanes
        self._name = name
        self._ids: Counter[types.RequestId | None] = Counter()

    async def note_received(self, message: types.JSONRPCMessage) -> None:
        """Wait for room for a request; each needs its own, even where several have the same id."""
        if isinstance(message, types.JSONRPCRequest):
            await self._lanes.enter(self._name)
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
            self._lanes.leave(self._name)
        if not self._ids[request_id]:
            del self._ids[request_id]

    def leave_all(self) -> None:
        """Make room: the connection has ended."""
        for _ in range(self._ids.total()):
            self._lanes.leave(self._name)
        self._ids.clear()
