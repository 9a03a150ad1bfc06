"""What downloads are run by: their folder and providers are configured, their bounds are these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pinakes.api import Address, SettingsSection, Texts, setting
from pinakes.api.server import AddressRules, FetchLimits
from pinakes_catalogues.music.downloads.providers import HttpProviderSpec
from pinakes_catalogues.music.downloads.queue import QueueRules


class DownloadsSettings(SettingsSection):
    """Where albums come from and go."""

    folder: str = setting("", "PINAKES_MUSIC_FOLDER")
    """The music folder that finished albums land in; empty: `music` in the library."""
    allowed_hosts: Texts = setting((), "PINAKES_DOWNLOAD_HOSTS")
    """Hosts that may be asked although they are not public."""
    allowed_networks: Texts = setting((), "PINAKES_DOWNLOAD_NETWORKS")
    """Networks that may be asked although they are not public, such as `10.0.0.0/8`."""
    allowed_ports: Texts = setting((), "PINAKES_DOWNLOAD_PORTS")
    """Ports that may be asked beside 80 and 443."""
    providers: Mapping[str, Address] = {}
    """The section `[downloads.providers]`: a name → the address of its manifests, with `{artist}` and `{album}`."""


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
