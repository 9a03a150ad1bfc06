"""Open streams (SSE, WebSocket, the GET of Streamable HTTP), so that they can be ended.

A stream outlives the request that opened it. So the rights of its caller are checked periodically,
and streams are closed properly when the server shuts down.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.errors import OverloadedError
from stackroom.model.principal import Identity
from stackroom.serve.async_gate import CALLER
from stackroom.serve.http.replies import JSONReply, error_reply

NO_LONGER_VALID = "this credential is no longer valid; connect again"
# codes of RFC 6455 for the end of a WebSocket
NORMAL, GOING_AWAY, POLICY_VIOLATION = 1000, 1001, 1008


@dataclass(eq=False, slots=True)
class OpenStream:
    """One open stream; `code` and `reason` say why it was ended."""

    identity: Identity
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    code: int = NORMAL
    reason: str = ""

    def end(self, code: int, reason: str) -> None:
        """End the stream; the first reason counts."""
        if not self.reason:
            self.code, self.reason = code, reason
        self.scope.cancel()


class Streams:
    """The open streams, up to a maximum."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[OpenStream] = set()

    def __len__(self) -> int:
        return len(self._open)

    def find_refusal(self) -> JSONReply | None:
        """Return the refusal of one more stream; None while there is room."""
        is_full = len(self._open) >= self._most
        return error_reply(OverloadedError("there are too many open streams")) if is_full else None

    @contextmanager
    def opened(self, identity: Identity) -> Iterator[OpenStream]:
        """Register a stream while the block runs; ending the stream cancels the block."""
        stream = OpenStream(identity)
        self._open.add(stream)
        try:
            with stream.scope:
                yield stream
        finally:
            self._open.discard(stream)

    def note_changed(self, changes: Mapping[Identity, Identity | None]) -> None:
        """Note who the callers of open streams are now, and end the streams of those who may no
        longer be there.
        """
        for stream in list(self._open):
            now = changes.get(stream.identity, stream.identity)
            if now is None:
                stream.end(POLICY_VIOLATION, NO_LONGER_VALID)
            else:
                stream.identity = now

    def end_all(self, reason: str) -> None:
        """End every stream."""
        for stream in list(self._open):
            stream.end(GOING_AWAY, reason)

    def identities(self) -> list[Identity]:
        """Return the identity of each open stream; safe to call from other threads."""
        return [stream.identity for stream in list(self._open)]


class Streaming:
    """ASGI: registers the stream that an application answers with, and completes it when it is
    ended.
    """

    def __init__(self, app: ASGIApp, streams: Streams) -> None:
        self._app = app
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the stream ends, or is ended."""
        refusal = self._streams.find_refusal()
        if refusal is not None:
            await refusal(scope, receive, send)
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
