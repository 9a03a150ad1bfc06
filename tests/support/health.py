"""A health that a test decides."""

from dataclasses import dataclass, field

from stackroom.assembly.server_health import Reading
from stackroom.background.background import TaskStatus


@dataclass(slots=True)
class GivenHealth:
    """Stands in for a `ServerHealth` with what a test puts in."""

    degraded: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    unready: str | None = None
    in_background: list[TaskStatus] = field(default_factory=list)
    measured: list[Reading] = field(default_factory=list)

    def problems(self) -> dict[str, str]:
        return self.degraded

    def states(self) -> dict[str, str]:
        return self.others | self.degraded

    def readings(self) -> list[Reading]:
        return self.measured

    def tasks(self) -> list[TaskStatus]:
        return self.in_background

    def find_unready(self) -> str | None:
        return self.unready
