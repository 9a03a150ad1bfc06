"""The bundle (`.mcpb`, type `uv`): a zip that desktop clients install, with the wheel in it.

The host brings uv, which installs the wheel and its dependencies at the first start. So nothing
needs to be published for a bundle to work, and what it starts is what was built with it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distribution.icon import draw_icon
from distribution.project import REPO, SUMMARY, Project
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER
from stackroom.tools.toolbox import Toolbox

SOURCES = Path(__file__).parent / "bundle"
ENTRY_POINT = "src/server.py"
LOCK = REPO / "requirements-server.lock"
LIBRARY, CATALOGUES, SAMPLES = (
    "STACKROOM_HOME",
    "STACKROOM_BUNDLE_CATALOGUES",
    "STACKROOM_BUNDLE_SAMPLES",
)
"""Environment variables by which the host tells the entry point what the user chose."""
PYTHON = ">=3.11,<3.14"
"""The Pythons for which every dependency has wheels on every platform; uv gets one where it is
missing.
"""
INTEL_MAC = "sys_platform == 'darwin' and platform_machine == 'x86_64'"
NOT_INTEL_MAC = "sys_platform != 'darwin' or platform_machine != 'x86_64'"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\;]+)(?: ;([^\\]*))?", re.MULTILINE)


def bundle_files(project: Project, wheel: Path) -> Mapping[str, bytes]:
    """Return the files of the bundle by their names."""
    texts = {
        "manifest.json": json.dumps(manifest(project), ensure_ascii=False, indent=2) + "\n",
        "pyproject.toml": bundle_project(project, wheel.name),
        ENTRY_POINT: (SOURCES / ENTRY_POINT).read_text(encoding="utf-8"),
    }
    licence = {"LICENSE": (REPO / "LICENSE").read_bytes(), "icon.png": draw_icon()}
    return (
        {name: text.encode() for name, text in texts.items()}
        | licence
        | {f"wheels/{wheel.name}": wheel.read_bytes()}
    )


def manifest(project: Project) -> dict[str, Any]:
    """Return the manifest."""
    listed = Gate(Toolbox(generic_tools([]))).list_tools(LOCAL_USER)
    return {
        "manifest_version": "0.4",
        "name": project.name,
        "display_name": project.name.capitalize(),
        "version": project.version,
        "description": SUMMARY,
        "long_description": LONG_DESCRIPTION,
        "author": {"name": "Stackroom contributors", "url": project.repository},
        "repository": {"type": "git", "url": project.repository},
        "homepage": project.urls["Homepage"],
        "documentation": project.urls["Documentation"],
        "support": project.urls["Issues"],
        "icon": "icon.png",
        "icons": [{"src": "icon.png", "size": "512x512"}],
        "server": {"type": "uv", "entry_point": ENTRY_POINT, "mcp_config": _mcp_config()},
        "tools": [{"name": tool.name, "description": tool.description} for tool in listed],
        "tools_generated": True,
        "keywords": list(project.keywords),
        "license": project.licence,
        "privacy_policies": [project.page("docs/privacy.md")],
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": PYTHON},
        },
        "user_config": USER_CONFIG,
    }


LONG_DESCRIPTION = """Stackroom serves catalogues (tables, folders of documents, collections) to \
your assistant: search by meaning and words, browsing with counts and sums, look-up, neighbours \
and recommendations, each result with its id and with how sure it is.

Everything runs on this machine, without a key and without telemetry. The first start installs \
Python packages with uv; an empty library is filled with sample catalogues unless you switch that \
off. Add your own data in a terminal, with Stackroom installed there too: \
`stackroom add films.csv`."""

USER_CONFIG: dict[str, dict[str, Any]] = {
    "library": {
        "type": "directory",
        "title": "Library folder",
        "description": (
            "Where the catalogues are kept. Leave it empty for the usual folder of this system."
        ),
        "required": False,
        "default": "",
    },
    "catalogues": {
        "type": "string",
        "title": "Catalogues",
        "description": (
            "Names of the catalogues to serve, separated by commas. Leave it empty for all."
        ),
        "required": False,
        "default": "",
    },
    "samples": {
        "type": "boolean",
        "title": "Sample catalogues",
        "description": (
            "Fill an empty library with the sample catalogues, and fetch the embedding model."
        ),
        "required": False,
        "default": True,
    },
}


def _mcp_config() -> dict[str, Any]:
    # Options go through the environment: as an argument, one without a value would stay a
    # placeholder.
    return {
        "command": "uv",
        "args": ["run", "--no-dev", "--directory", "${__dirname}", ENTRY_POINT],
        "env": {
            LIBRARY: "${user_config.library}",
            CATALOGUES: "${user_config.catalogues}",
            SAMPLES: "${user_config.samples}",
        },
    }


def bundle_project(project: Project, wheel: str) -> str:
    """Return the `pyproject.toml` of the bundle: the wheel beside it, and the versions that were
    tested with it.

    Intel Macs have no wheels of the newest versions: there uv chooses, among those that need no
    compiler.
    """
    pins = "".join(
        f"    {json.dumps(pin)},\n" for pin in pinned_versions(LOCK.read_text(encoding="utf-8"))
    )
    return f"""# Made by `make dist`: what uv installs when a desktop client starts the bundle.
[project]
name = "{project.name}-bundle"
version = "{project.version}"
requires-python = "{PYTHON}"
dependencies = ["{project.name}=={project.version}"]

[tool.uv]
package = false
no-build = true
required-environments = ["{INTEL_MAC}"]
constraint-dependencies = [
{pins}]

[tool.uv.sources]
{project.name} = {{ path = "wheels/{wheel}" }}
"""


def pinned_versions(lock: str) -> Sequence[str]:
    """Return the versions of a lock file as requirements, without checksums; they do not bind Intel
    Macs.
    """
    return [
        f"{name}=={version} ; {_and_not_intel_mac(marker)}"
        for name, version, marker in PINNED.findall(lock)
    ]


def _and_not_intel_mac(marker: str) -> str:
    own = marker.strip().replace('"', "'")
    return f"({own}) and ({NOT_INTEL_MAC})" if own else NOT_INTEL_MAC
