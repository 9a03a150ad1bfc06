"""A job's declaration: name, description, schedule, and the function that does it."""

from collections.abc import Callable
from dataclasses import dataclass

from pinakes.jobs.context import JobContext


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A background job."""

    name: str
    description: str
    schedule: str
    """The default schedule: `6h`, `0 3 * * *` (UTC), or `manual`."""
    body: Callable[[JobContext], None]
    """Does the work, and reports through the context; fails by raising."""
    enabled: bool = True
    """Whether its schedule is on by default."""
    resumes: bool = False
    """Whether it is run again after its process died; the work must be idempotent."""
    is_quiet: bool = False
    """Whether it is listed only once it was given a schedule, or has run."""
