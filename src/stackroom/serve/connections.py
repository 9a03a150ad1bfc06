"""Open connections, as whom they were last known: streams that can be ended (SSE, WebSocket, the
GET of Streamable HTTP), and clients that are told when their lists of tools change.

A connection outlives the request that opened it. So the rights of its caller are checked
periodically, and streams are closed properly when the server shuts down. Lists change with the
rights of a caller, and when catalogues are added to the library, replaced or removed.
"""

import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from stackroom.model.principal import Identity
from stackroom.serve.async_gate import AsyncGate, Context

logger = logging.getLogger(__name__)

NO_LONGER_VALID = "this credential is no longer valid; connect again"
# codes of RFC 6455 for the end of a WebSocket
NORMAL, GOING_AWAY, POLICY_VIOLATION = 1000, 1001, 1008
TELL_S = 5.0  # the time limit for telling one connection

Tell = Callable[[], Coroutine[Any, Any, None]]


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


@dataclass(eq=False, slots=True)
class _Subscriber:
    """A client, as whom it was last known, and the way to tell it."""

    identity: Identity
    tell: Tell


ConnectionT = TypeVar("ConnectionT", OpenStream, _Subscriber)


class _Connections(Generic[ConnectionT]):
    """Those that are open."""

    def __init__(self) -> None:
        self._open: set[ConnectionT] = set()

    @contextmanager
    def _kept(self, connection: ConnectionT) -> Iterator[ConnectionT]:
        self._open.add(connection)
        try:
            yield connection
        finally:
            self._open.discard(connection)

    def identities(self) -> list[Identity]:
        """Return the identity of each connection; safe to call from other threads."""
        return [one.identity for one in list(self._open)]


class Streams(_Connections[OpenStream]):
    """The open streams, up to a maximum."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for one more."""
        return len(self._open) >= self._most

    @contextmanager
    def opened(self, identity: Identity) -> Iterator[OpenStream]:
        """Register a stream while the block runs; ending the stream cancels the block."""
        with self._kept(OpenStream(identity)) as stream, stream.scope:
            yield stream

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


class ListChanges(_Connections[_Subscriber]):
    """The clients to tell when their lists change."""

    @contextmanager
    def subscribed(self, identity: Identity, tell: Tell) -> Iterator[None]:
        """Tell a client of changes while the block runs."""
        with self._kept(_Subscriber(identity, tell)):
            yield

    def subscribe_session(self, identity: Identity, context: Context) -> None:
        """Add the connection of a session that was initialized (up to 2025-11-25) until it
        closes.
        """
        # The SDK means cleanup to be pushed on this stack, and gives requests no other way to it.
        subscribed = self.subscribed(identity, context.session.send_tool_list_changed)
        context.session._connection.exit_stack.enter_context(subscribed)

    async def listen(
        self,
        identity: Identity,
        context: Context,
        params: types.SubscriptionsListenRequestParams,
    ) -> types.SubscriptionsListenResult:
        """Serve `subscriptions/listen` (from 2026-07-28) until the client ends it; only changes of
        lists are sent.
        """
        bus = InMemorySubscriptionBus()
        served = types.SubscriptionFilter(
            tools_list_changed=params.notifications.tools_list_changed
        )
        with self.subscribed(identity, partial(bus.publish, ToolsListChanged())):
            return await ListenHandler(bus)(
                context, params.model_copy(update={"notifications": served})
            )

    def tell_all(self) -> list[Tell]:
        """Return how to tell each client, for a change that concerns every caller."""
        return [partial(_tell, one) for one in list(self._open)]

    def note_changed(self, changes: Mapping[Identity, Identity | None]) -> list[Tell]:
        """Note who is connected now, and forget those whose credential is no longer valid.

        Return how to tell each client whose lists changed. That may take as long as the client
        does not read, so nothing should wait for it.
        """
        told: list[Tell] = []
        for one in list(self._open):
            if one.identity not in changes:
                continue
            now = changes[one.identity]
            if now is None:
                self._open.discard(one)
            else:
                one.identity = now
                told.append(partial(_tell, one))
        return told


async def _tell(subscriber: _Subscriber) -> None:
    """Tell a connection; one that is closing, or does not read, is left alone."""
    try:
        with anyio.move_on_after(TELL_S):
            await subscriber.tell()
    except Exception as error:  # the connection ended meanwhile, in one of many ways
        logger.debug("a connection was not told that its lists changed: %s", error)


LOOK_S = 0.5
"""The interval at which the library is looked at; up to four times as long where a look takes more
than 1/500.
"""


async def watch_library(gate: AsyncGate, lists: ListChanges) -> None:
    """Follow the library from when the gate is loaded, and tell every connection when its lists
    change.
    """
    async with anyio.create_task_group() as telling:
        took_s = 0.0
        while True:
            await anyio.sleep(max(LOOK_S, min(500 * took_s, 4 * LOOK_S)))
            loaded, started = gate.find_loaded(), time.perf_counter()
            try:
                is_changed = loaded is not None and await anyio.to_thread.run_sync(loaded.refresh)
            except Exception:  # the catalogues that are open go on being served
                logger.exception("the library could not be looked at")
                continue
            took_s = time.perf_counter() - started
            if is_changed:
                for tell in lists.tell_all():
                    telling.start_soon(tell)
