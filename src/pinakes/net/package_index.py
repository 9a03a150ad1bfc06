"""Files from the Python package index by pip, which applies the machine's index, proxy and certificates."""

import re
import subprocess
import sys
from pathlib import Path

from pinakes.errors import ModelError, UnavailableError
from pinakes.net.checksum import sha256_of

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
    output = None if show_progress else subprocess.PIPE
    try:
        done = subprocess.run(command, check=False, timeout=TIMEOUT_S, stdout=output, stderr=subprocess.PIPE, text=True)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"'{requirement}' was not downloaded within {TIMEOUT_S} s; try again") from error
    if done.returncode != 0:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR")), done.stderr)
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


def fetch_latest_version(name: str, *, timeout_s: float = 60.0) -> str:
    """Fetch the latest version of a package from the package index."""
    command = [sys.executable, "-m", "pip", "index", "versions", name, "--no-input", "--disable-pip-version-check"]
    try:
        done = subprocess.run(command, check=False, timeout=timeout_s, capture_output=True, text=True)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"the package index did not answer within {timeout_s:.0f} s") from error
    found = re.search(rf"^{re.escape(name)} \((\S+)\)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None:
        last = next(reversed(done.stderr.strip().splitlines()), "nothing")
        raise UnavailableError(
            f"the package index does not state the latest version of '{name}'; pip says: {last[:300]}"
        )
    return found[1]
