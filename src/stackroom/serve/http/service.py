"""Dependencies of the HTTP endpoints."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stackroom.assembly.measures import Reading
from stackroom.background.task import TaskStatus
from stackroom.control.control import Control
from stackroom.gate.gate import Gate
from stackroom.jobs.board import JobBoard
from stackroom.serve.async_gate import AsyncGate, Workers
from stackroom.serve.http.endpoints import InvalidRequests
from stackroom.serve.http.guard import Authenticator, Bodies
from stackroom.serve.http.metrics import Metrics
from stackroom.serve.http.streams import Streams
from stackroom.settings import Settings
from stackroom.text.safe import hide_places
from stackroom.tools.endpoint import Endpoint


class Health(Protocol):
    """The health of the server by its parts: `control database`, `disk`, `embedding`, `jobs`, `catalogue NAME`.

    An implementation answers within a second or two whatever hangs, and costs little however often it is asked.
    """

    def problems(self) -> dict[str, str]:
        """Return the parts that do not work as they should, each with the reason."""

    def states(self) -> dict[str, str]:
        """Return the state of every part: `ok`, what it is busy with, or what is wrong."""

    def readings(self) -> Sequence[Reading]:
        """Return the measures of jobs, tokens, disk, tasks, models and catalogues, for Prometheus."""

    def tasks(self) -> Sequence[TaskStatus]:
        """Return the tasks in the background of the server."""

    def find_unready(self) -> str | None:
        """Return why nobody can be served now; None where somebody can."""


@dataclass(slots=True, kw_only=True)
class Lifecycle:
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
    health: Health
    """Tells which parts of the server work."""
    hide_places: Callable[[str], str] = hide_places
    """Takes paths and addresses out of a reason, for callers who do not administer the server."""
    open_board: Callable[[], JobBoard] | None = None
    """Returns the jobs of the library; None where the server runs none."""
    endpoints: Sequence[Endpoint] = ()
    """Endpoints that catalogue packages bring."""
    bodies: Bodies = field(default_factory=Bodies)
    """The bounds on the memory of request bodies."""
    invalid: InvalidRequests = field(init=False)
    """Audits requests that have not their form."""
    phase: Lifecycle = field(default_factory=Lifecycle)
    started_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Make what follows from the gate."""
        object.__setattr__(self, "invalid", InvalidRequests(self.gate))
