"""Nothing that only POSIX has keeps Stackroom from being imported elsewhere."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.row("N17")

PROGRAM = Path(__file__).with_name("hidden_posix.py")
SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a process without POSIX's own modules could import, and one module that needs them."""
    folder = tmp_path_factory.mktemp("control")
    (folder / "needs_posix.py").write_text("import fcntl\n")
    path = os.pathsep.join([str(SOURCES), str(folder)])
    environment = os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(PROGRAM), "needs_posix"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=100, check=True
    )
    return json.loads(done.stdout)


def test_every_module_can_be_imported_without_what_only_posix_has(found: Any) -> None:
    control = found["failures"].pop("needs_posix")
    assert "No module named 'fcntl'" in control
    assert found["failures"] == {}
    assert found["modules"] > 300
