"""A job's declaration: what it is called, what it does, when, and the function that does it."""

from collections.abc import Callable
from dataclasses import dataclass

from pinakes.jobs.context import JobContext


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """Something that is done beside calls."""

    name: str
    description: str
    schedule: str
    """When it is due, unless somebody has set another schedule: `6h`, `0 3 * * *` (UTC), or `manual`."""
    body: Callable[[JobContext], None]
    """Does it, and says through the context how it goes; what it raises is why it failed."""
    enabled: bool = True
    """Whether it runs by its schedule, unless somebody has said otherwise."""
    resumes: bool = False
    """Whether it is begun anew where its process ended before it did; such a body can be run again at any point."""
