"""Every stream that is open (SSE, WebSocket, the GET of Streamable HTTP), so that it can be ended.

A stream outlives the request that opened it. So its right to be there is looked at again and again, and when the server
ends, streams are told.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pinakes.errors import OverloadedError
from pinakes.model.principal import Identity
from pinakes.serve.http.authenticate import IDENTITY
from pinakes.serve.http.replies import JSONReply, error_reply


@dataclass(eq=False, slots=True)
class Stream:
    """One open stream. `end` ends it, and `reason` then says why."""

    identity: Identity
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    reason: str = ""

    def end(self, reason: str) -> None:
        """End the stream."""
        self.reason = reason
        self.scope.cancel()


class Streams:
    """The streams that are open now."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Stream] = set()

    def __len__(self) -> int:
        return len(self._open)

    def find_refusal(self) -> JSONReply | None:
        """Return the answer to whoever opens a stream while no more are taken; None while there is room."""
        is_full = len(self._open) >= self._most
        return error_reply(OverloadedError("there are too many open streams")) if is_full else None

    @contextmanager
    def opened(self, identity: Identity) -> Iterator[Stream]:
        """Hold a stream open for a while; what is inside is cancelled when it is ended."""
        stream = Stream(identity)
        self._open.add(stream)
        try:
            with stream.scope:
                yield stream
        finally:
            self._open.discard(stream)

    def end_where(self, is_over: Callable[[Identity], bool], reason: str) -> None:
        """End the streams of identities that are no longer what they were."""
        for stream in list(self._open):
            if is_over(stream.identity):
                stream.end(reason)

    def end_all(self, reason: str) -> None:
        """End every stream."""
        for stream in list(self._open):
            stream.end(reason)

    def identities(self) -> list[Identity]:
        """Return whose streams are open, one for each stream. Other threads ask, while streams come and go."""
        return [stream.identity for stream in list(self._open)]


class Streaming:
    """ASGI: an application that answers with a stream, which is counted, can be ended, and then ends properly."""

    def __init__(self, app: ASGIApp, streams: Streams) -> None:
        self._app = app
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold the stream open until it ends, or is ended."""
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

        with self._streams.opened(scope[IDENTITY]):
            await self._app(scope, receive, watched)
        if has_begun and not is_whole:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
