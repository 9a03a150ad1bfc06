"""MCP over any bidirectional text channel: standard input and output, or a WebSocket.

The SDK's server reads and writes the connection directly, without tasks and queues in between.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Self

import anyio
import orjson
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage

from stackroom.serve.caller import Caller
from stackroom.serve.frames import BadFrameError, UnaskedAnswerError, read_frame, require_served_revision

Receive = Callable[[], Awaitable[bytes | str | None]]
"""Returns the next message, or None at the end."""
Send = Callable[[str], Awaitable[None]]
"""Sends a message to the client."""


async def serve_messages(
    server: Server[Any], receive: Receive, send: Send, caller: Callable[[], Awaitable[Caller]]
) -> None:
    """Serve until there are no more messages; `caller` is called for each message, since rights may change."""
    outgoing = _Outgoing(send)
    incoming = _Incoming(receive, caller, refuse=outgoing.send_text)
    with outgoing.scope:
        await server.run(incoming, outgoing, server.create_initialization_options())
    if outgoing.failure is not None:
        raise outgoing.failure


class _Stream:
    """The interface that the SDK needs of both directions of a connection, which its transport closes."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Do nothing."""


class _Incoming(_Stream):
    """The client's messages, parsed strictly, each with its caller."""

    def __init__(self, receive: Receive, caller: Callable[[], Awaitable[Caller]], *, refuse: Send) -> None:
        self._receive = receive
        self._caller = caller
        self._refuse = refuse

    def __aiter__(self) -> Self:
        return self

    async def receive(self) -> SessionMessage:
        """Return the next message, or raise EndOfStream."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def __anext__(self) -> SessionMessage:
        """Return the next message; malformed ones are answered here."""
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
            return SessionMessage(message, metadata=ServerMessageMetadata(request_context=await self._caller()))
        raise StopAsyncIteration


class _Outgoing(_Stream):
    """Sends answers to the client, one after the other; a failure ends serving."""

    def __init__(self, send: Send) -> None:
        self.scope = anyio.CancelScope()
        self.failure: OSError | None = None
        self._send = send
        self._turn = asyncio.Lock()

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        async with self._turn:
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
