"""Settings of the papers package."""

from pinakes.api import SettingsSection, setting


class PapersSettings(SettingsSection):
    """Keys of `pinakes.toml` outside any section."""

    semantic_scholar_key: str = setting("", "SEMANTIC_SCHOLAR_API_KEY")
    """The key that Semantic Scholar gave you, for more requests."""
