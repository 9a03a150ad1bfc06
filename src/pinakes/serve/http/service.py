"""Dependencies of the HTTP endpoints."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pinakes.control.control import Control
from pinakes.gate.gate import Gate
from pinakes.serve.async_gate import AsyncGate
from pinakes.serve.http.authenticate import Authenticator
from pinakes.serve.http.bodies import Bodies
from pinakes.serve.http.invalid_requests import InvalidRequests
from pinakes.serve.http.metrics import Metrics
from pinakes.serve.http.streams import Streams
from pinakes.serve.workers import Workers
from pinakes.settings import Settings
from pinakes.tools.endpoint import Endpoint


@dataclass(slots=True, kw_only=True)
class Phase:
    """The server's lifecycle: it listens before the catalogues are loaded, and drains before it stops."""

    is_loaded: bool = False
    is_ending: bool = False
    load_problem: str | None = None
    """The reason why loading failed; it is not tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The gate, and what the endpoints need beside it."""

    settings: Settings
    gate: AsyncGate
    loaded_gate: Callable[[], Gate]
    """Returns the gate; blocks until it is loaded, so do not call it on the event loop before `phase.is_loaded`."""
    control: Control | None
    """Accounts and audit; None on a server without accounts."""
    authenticator: Authenticator
    workers: Workers
    streams: Streams
    metrics: Metrics
    find_problems: Callable[[], dict[str, str]]
    """Returns the reason for each degraded part (`embedding`, `reranking`, `catalogue NAME`)."""
    endpoints: Sequence[Endpoint] = ()
    """Endpoints that catalogue packages bring."""
    bodies: Bodies = field(default_factory=Bodies)
    """The bounds on the memory of request bodies."""
    invalid: InvalidRequests = field(init=False)
    """Audits requests that have not their form."""
    phase: Phase = field(default_factory=Phase)
    started_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Make what follows from the gate."""
        object.__setattr__(self, "invalid", InvalidRequests(self.gate))
