"""`stackroom eval` of a catalogue: grade, tune, reset, and what is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.row("N6")


@pytest.fixture
def home(tmp_path: Path, plain_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of one's own with the sample catalogue, without vectors."""
    shutil.copytree(plain_home, tmp_path / "home")
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_catalogue_is_graded_by_kinds_of_question_and_the_grade_is_kept(
    home: Path, run: Callable[..., Any]
) -> None:
    shown = run("eval anime --questions 40")
    assert (shown.code, "descriptions" in shown.out, "nDCG@10" in shown.out) == (0, True, True), (
        shown.err
    )
    folder = home / "catalogues" / "anime"
    assert (folder / "golden.jsonl").read_text(encoding="utf-8").count("\n") == 40
    first = run("eval anime --questions 40 --json")
    assert first.json["kinds"]["all"]["questions"] == 40
    again = run("eval anime --questions 40 --json")
    assert again.json["kinds"] == first.json["kinds"]
    assert "nDCG@10" in next(
        line for line in run("doctor").out.splitlines() if line.startswith("ok  anime: grade")
    )


@pytest.mark.usefixtures("home")
def test_tuning_says_what_it_did_with_the_figures_of_both_halves(run: Callable[..., Any]) -> None:
    tuned = run("eval anime --tune --questions 80 --json").json["tuning"]
    assert tuned["accepted"] is (not tuned["reason"])
    for half in ("tuned_half", "other_half"):
        assert 0 <= tuned[half]["before"]["mean"] <= 1
    if tuned["accepted"]:
        assert tuned["other_half"]["after"]["mean"] >= tuned["other_half"]["before"]["mean"]
    assert run("eval anime --reset --questions 20").code == 0
