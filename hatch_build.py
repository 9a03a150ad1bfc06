"""Build hook: the README as the package index shows it, with the addresses of the repository in its links."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

MARKDOWN_LINK = re.compile(r"(!?)(\[(?:[^\[\]]|\[[^\]]*\]\([^)]*\))*\])\(([^)\s]+)\)")
HTML_LINK = re.compile(r'\b(src|srcset|href)="([^"]+)"')
BRANCH = "main"


class ReadmeHook(MetadataHookInterface):
    """Sets the project's `readme` to README.md with absolute links."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the readme to the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        readme = with_absolute_links(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def with_absolute_links(text: str, repository: str) -> str:
    """Return Markdown whose links to files of the repository have its address; images are linked as they are."""

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
