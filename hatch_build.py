"""Build hook: the addresses of the project, if `REPOSITORY` names its repository, and the README as
an index shows it.

Without `REPOSITORY` the package states no address, and the links of its README stay relative. `make
dist` requires it.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

MARKDOWN_LINK = re.compile(r"(!?)(\[(?:[^\[\]]|\[[^\]]*\]\([^)]*\))*\])\(([^)\s]+)\)")
HTML_LINK = re.compile(r'\b(src|srcset|href)="([^"]+)"')
REPOSITORY = re.compile(r"https://github\.com/(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+?)(?:\.git)?/?")
BRANCH = "main"
PAGES = {
    "Homepage": "",
    "Repository": "",
    "Documentation": f"/tree/{BRANCH}/docs",
    "Issues": "/issues",
    "Changelog": f"/blob/{BRANCH}/CHANGELOG.md",
}


class AddressesHook(MetadataHookInterface):
    """Sets the project's `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the metadata, and the addresses if there are any."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = find_repository()
        if repository is not None:
            metadata["urls"] = project_urls(repository)
            text = with_absolute_links(text, repository)
            text += f"\n<!-- mcp-name: {registry_name(repository, metadata['name'])} -->\n"
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def find_repository() -> str | None:
    """Return the address in `REPOSITORY`, None if it is not set."""
    given = os.environ.get("REPOSITORY", "")
    return require_repository(given) if given else None


def require_repository(address: str) -> str:
    """Return the address of a repository without a slash at its end."""
    parts = REPOSITORY.fullmatch(address)
    if parts is None:
        raise ValueError(f"REPOSITORY is '{address}'; it must be https://github.com/OWNER/NAME")
    return f"https://github.com/{parts['owner']}/{parts['repo']}"


def project_urls(repository: str) -> dict[str, str]:
    """Return the addresses that the package states."""
    return {name: repository + page for name, page in PAGES.items()}


def registry_name(repository: str, package: str) -> str:
    """Return the name in the MCP registry, which the published README has to state too."""
    return f"io.github.{repository.split('/')[3]}/{package}"


def with_absolute_links(text: str, repository: str) -> str:
    """Return Markdown whose links to files of the repository have its address; images are linked as
    they are.
    """

    def in_markdown(found: re.Match[str]) -> str:
        mark, label, target = found.groups()
        inner = MARKDOWN_LINK.sub(in_markdown, label)
        return f"{mark}{inner}({_absolute(target, repository, is_image=bool(mark))})"

    def in_html(found: re.Match[str]) -> str:
        name, target = found.groups()
        return f'{name}="{_absolute(target, repository, is_image=name != "href")}"'

    return HTML_LINK.sub(in_html, MARKDOWN_LINK.sub(in_markdown, text))


def _absolute(target: str, repository: str, *, is_image: bool) -> str:
    if target.startswith("#") or re.match(r"[a-z]+:", target):
        return target
    return f"{repository}/{'raw' if is_image else 'blob'}/{BRANCH}/{target}"
