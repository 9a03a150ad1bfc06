"""The gate as transports ask it from the event loop: in threads, and only where there is work to do."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from pinakes.errors import OverloadedError, RateLimitedError
from pinakes.gate.answer import Answer
from pinakes.gate.gate import CallContext, Completions, Gate, PendingCall
from pinakes.model.principal import Principal
from pinakes.serve.caller import Caller
from pinakes.serve.caller_limits import RefusalThrottle
from pinakes.serve.workers import Workers
from pinakes.tools.resource import ResourceContent

LOADING = "loading"
"""In whose name the gate is waited for."""

ResultT = TypeVar("ResultT")


class AsyncGate:
    """Asks the gate. What there is no room for is noted like everything."""

    def __init__(
        self,
        gate: Callable[[], Gate],
        workers: Workers,
        *,
        is_loaded: Callable[[], bool] = lambda: False,
        throttle: RefusalThrottle | None = None,
    ) -> None:
        """`gate` gives the gate, and blocks while that is loading; where it `is_loaded` it is known not to.

        `brake` is told who asks too often.
        """
        self._gate = gate
        self._is_loaded = is_loaded
        self._loaded: Gate | None = None
        self._workers = workers
        self._brake = throttle or RefusalThrottle()

    async def run(
        self, principal: Principal, work: Callable[[Gate], ResultT], noted: CallContext | None = None
    ) -> ResultT:
        """Have the gate do something for somebody; `noted` is what the gate notes it as, if it does."""
        gate = await self._load()
        return await self._work(gate, lambda: work(gate), of=principal.name, noted=noted)

    async def perform(self, ask: CallContext, work: Callable[[Gate], ResultT]) -> ResultT:
        """Do something that is neither a tool nor a resource, such as a login."""
        return await self.run(ask.principal, lambda gate: gate.perform(ask, lambda: work(gate)), ask)

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool. What is refused, or was asked before, needs no work, and so no thread."""
        try:
            return await self._ask(
                caller, lambda gate: gate.begin_call(caller.principal, name, arguments, via=caller.via)
            )
        except OverloadedError as error:
            return Answer.of_error(error)

    async def read(self, caller: Caller, uri: str) -> ResourceContent:
        """Return what stands at an address."""
        return await self._ask(caller, lambda gate: gate.begin_read(caller.principal, uri, via=caller.via))

    async def complete(
        self, caller: Caller, template: str, variable: str, typed: str, others: Mapping[str, str]
    ) -> Completions:
        """Return values for a variable of a template that begin like what was typed."""
        return await self._ask(
            caller,
            lambda gate: gate.begin_completion(caller.principal, template, variable, typed, others, via=caller.via),
        )

    async def _ask(self, caller: Caller, begin: Callable[[Gate], PendingCall[ResultT]]) -> ResultT:
        """Begin something, and finish it."""
        gate, name = await self._load(), caller.principal.name
        try:
            begun = begin(gate)
        except RateLimitedError:
            self._brake.note(name, is_refused=True)
            raise
        self._brake.note(name, is_refused=_is_refusal(begun.answer))
        if begun.answer is not None:
            return begun.answer
        if begun.is_instant:
            return begun.finish()
        return await self._work(gate, begun.finish, of=name, noted=begun.ask, waits=begun.waits)

    async def _work(
        self, gate: Gate, work: Callable[[], ResultT], *, of: str, noted: CallContext | None, waits: bool = False
    ) -> ResultT:
        """Do something in a thread; where there is no room for it, note that."""
        try:
            return await self._workers.run(work, of=of, waits=waits)
        except OverloadedError as error:
            if noted:
                await self._workers.run_aside(partial(gate.refuse, noted, error))
            raise

    async def _load(self) -> Gate:
        """Return the gate; where it is still loading, wait for it in a thread."""
        if self._loaded is None:
            is_there = self._is_loaded()
            self._loaded = self._gate() if is_there else await self._workers.run(self._gate, of=LOADING)
        return self._loaded


def _is_refusal(answer: object) -> bool:
    return isinstance(answer, Answer) and isinstance(answer.error, RateLimitedError)
