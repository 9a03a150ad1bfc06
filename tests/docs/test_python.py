"""The page and the notebook about Python run as they stand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.libraries import MODEL_CACHE
from support.pages import ROOT

pytestmark = pytest.mark.row("N22")

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKROOM_MODELS", str(MODEL_CACHE))


def test_the_page_runs_as_it_stands() -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "python.md").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert [record.title for record in names["found"]] == ["Vinho verde"]


def test_the_notebook_runs_from_its_first_cell_to_its_last() -> None:
    notebook = json.loads((ROOT / "docs" / "examples" / "python.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile(cell, "python.ipynb", "exec"), names)
    assert names["best"].title == "Lindau"
    assert names["everything"].to_dicts()[0]["name"] == "Kõpu"
    assert all(not cell.get("outputs") for cell in notebook["cells"])
