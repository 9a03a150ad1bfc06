"""Files that want to take all memory, time or disk: each is refused in a sentence, or read within
bounds.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.hostile_contents import CONTENTS
from support.libraries import REPO

pytestmark = pytest.mark.row("T8")

MOST_MEMORY_MB = 1_200
MOST_CPU_S = 180
MOST_DISK_MB = 300
READ = {"pdf", "docx", "quote.csv", "cell.csv"}
"""Of these a part can be read: another document of the folder, or lines as rows where a quotation
mark is misplaced.
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """How each file ended, by one process that adds them one after another."""
    if os.name != "posix":
        pytest.skip("processes are forked and limited")
    folder = tmp_path_factory.mktemp("contents")
    environment = {**os.environ, "PYTHONPATH": str(REPO / "tests"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "support.hostile_contents", str(folder)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=590
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["name"]: line for line in lines}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_hostile_file_is_bounded_and_refused_in_a_sentence(
    told: dict[str, dict[str, Any]], name: str
) -> None:
    end = told[name]
    assert end["memory_mb"] <= MOST_MEMORY_MB, end
    assert end["cpu_s"] <= MOST_CPU_S, end
    assert end["disk_mb"] <= MOST_DISK_MB, end
    assert "Traceback" not in end["said"], end
    assert end["code"] in ((0, 2) if name in READ else (2,)), end


def test_every_kind_of_table_that_can_be_uploaded_has_a_hostile_file() -> None:
    kinds = {Path(name).suffixes[0] for name in CONTENTS if "." in name}
    assert {".csv", ".json", ".jsonl", ".parquet", ".xlsx", ".ods", ".sqlite"} <= kinds
