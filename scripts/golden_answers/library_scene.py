"""The Python library, called by a child that runs in the recorded installation."""

import json
import subprocess
from pathlib import Path

from golden_answers.recorder import Recorder, World

CHILD = Path(__file__).with_name("library_child.py")


def record_library(recorder: Recorder, world: World) -> None:
    """Record the Python library."""
    done = subprocess.run(
        [str(world.stackroom.with_name("python")), str(CHILD), str(world.home)],
        env=world.environment,
        cwd=world.folder,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    for line in done.stdout.splitlines():
        call = json.loads(line)
        recorder.note("python", "local", call["name"], {}, call["answer"])
    recorder.note("python", "local", "end", {}, {"code": done.returncode, "err": done.stderr})
