"""`stackroom audit`: what was done is shown, followed, and checked."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stackroom.cli.operations import make_control, perform
from stackroom.errors import StorageError
from support.terminals import Run

pytestmark = pytest.mark.row("Z13")


@pytest.fixture
def busy(home: Path, run: Run) -> Path:
    """A library in which six things were done, of which the fourth failed."""
    run("user add ada")
    run("user grant ada ViewAnalytics")
    run("user revoke ada ViewAnalytics")
    run("user revoke ada ViewAnalytics")
    run("user disable ada")
    run("user enable ada")
    return home


def change(home: Path, *statements: str) -> None:
    """Change the database by hand."""
    with closing(sqlite3.connect(home / "control.sqlite")) as database, database:
        for statement in statements:
            database.execute(statement)


def note(target: str, *, operation: str = "account/grant") -> None:
    with make_control() as control:
        perform(control, operation, target, {}, lambda: None)


def test_a_row_says_who_did_what_with_which_parameters_and_what_became_of_it(
    busy: Path, run: Run
) -> None:
    row = run("audit tail --json").json["rows"][2]
    assert (row["user"], row["via"], row["target"]) == ("local", "cli", "ada")
    assert (row["operation"], row["parameters"]) == (
        "account/revoke",
        {"permission": ["ViewAnalytics"]},
    )
    assert (row["outcome"], row["error"]) == ("error", "not_found")
    assert row["ms"] > 0
    assert row["at"].endswith("+00:00")


def test_what_a_caller_wrote_does_not_act_on_the_terminal(home: Path, run: Run) -> None:
    note("\x1b]0;owned\x07\x1b[2J [/b] [red]\u202e:star")
    ran = run("audit tail")
    assert ran.code == 0
    assert "[/b]" in ran.out
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.out)


@pytest.mark.parametrize(
    ("statements", "row"),
    [
        (["UPDATE audit SET outcome = 'ok', error_code = NULL WHERE number = 4"], 4),
        (["DELETE FROM audit"], 1),
    ],
)
def test_a_row_that_was_changed_by_hand_is_found(
    busy: Path, run: Run, statements: list[str], row: int
) -> None:
    change(busy, *statements)
    ran = run("audit verify")
    assert ran.code == 1
    assert f"row {row} " in ran.err
    assert ran.out == f"{row - 1} rows are as they were written\n"
    report = run("audit verify --json")
    assert (report.code, report.json["whole"], report.err) == (1, False, "")
    assert f"row {row} " in report.json["first_problem"]
    tail = run("audit tail")
    assert tail.code in (0, StorageError.exit_code)
    assert "Traceback" not in tail.err
