"""Settings of downloads: the configurable section, and the bounds of queue and transfers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackroom.api import Address, SettingsSection, Texts, setting
from stackroom.api.server import AddressRules, FetchLimits
from stackroom_catalogues.music.downloads.providers import HttpProviderSpec
from stackroom_catalogues.music.downloads.queue import QueueRules


class DownloadsSettings(SettingsSection):
    """The folder, providers and allowed addresses of downloads."""

    folder: str = setting("", "STACKROOM_MUSIC_FOLDER")
    """The music folder that finished albums are put into; empty: `music` in the library."""
    allowed_hosts: Texts = setting((), "STACKROOM_DOWNLOAD_HOSTS")
    """Hosts that may be contacted although they are not public."""
    allowed_networks: Texts = setting((), "STACKROOM_DOWNLOAD_NETWORKS")
    """Networks that may be contacted although they are not public, such as `10.0.0.0/8`."""
    allowed_ports: Texts = setting((), "STACKROOM_DOWNLOAD_PORTS")
    """Ports that may be contacted besides 80 and 443."""
    providers: Mapping[str, Address] = {}
    """The section `[downloads.providers]`: a name → the address of its manifests, with `{artist}` and `{album}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadSettings:
    """The effective settings of downloads."""

    folder: Path
    """The music folder."""
    providers: Mapping[str, HttpProviderSpec] = field(default_factory=dict)
    url_rules: AddressRules = field(default_factory=AddressRules)
    """Rules for the URLs of requests."""
    queue: QueueRules = field(default_factory=QueueRules)
    limits: FetchLimits = field(default_factory=lambda: FetchLimits(max_bytes=2 << 30))
    """Limits for each file."""
    max_album_bytes: int = 8 << 30
    first_wait_s: float = 30.0
    """The longest wait after the first failure; it doubles with each further one."""
    longest_wait_s: float = 3600.0
    poll_s: float = 2.0
    """How often the worker looks for downloads queued or cancelled by other processes, and reports its progress."""
    offline: bool = False
