"""The gate as transports ask it from the event loop: in threads, and only where there is work to do."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from pinakes.errors import OverloadedError
from pinakes.gate.answer import Answer
from pinakes.gate.gate import Ask, Gate
from pinakes.model.principal import Principal
from pinakes.serve.caller import Caller
from pinakes.serve.workers import Workers

LOADING = "loading"
"""In whose name the gate is waited for."""

ResultT = TypeVar("ResultT")


class AsyncGate:
    """Asks the gate. What there is no room for is noted like everything."""

    def __init__(
        self, gate: Callable[[], Gate], workers: Workers, *, is_loaded: Callable[[], bool] = lambda: False
    ) -> None:
        """`gate` gives the gate, and blocks while that is loading; where it `is_loaded` it is known not to."""
        self._gate = gate
        self._is_loaded = is_loaded
        self._loaded: Gate | None = None
        self._workers = workers

    async def run(
        self, principal: Principal, work: Callable[[Gate], ResultT], noted: Ask | None = None, *, waits: bool = False
    ) -> ResultT:
        """Have the gate do something for somebody."""
        gate = await self._load()
        try:
            return await self._workers.run(lambda: work(gate), of=principal.name, waits=waits)
        except OverloadedError as error:
            if noted:
                await self._workers.run_aside(partial(gate.refuse, noted, error))
            raise

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Call a tool. A refusal needs no work, and so no thread."""
        principal, via = caller.principal, caller.via
        noted = Ask(principal=principal, via=via, operation="tools/call", target=name, parameters=arguments)
        try:
            gate = await self._load()
            begun = gate.begin_call(principal, name, arguments, via=via)
            if begun.answer is not None:
                return begun.answer
            if begun.is_instant:
                return begun.finish()
            return await self.run(principal, lambda _gate: begun.finish(), noted, waits=begun.waits)
        except OverloadedError as error:
            return Answer.of_error(error)

    async def _load(self) -> Gate:
        """Return the gate; where it is still loading, wait for it in a thread."""
        if self._loaded is None:
            is_there = self._is_loaded()
            self._loaded = self._gate() if is_there else await self._workers.run(self._gate, of=LOADING)
        return self._loaded
