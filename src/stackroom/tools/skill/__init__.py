"""The agent skill `stackroom`: how an assistant works well with catalogues, as a folder of Markdown files.

`SKILL.md` serves any catalogue; packages add a page each in `references/`. The same files are written by `make dist`
and served over MCP.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from stackroom import __version__
from stackroom.model.principal import Action
from stackroom.tools.resources.resource import ResourceContent, ResourceSpec

NAME = "stackroom"
SCHEME = "skill://"
MAIN_FILE = "SKILL.md"
FRONTMATTER: Mapping[str, str | Mapping[str, str]] = {
    "name": NAME,
    "description": (
        "Search, count, compare and recommend from catalogues served by Stackroom over MCP: tables, documents, and "
        "collections such as films or books. Use it when tools named search, fetch, similar and browse (or "
        "tools of one subject beside them) come from a server called stackroom, and whenever an answer must rest on "
        "records with ids rather than on memory."
    ),
    "license": "Apache-2.0",
    "compatibility": "Needs the MCP server of Stackroom (stackroom serve), local or shared.",
    "metadata": {"version": __version__},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """The files of the skill: path in its folder → text."""

    files: Mapping[str, str]

    @property
    def contents(self) -> Mapping[str, ResourceContent]:
        """The files by their URIs, as resources; that of `SKILL.md` comes first."""
        return {
            f"{SCHEME}{NAME}/{path}": ResourceContent(mime_type="text/markdown", text=text)
            for path, text in self.files.items()
        }


def build_skill(pages: Mapping[str, str]) -> Skill:
    """Return the skill with a page of each of these packages: name → Markdown."""
    references = {f"references/{name}.md": text for name, text in sorted(pages.items())}
    body = (files(__package__) / "body.md").read_text(encoding="utf-8")
    listed = "".join(f"- [{name}](references/{name}.md): {_title(text)}\n" for name, text in sorted(pages.items()))
    subjects = f"\n## Subjects with a page of their own\n\n{listed}" if listed else ""
    return Skill(files={MAIN_FILE: f"{_frontmatter()}\n{body}{subjects}", **references})


def skill_resources(skill: Callable[[], Skill]) -> ResourceSpec:
    """Declare the files of the skill as resources. They are not in lists of resources: the skill lists them."""
    return ResourceSpec(
        prefix=SCHEME,
        action=Action.ACCESS_CATALOG,
        entries=lambda _principal: [],
        read=lambda _principal, rest: skill().contents.get(SCHEME + rest),
        is_file=True,
    )


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def _frontmatter() -> str:
    """Return the frontmatter; a JSON string is one of YAML too."""
    lines = ["---"]
    for key, value in FRONTMATTER.items():
        if isinstance(value, str):
            lines.append(f"{key}: {value if value.isalnum() else json.dumps(value)}")
        else:
            lines += [f"{key}:", *(f"  {inner}: {json.dumps(text)}" for inner, text in value.items())]
    return "\n".join([*lines, "---", ""])
