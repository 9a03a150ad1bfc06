"""What the endpoints of the one port work with."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from pinakes.control.control import Control
from pinakes.errors import OverloadedError
from pinakes.gate.gate import Ask, Gate
from pinakes.serve.http.authenticate import Authenticator
from pinakes.serve.http.metrics import Metrics
from pinakes.serve.http.streams import Streams
from pinakes.serve.workers import Workers
from pinakes.settings import Settings

ResultT = TypeVar("ResultT")


@dataclass(slots=True, kw_only=True)
class Phase:
    """Where the server is in its life: it listens before the catalogues are loaded, and ends before it stops."""

    is_loaded: bool = False
    is_ending: bool = False
    load_problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The gate, and everything that stands around it."""

    settings: Settings
    gate: Callable[[], Gate]
    """Gives the gate, when it is loaded; until then it blocks, so never on the event loop before `phase.is_loaded`."""
    control: Control | None
    """Accounts and audit; None where everybody is the local user."""
    authenticator: Authenticator
    workers: Workers
    streams: Streams
    metrics: Metrics
    find_problems: Callable[[], dict[str, str]]
    """What is degraded and why, by part (`embedding`, `reranking`, `catalogue NAME`); empty where all is well."""
    phase: Phase = field(default_factory=Phase)
    started_at: float = field(default_factory=time.monotonic)

    async def run(self, work: Callable[[Gate], ResultT], noted: Ask | None = None) -> ResultT:
        """Have the gate do something; where there is no room for it, that is noted like everything."""
        try:
            return await self.workers.run(lambda: work(self.gate()))
        except OverloadedError as error:
            if noted and self.phase.is_loaded:
                await self.workers.run_aside(partial(self.gate().refuse, noted, error))
            raise
