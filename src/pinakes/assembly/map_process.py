"""A map made beside a server, in a process of its own with low priority: a layout takes seconds of one core."""

import os
import subprocess
import sys
import time
from pathlib import Path

import orjson

from pinakes.assembly.map_making import MapReport
from pinakes.errors import UnavailableError
from pinakes.shelf.port import Checkpoint

LONGEST_S = 3_600.0
LOOK_S = 0.25
END_S = 5.0


def run_map_process(home: Path, name: str, checkpoint: Checkpoint) -> str:
    """Run `pinakes map`, and return its report; the process ends with an error of the checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "pinakes", "map", name, "--background", "--json"],  # -P: not from this folder
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PINAKES_HOME": str(home)},
    )
    try:
        output, errors = _wait(process, checkpoint)
    finally:
        _end(process)
    if process.returncode:
        said = errors.decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
        raise UnavailableError(f"{said[-1].removeprefix('pinakes: ')}; to see more, run: pinakes map {name}")
    made = orjson.loads(output)[name]
    return str(MapReport(records=made["records"], is_made=made["made"], changed=made["changed"]))


def _wait(process: subprocess.Popen[bytes], checkpoint: Checkpoint) -> tuple[bytes, bytes]:
    """Return what a process has written when it ends; raise UnavailableError where that takes too long."""
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        checkpoint()
        try:
            return process.communicate(timeout=LOOK_S)
        except subprocess.TimeoutExpired:
            continue
    raise UnavailableError(f"a map was not made within {LONGEST_S:,.0f} s")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that runs, and close its pipes."""
    with process:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
