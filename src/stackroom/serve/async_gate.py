"""The gate for callers on the event loop: work runs in threads, cached and refused calls need none."""

import logging
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from stackroom.errors import ExpectedError, InputError, OverloadedError, RateLimitedError, TooLargeError
from stackroom.gate.answer import Answer
from stackroom.gate.gate import CallContext, Gate, PendingCall
from stackroom.model.principal import Principal
from stackroom.serve.caller import Caller
from stackroom.serve.workers import RefusalThrottle, Workers
from stackroom.tools.instructions import GENERAL
from stackroom.tools.resources.resource import ResourceContent
from stackroom.tools.toolbox import with_plain_names

logger = logging.getLogger(__name__)

MOST_KEPT = 256
WAIT_S = 2.0
"""How long a client that connects is kept waiting for the catalogues, to be told about them."""
THREADS = 4


class Introductions:
    """The instructions of callers; those with the same rights share them."""

    def __init__(self, gate: Callable[[], Gate]) -> None:
        """`gate` returns the gate, and blocks while it loads."""
        self._gate = gate
        self._kept: dict[Hashable, str] = {}
        self._limiter: anyio.CapacityLimiter | None = None

    async def text_for(self, principal: Principal, *, is_plain: bool) -> str:
        """Return a caller's instructions; general ones where the catalogues take long to load, or cannot be."""
        key = (principal.visibility, principal.actions, is_plain)
        with anyio.move_on_after(WAIT_S):
            if key not in self._kept:
                text = await self._make(principal, is_plain=is_plain)
                if text is None:
                    return GENERAL
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = text
            return self._kept[key]
        return GENERAL

    def forget(self) -> None:
        """Forget every text: there are other catalogues now."""
        self._kept.clear()

    async def _make(self, principal: Principal, *, is_plain: bool) -> str | None:
        self._limiter = self._limiter or anyio.CapacityLimiter(THREADS)

        def make() -> str:
            gate = self._gate()
            text = gate.instructions(principal)
            return with_plain_names(text, gate.toolbox_of(principal).plain_names) if is_plain else text

        try:
            return await anyio.to_thread.run_sync(make, abandon_on_cancel=True, limiter=self._limiter)
        except ExpectedError:  # the catalogues could not be loaded, which is reported elsewhere
            return None
        except Exception:
            logger.exception("instructions could not be made")
            return None


LOADING = "loading"
"""The caller name under which worker threads wait for the gate to load."""

ResultT = TypeVar("ResultT")


class AsyncGate:
    """Asynchronous access to the gate; requests that are refused for lack of workers are audited too."""

    def __init__(
        self,
        gate: Callable[[], Gate],
        workers: Workers,
        *,
        is_loaded: Callable[[], bool] = lambda: False,
        throttle: RefusalThrottle | None = None,
    ) -> None:
        """`gate` returns the gate, and blocks while it loads, unless `is_loaded` is true.

        `throttle` is notified of callers who exceed their rate limit.
        """
        self._gate = gate
        self.introductions = Introductions(gate)
        self._is_loaded = is_loaded
        self._loaded: Gate | None = None
        self._workers = workers
        self._throttle = throttle or RefusalThrottle()

    async def run(
        self, principal: Principal, work: Callable[[Gate], ResultT], noted: CallContext | None = None
    ) -> ResultT:
        """Run work with the gate in a thread, for a caller; `noted` is its audit context, if it is audited."""
        gate = await self._load()
        return await self._work(gate, lambda: work(gate), of=principal.name, noted=noted)

    async def perform(self, ask: CallContext, work: Callable[[Gate], ResultT]) -> ResultT:
        """Run an operation that is neither a tool nor a resource, such as a login."""
        return await self.run(ask.principal, lambda gate: gate.perform(ask, lambda: work(gate)), ask)

    async def refuse_invalid(self, ask: CallContext, error: ExpectedError) -> ExpectedError:
        """Count and audit an operation whose input has not its form; return the error that it is answered with."""
        # Another error of the same words: that one refers to the input, and a thread remembers what it worked on.
        words = TooLargeError(error.message) if isinstance(error, TooLargeError) else InputError(error.message)
        return await self.run(ask.principal, lambda gate: gate.refuse_invalid(ask, words), ask)

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool; refused and cached calls are answered without a thread."""
        try:
            return await self._ask(
                caller, lambda gate: gate.begin_call(caller.principal, name, arguments, via=caller.via)
            )
        except OverloadedError as error:
            return Answer.of_error(error)

    async def read(self, caller: Caller, uri: str) -> ResourceContent:
        """Read a resource."""
        return await self._ask(caller, lambda gate: gate.begin_read(caller.principal, uri, via=caller.via))

    async def _ask(self, caller: Caller, begin: Callable[[Gate], PendingCall[ResultT]]) -> ResultT:
        """Begin a call, and finish it: at once, or in a thread."""
        gate, name = await self._load(), caller.principal.name
        try:
            pending = begin(gate)
        except RateLimitedError:
            self._throttle.note(name, is_refused=True)
            raise
        self._throttle.note(name, is_refused=_is_refusal(pending.answer))
        if pending.answer is not None:
            return pending.answer
        if pending.is_instant:
            return pending.finish()
        return await self._work(gate, pending.finish, of=name, noted=pending.context, waits=pending.waits)

    async def _work(
        self, gate: Gate, work: Callable[[], ResultT], *, of: str, noted: CallContext | None, waits: bool = False
    ) -> ResultT:
        """Run work in a thread; audit the refusal where all are busy."""
        try:
            return await self._workers.run(work, of=of, waits=waits)
        except OverloadedError as error:
            if noted:
                await self._workers.run_aside(partial(gate.refuse, noted, error))
            raise

    def find_loaded(self) -> Gate | None:
        """Return the gate if it is loaded, without waiting; None also where it could not be."""
        if self._loaded is None and self._is_loaded():
            with suppress(Exception):  # reported by whoever waits for it
                self._loaded = self._gate()
        return self._loaded

    async def _load(self) -> Gate:
        """Return the gate; wait in a thread while it loads."""
        if self._loaded is None:
            is_there = self._is_loaded()
            self._loaded = self._gate() if is_there else await self._workers.run(self._gate, of=LOADING)
        return self._loaded


def _is_refusal(answer: object) -> bool:
    return isinstance(answer, Answer) and isinstance(answer.error, RateLimitedError)
