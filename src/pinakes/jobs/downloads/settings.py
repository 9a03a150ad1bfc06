"""What downloads are run by: their folder and providers are configured, their bounds are these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pinakes.jobs.downloads.providers import HttpProviderSpec
from pinakes.jobs.downloads.queue import QueueRules
from pinakes.net.addresses import AddressRules
from pinakes.net.fetch import FetchLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadSettings:
    """Where albums come from and go, and within which bounds."""

    folder: Path
    """The music folder."""
    providers: Mapping[str, HttpProviderSpec] = field(default_factory=dict)
    url_rules: AddressRules = field(default_factory=AddressRules)
    """Which addresses people may give."""
    queue: QueueRules = field(default_factory=QueueRules)
    limits: FetchLimits = field(default_factory=lambda: FetchLimits(max_bytes=2 << 30))
    """For each file."""
    max_album_bytes: int = 8 << 30
    first_wait_s: float = 30.0
    """How long the wait after the first failure is at the most; each further one may be twice as long."""
    longest_wait_s: float = 3600.0
    workers: int = 2
    poll_s: float = 2.0
    """How often a worker looks for what other processes have queued or cancelled."""
    offline: bool = False
