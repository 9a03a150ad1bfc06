"""`pinakes audit`: what was done is shown, followed, and checked."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from pinakes.cli.audit import audit_command, follow_rows
from pinakes.cli.control import make_control, perform
from pinakes.control.audit.log import AuditRow
from pinakes.errors import InputError, NotFoundError, StorageError

pytestmark = pytest.mark.row("Z13")

Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library of this process is an empty folder."""
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def busy(home: Path, run: Run) -> Path:
    """A library in which six things were done, of which the fourth failed."""
    run(["user", "add", "ada"])
    run(["user", "grant", "ada", "ViewAnalytics"])
    run(["user", "revoke", "ada", "ViewAnalytics"])
    run(["user", "revoke", "ada", "ViewAnalytics"])
    run(["user", "disable", "ada"])
    run(["user", "enable", "ada"])
    return home


def change(home: Path, *statements: str) -> None:
    """Change the database by hand."""
    with closing(sqlite3.connect(home / "control.sqlite")) as database, database:
        for statement in statements:
            database.execute(statement)


def note(target: str, *, operation: str = "grant") -> None:
    with make_control() as control:
        perform(control, operation, target, {}, lambda: None)


def meanwhile(*steps: Callable[[], object]) -> Callable[[], None]:
    """Return a wait during which one thing after the other happens, and at last Ctrl-C."""
    coming = iter(steps)

    def wait() -> None:
        step = next(coming, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    return wait


def test_the_last_rows_are_shown_the_newest_at_the_end(busy: Path, run: Run) -> None:
    rows = run(["audit", "tail", "-n", "2", "--json"]).json
    assert [row["number"] for row in rows] == [5, 6]
    assert [row["operation"] for row in rows] == ["account/disable_user", "account/enable_user"]
    table = run(["audit", "tail"]).out.splitlines()
    assert [line.split()[0] for line in table] == ["row", "1", "2", "3", "4", "5", "6"]
    assert table[4].split()[-1] == "error"


def test_a_row_says_who_did_what_with_which_parameters_and_what_became_of_it(busy: Path, run: Run) -> None:
    row = run(["audit", "tail", "--json"]).json[3]
    assert (row["principal"], row["via"], row["target"]) == ("local", "cli", "ada")
    assert (row["operation"], row["parameters"]) == ("account/revoke", {"permission": "ViewAnalytics"})
    assert (row["outcome"], row["error_code"]) == ("error", "not_found")
    assert row["duration_ms"] > 0
    assert row["at"].endswith("+00:00")


def test_rows_are_chosen_by_user_operation_and_outcome(busy: Path, run: Run) -> None:
    def numbers(*options: str) -> list[int]:
        return [row["number"] for row in run(["audit", "tail", *options, "--json"]).json]

    assert numbers("--user", "LOCAL", "-n", "1") == [6]
    assert numbers("--user", "ada") == []
    assert numbers("--operation", "account/revoke") == [3, 4]
    assert numbers("--operation", "account/revoke", "--outcome", "OK") == [3]
    assert numbers("--outcome", "error") == [4]


def test_rows_are_chosen_by_target_and_time(busy: Path, run: Run) -> None:
    def numbers(*options: str) -> list[int]:
        return [row["number"] for row in run(["audit", "tail", "--json", *options]).json]

    whole = numbers()
    assert len(whole) == 6
    assert numbers("--tool", "ada") == whole
    assert numbers("--tool", "search") == []
    assert numbers("--tool", "account/grant") == whole[1:2]
    assert numbers("--since", "1h", "--until", "0s") == whole
    assert numbers("--until", "1h") == []
    assert run(["audit", "tail", "--since", "soon"]).code != 0


def test_where_nothing_was_noted_it_says_so(home: Path, run: Run) -> None:
    assert run(["audit", "tail"]).out == "the audit has no such rows\n"
    assert run(["audit", "tail", "--json"]).json == []
    for command in (["tail", "--follow"], ["verify"]):
        ran = run(["audit", *command])
        assert (ran.code, ran.out) == (NotFoundError.exit_code, "")
        assert "no accounts here yet" in ran.err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tail", "-n", "0"], "1<=x<=10000"),
        (["tail", "--outcome", "good"], "good"),
        (["verify", "--expect", "yesterday"], "must be NUMBER:HASH"),
        (["verify", "--expect", "1:abc"], "must be NUMBER:HASH"),
    ],
)
def test_what_is_not_understood_is_told_on_one_channel_with_its_code(
    busy: Path, run: Run, arguments: list[str], says: str
) -> None:
    ran = run(["audit", *arguments])
    assert (ran.code, ran.out) == (InputError.exit_code, "")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_what_a_caller_wrote_does_not_act_on_the_terminal(home: Path, run: Run) -> None:
    note("\x1b]0;owned\x07\x1b[2J [/b] [red]\u202e:star")
    for ran in (run(["audit", "tail"]), _followed(run)):
        assert ran.code == 0
        assert "[/b]" in ran.out
        assert not {"\x1b", "\x07", "\u202e"} & set(ran.out)


def _followed(run: Run) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pinakes.cli.audit.wait_a_second", meanwhile())
        return run(["audit", "tail", "--follow"])


def test_following_shows_what_is_noted_from_now_on_until_it_is_interrupted(
    busy: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = meanwhile(lambda: note("first"), lambda: None, lambda: (note("second"), note("third")))
    monkeypatch.setattr("pinakes.cli.audit.wait_a_second", wait)
    ran = run(["audit", "tail", "-n", "2", "--follow"])
    assert (ran.code, ran.err) == (0, "")
    lines = [line.split("  ") for line in ran.out.splitlines()]
    assert [line[0] for line in lines] == ["5", "6", "7", "8", "9"]
    assert [line[5] for line in lines[2:]] == ["first", "second", "third"]


def test_following_for_programs_is_a_line_of_json_a_row_and_keeps_to_what_was_chosen(
    busy: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = meanwhile(lambda: note("first"), lambda: note("second"))
    monkeypatch.setattr("pinakes.cli.audit.wait_a_second", wait)
    ran = run(["audit", "tail", "--follow", "--json", "--operation", "account/grant"])
    rows = [orjson.loads(line) for line in ran.out.splitlines()]
    assert [(row["number"], row["target"]) for row in rows] == [(2, "ada"), (7, "first"), (8, "second")]


def test_following_what_never_happened_begins_when_it_happens(
    busy: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = meanwhile(lambda: None, lambda: note("ada", operation="delete_user"))
    monkeypatch.setattr("pinakes.cli.audit.wait_a_second", wait)
    ran = run(["audit", "tail", "--follow", "--json", "--operation", "account/delete_user"])
    assert [orjson.loads(line)["number"] for line in ran.out.splitlines()] == [7]


def test_every_row_is_shown_once_whatever_comes_at_a_time() -> None:
    numbers = [[], [4, 5], [], [6]]
    asked: list[int] = []

    def read(*, limit: int, after: int) -> list[AuditRow]:
        asked.append(after)
        return [_row(number) for number in numbers[len(asked) - 1]]

    shown: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        follow_rows(read, after=3, wait=meanwhile(*[lambda: None] * 4), show=lambda row: shown.append(row.number))
    assert (shown, asked) == ([4, 5, 6], [3, 3, 5, 5])


def _row(number: int) -> AuditRow:
    row = object.__new__(AuditRow)
    object.__setattr__(row, "number", number)
    return row


def _hear_ctrl_c() -> None:
    """Take back that signals are ignored, as in a run that was started in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_following_without_a_word(busy: Path) -> None:
    command = [sys.executable, "-m", "pinakes", "audit", "tail", "-n", "1", "--follow"]
    following = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_hear_ctrl_c,  # noqa: PLW1509
    )
    assert following.stdout is not None
    assert b"account/enable_user" in following.stdout.readline()
    following.send_signal(signal.SIGINT)
    out, err = following.communicate(timeout=60)
    assert (following.returncode, out, err) == (0, b"", b"")


def test_a_whole_audit_is_found_whole_and_its_head_can_be_written_down(busy: Path, run: Run) -> None:
    ran = run(["audit", "verify"])
    assert ran.code == 0
    assert "6 rows, all as they were written" in ran.out
    report = run(["audit", "verify", "--json"]).json
    assert (report["whole"], report["rows"], report["first_problem"]) == (True, 6, None)
    assert f"head: {report['head']}" in ran.out
    note("later")
    later = run(["audit", "verify", "--expect", report["head"], "--json"])
    assert (later.code, later.json["rows"]) == (0, 7)


@pytest.mark.parametrize(
    ("statements", "row"),
    [
        (["UPDATE audit SET outcome = 'ok', error_code = NULL WHERE number = 4"], 4),
        (["UPDATE audit SET principal = 'bob' WHERE number = 1"], 1),
        (["UPDATE audit SET target = 'bob' WHERE number = 6"], 6),
        (["UPDATE audit SET outcome = 'fine' WHERE number = 2"], 2),
        (["UPDATE audit SET at = 'yesterday' WHERE number = 2"], 2),
        (["UPDATE audit SET parameters = 'no JSON' WHERE number = 3"], 3),
        (["DELETE FROM audit WHERE number = 1"], 1),
        (["DELETE FROM audit WHERE number = 3"], 3),
        (["DELETE FROM audit WHERE number = 6"], 6),
        (["DELETE FROM audit"], 1),
    ],
)
def test_a_row_that_was_changed_by_hand_is_found(busy: Path, run: Run, statements: list[str], row: int) -> None:
    change(busy, *statements)
    ran = run(["audit", "verify"])
    assert ran.code == 1
    assert f"row {row} " in ran.err
    assert ran.out == f"{row - 1} rows are as they were written\n"
    report = run(["audit", "verify", "--json"])
    assert (report.code, report.json["whole"], report.err) == (1, False, "")
    assert f"row {row} " in report.json["first_problem"]
    tail = run(["audit", "tail"])
    assert tail.code in (0, StorageError.exit_code)
    assert "Traceback" not in tail.err


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DELETE FROM audit_head", "the head of the audit is missing"),
        ("UPDATE audit_head SET number = 5", "row 6 was not written by Pinakes"),
        ("UPDATE audit_head SET number = 'x'", ""),
        ("DROP TABLE audit", "no such table"),
    ],
)
def test_a_head_or_table_that_was_changed_by_hand_is_found(busy: Path, run: Run, statement: str, says: str) -> None:
    change(busy, statement)
    ran = run(["audit", "verify"])
    assert ran.code in (1, StorageError.exit_code)
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.startswith("pinakes: ")


def test_an_audit_that_was_written_anew_is_found_by_the_head_that_was_noted(busy: Path, run: Run) -> None:
    head = run(["audit", "verify", "--json"]).json["head"]
    for file in busy.glob("control.sqlite*"):
        file.unlink()
    for name in "abcdefgh":
        run(["user", "add", name])
    assert run(["audit", "verify"]).code == 0
    ran = run(["audit", "verify", "--expect", head])
    assert ran.code == 1
    assert "row 6 does not have the expected hash" in ran.err


def test_every_command_has_an_example() -> None:
    for name, command in audit_command.commands.items():
        assert f"Example: pinakes audit {name}" in (command.help or ""), name
