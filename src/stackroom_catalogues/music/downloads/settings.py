"""The settings section of downloads."""

from collections.abc import Mapping

from stackroom.api import Address, SettingsSection, Texts, setting


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
    """The section `[downloads.providers]`: a name → the address of its manifests, with `{artist}`
    and `{album}`.
    """
