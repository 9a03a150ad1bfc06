"""`stackroom add --plan` and `--replace`: what a new file would change, and a file that takes
another's place.
"""

from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = pytest.mark.row("N1")

PLAYS = (
    "code,play,year,note\np1,Hamlet,1603,a prince\np2,Macbeth,1606,a thane\np3,The Tempest,1611,an"
    " island\n"
)
NEWER = (
    "code,play,year,note\np1,Hamlet,1603,a prince\np2,Macbeth,1607,a thane\np4,Volpone,1606,a"
    " fox\np4,Twice,1,x\n"
)
QUIETLY = ("--name", "plays", "--yes", "--no-embed")


@pytest.fixture
def newer(tmp_path: Path, run: Run) -> str:
    (tmp_path / "plays.csv").write_text(PLAYS)
    (tmp_path / "newer.csv").write_text(NEWER)
    run(["add", str(tmp_path / "plays.csv"), *QUIETLY])
    return str(tmp_path / "newer.csv")


def test_a_plan_says_what_would_change_with_examples_and_changes_nothing(
    newer: str, run: Run, home: Path
) -> None:
    before = {path: path.read_bytes() for path in home.rglob("installed.json")}
    plan = run(["add", newer, *QUIETLY, "--replace", "--plan", "--json"]).json
    counts = ("added", "changed", "removed", "unchanged", "rejected")
    assert [plan[name] for name in counts] == [1, 1, 1, 1, 1]
    assert {one["title"]: one["op"] for one in plan["examples"]} == {
        "Volpone": "insert",
        "Macbeth": "update",
        "The Tempest": "delete",
    }
    (changed,) = [one["fields"] for one in plan["examples"] if one["op"] == "update"]
    assert changed == [{"field": "year", "before": "1606", "after": "1607"}]
    printed = run(["add", newer, *QUIETLY, "--replace", "--plan"]).out
    assert "it would be: 1 added, 1 changed, 1 removed" in printed
    assert before == {path: path.read_bytes() for path in home.rglob("installed.json")}
    assert [path.name for path in home.iterdir() if path.name.startswith(".plan")] == []
    assert run("search plays island --json").json["results"][0]["title"] == "The Tempest"


def test_a_file_takes_the_place_of_another_and_its_records_are_told_from_new_ones(
    newer: str, run: Run
) -> None:
    report = run(["add", newer, *QUIETLY, "--replace", "--json"]).json
    assert (report["written"], report["unchanged"], report["removed"]) == (2, 1, 1)
    again = run(["add", newer, *QUIETLY, "--replace", "--json"]).json
    assert (again["written"], again["unchanged"], again["removed"]) == (0, 3, 0)


def test_a_file_that_cannot_be_read_leaves_the_former_one_in_its_place(
    newer: str, run: Run
) -> None:
    Path(newer).write_text("other,columns\n1,2\n")
    assert run(["add", newer, *QUIETLY, "--replace"]).code
    report = run(["add", str(Path(newer).with_name("plays.csv")), *QUIETLY, "--json"]).json
    assert (report["written"], report["unchanged"], report["removed"]) == (0, 3, 0)


def test_only_the_one_source_of_a_catalogue_is_replaced(newer: str, run: Run) -> None:
    run(["add", newer, *QUIETLY])
    assert "the catalogue has 2 sources" in run(["add", newer, *QUIETLY, "--replace"]).err


def test_a_renamed_catalogue_gets_other_columns(newer: str, run: Run) -> None:
    run("rename plays stage")
    file = str(Path(newer).with_name("plays.csv"))
    assert run(f"add {file} --name stage --yes --no-embed --drop note").code == 0
    assert "note" not in run("spec show stage").out
