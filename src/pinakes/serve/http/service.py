"""What the endpoints of the one port work with."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pinakes.control.control import Control
from pinakes.gate.gate import Gate
from pinakes.serve.async_gate import AsyncGate
from pinakes.serve.http.authenticate import Authenticator
from pinakes.serve.http.metrics import Metrics
from pinakes.serve.http.streams import Streams
from pinakes.serve.workers import Workers
from pinakes.settings import Settings
from pinakes.tools.endpoint import Endpoint


@dataclass(slots=True, kw_only=True)
class Phase:
    """Where the server is in its life: it listens before the catalogues are loaded, and ends before it stops."""

    is_loaded: bool = False
    is_ending: bool = False
    load_problem: str | None = None
    """Why they could not be loaded; then they never are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The gate, and everything that stands around it."""

    settings: Settings
    gate: AsyncGate
    loaded_gate: Callable[[], Gate]
    """Gives the gate itself; blocks until it is loaded, so never on the event loop before `phase.is_loaded`."""
    control: Control | None
    """Accounts and audit; None where everybody is the local user."""
    authenticator: Authenticator
    workers: Workers
    streams: Streams
    metrics: Metrics
    find_problems: Callable[[], dict[str, str]]
    """What is degraded and why, by part (`embedding`, `reranking`, `catalogue NAME`); empty where all is well."""
    endpoints: Sequence[Endpoint] = ()
    """Endpoints that catalogue packages bring."""
    phase: Phase = field(default_factory=Phase)
    started_at: float = field(default_factory=time.monotonic)
