"""The formats' own validators, from npm: exact versions and checksums are in
`validators/package-lock.json`.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from conformance.node import REPO, Node, find_node
from conformance.processes import CannotRunError, run_bounded

LOCKED = Path(__file__).parent / "validators"
FOLDER = REPO / ".cache" / "validators"
MCPB, SKILLS = "@anthropic-ai/mcpb/dist/cli/cli.js", "skills-ref/dist/cli.js"
INSTALL_TIMEOUT_S, TIMEOUT_S = 240, 60


class InvalidError(Exception):
    """What a validator refused, with its words."""


def validate(bundle: Path, skill: Path) -> list[str]:
    """Run the validators of the bundle and of the skill's folder, and return what they were; raise
    InvalidError.

    Raises CannotRunError where there is no Node, or npm cannot install them.
    """
    node = find_node()
    install_validators(node)
    with tempfile.TemporaryDirectory(prefix="stackroom-bundle-") as folder:
        _run(node, MCPB, "unpack", str(bundle), folder)
        _run(node, MCPB, "validate", str(Path(folder) / "manifest.json"))
    _run(node, SKILLS, "validate", str(skill))
    return ["mcpb validate", "skills-ref validate"]


def install_validators(node: Node) -> None:
    """Install what the lock file names, unless it is there already."""
    stamp, lock = FOLDER / "installed.json", (LOCKED / "package-lock.json").read_bytes()
    if stamp.is_file() and stamp.read_bytes() == lock:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(LOCKED / name, FOLDER / name)
    # No scripts: no package needs one to be run, and none should run code here unasked.
    command = [
        *node.npm,
        "ci",
        "--prefix",
        str(FOLDER),
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
    ]
    finished = run_bounded(command, environment=node.environment(), timeout_s=INSTALL_TIMEOUT_S)
    if finished.code != 0:
        raise CannotRunError(f"npm could not install the validators:\n{finished.errors[-2_000:]}")
    # The commit point: with the stamp, the folder is whole.
    stamp.write_bytes(lock)


def _run(node: Node, script: str, *arguments: str) -> None:
    command: Sequence[str] = [str(node.program), str(FOLDER / "node_modules" / script), *arguments]
    finished = run_bounded(command, environment=node.environment(), timeout_s=TIMEOUT_S)
    if finished.code != 0:
        raise InvalidError(
            f"{script} {arguments[0]}: {finished.output[-2_000:]}{finished.errors[-2_000:]}"
        )
