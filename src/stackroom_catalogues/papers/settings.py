"""Settings of the papers package."""

from stackroom.api import SettingsSection, setting


class PapersSettings(SettingsSection):
    """Keys of `stackroom.toml` outside any section."""

    semantic_scholar_key: str = setting("", "SEMANTIC_SCHOLAR_API_KEY")
    """The key that Semantic Scholar gave you, for more requests."""
