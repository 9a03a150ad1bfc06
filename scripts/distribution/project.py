"""What the project says of itself in `pyproject.toml`, and what follows from it for bundle and
registry.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatch_build import project_urls, registry_name, require_repository

from stackroom import __version__

REPO = Path(__file__).resolve().parents[2]
SUMMARY = (
    "Search, browse and get recommendations from your own tables and documents, on your machine."
)
"""One sentence for lists of servers; the registry takes 100 letters."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """Facts of the release."""

    name: str
    version: str
    description: str
    licence: str
    python: str
    """The range of Python versions."""
    keywords: tuple[str, ...]
    repository: str
    """The address of the repository: the one setting from which all other addresses follow."""

    @property
    def urls(self) -> Mapping[str, str]:
        """The addresses that the package states."""
        return project_urls(self.repository)

    @property
    def registry_name(self) -> str:
        """The name in the MCP registry."""
        return registry_name(self.repository, self.name)

    @property
    def bundle_name(self) -> str:
        """The file name of the bundle."""
        return f"{self.name}-{self.version}.mcpb"

    @property
    def bundle_address(self) -> str:
        """Where the bundle is once it is released."""
        return f"{self.repository}/releases/download/v{self.version}/{self.bundle_name}"

    def page(self, path: str) -> str:
        """Return the address of a file of the repository, for people."""
        return f"{self.repository}/blob/v{self.version}/{path}"


def load_project(repository: str, folder: Path = REPO) -> Project:
    """Read the facts."""
    declared: dict[str, Any] = tomllib.loads(
        (folder / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    return Project(
        name=declared["name"],
        version=__version__,
        description=declared["description"],
        licence=declared["license"],
        python=declared["requires-python"],
        keywords=tuple(declared["keywords"]),
        repository=require_repository(repository),
    )
