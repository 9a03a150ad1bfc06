"""Request bodies: read only when the caller is known, and bounded all together.

A body counts until its request is answered, or its stream begins. Bodies of unauthenticated callers have a memory
budget of their own, so that they cannot take the room of others.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.errors import ExpectedError, OverloadedError, SlowBodyError, TooLargeError
from stackroom.serve.frames import MAX_FRAME_BYTES
from stackroom.serve.http.replies import error_reply

BODY_TIMEOUT_S = 20.0
"""The time limit for a request's body, from the first time that it is read."""
SMALL_BODY = 16 * 1024
"""A limit for bodies of unauthenticated callers, and for those that are always small."""
STRANGERS_BYTES = 8 * 1024 * 1024
"""The most bytes of bodies of unauthenticated callers together."""
CALLERS_BYTES = 48 * 1024 * 1024
"""The most bytes of bodies of authenticated callers together."""

CLOSING = {"Connection": "close"}
_BODILESS = ("GET", "HEAD", "OPTIONS")

Refuse = Callable[[ExpectedError, Mapping[str, str]], Response]
"""Makes the answer to a request whose body is not taken."""


class MemoryBudget:
    """A bounded number of bytes that many requests hold together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0

    def take(self, size: int) -> None:
        """Take a part of it; raise OverloadedError where too little is left."""
        if self.held + size > self._most:
            raise OverloadedError("too many requests with large bodies are being read; try again in a moment")
        self.held += size


class Bodies:
    """The memory budgets that the bodies of all requests have."""

    def __init__(self, *, of_strangers: int = STRANGERS_BYTES, of_callers: int = CALLERS_BYTES) -> None:
        self.of_strangers = MemoryBudget(of_strangers)
        self.of_callers = MemoryBudget(of_callers)


class _HeldBody:
    """The bytes of one body that count against a memory budget."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._size = 0

    def grow(self, size: int) -> None:
        self._budget.take(size)
        self._size += size

    def release(self) -> None:
        self._budget.held -= self._size
        self._size = 0


class WithBody:
    """ASGI: passes on a request with its whole body; refuses one that is too large, or for which there is no room."""

    def __init__(
        self,
        app: ASGIApp,
        bodies: Bodies,
        *,
        most_bytes: int = MAX_FRAME_BYTES,
        is_public: bool = False,
        refuse: Refuse = error_reply,
    ) -> None:
        """`is_public` says that callers are not authenticated before this."""
        self._app = app
        self._budget = bodies.of_strangers if is_public else bodies.of_callers
        self._most_bytes = most_bytes
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, and pass the request on; the bytes count until it is answered, or its stream begins."""
        held = _HeldBody(self._budget)
        try:
            with suppress(_DisconnectedError):
                await self._pass_on(scope, receive, send, held)
        finally:
            held.release()

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, held: _HeldBody) -> None:
        try:
            with anyio.fail_after(BODY_TIMEOUT_S):
                body = await self._read(scope, receive, held)
        except TimeoutError:
            slow = SlowBodyError(f"the body did not come within {BODY_TIMEOUT_S:.0f} seconds; send it at once")
            await self._refuse(slow, CLOSING)(scope, receive, send)
            return
        except ExpectedError as error:
            await self._refuse(error, CLOSING)(scope, receive, send)
            return

        async def releasing(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_stream(message):
                held.release()
            await send(message)

        whole: Message = {"type": "http.request", "body": body, "more_body": False}
        await self._app(scope, once_more(whole, receive), releasing)

    async def _read(self, scope: Scope, receive: Receive, held: _HeldBody) -> bytes:
        """Return the body; raise TooLargeError at its declared length, or as soon as it exceeds the limit."""
        if scope["method"] in _BODILESS:
            return b""
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared[:12]) > self._most_bytes:
            raise self._too_large()
        body, has_more = bytearray(), True  # a list of parts would take 50 times the memory where each is a byte
        while has_more:
            part, has_more = await _next_part(receive)
            body += part
            if len(body) > self._most_bytes:
                raise self._too_large()
            held.grow(len(part))
        return bytes(body)

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"a body is at most {self._most_bytes} bytes long here")


def _is_stream(start: Message) -> bool:
    """Tell whether an answer is a stream, which stays open long after its request was read."""
    return Headers(raw=start.get("headers", [])).get("content-type", "").startswith("text/event-stream")


class _DisconnectedError(Exception):
    """The client disconnected before the body was complete."""


async def _next_part(receive: Receive) -> tuple[bytes, bool]:
    """Return the next part of a body, and whether there are more."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise _DisconnectedError
    return message.get("body", b""), message.get("more_body", False)


def once_more(message: Message, receive: Receive) -> Receive:
    """Return a `receive` that first repeats a message."""
    waiting = [message]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
