"""`stackroom user`, `token`, `audit` and `access`: accounts and what was done, as the owner of the
library operates them.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from stackroom.admin.users import NO_ACCOUNTS
from stackroom.cli.main import main
from stackroom.cli.operations import make_control, perform
from stackroom.control.audit import AuditLog
from stackroom.control.control import Control
from stackroom.errors import InputError, InterruptedByUser, NotFoundError, StorageError
from stackroom.settings import Settings
from support.terminals import Run, Terminal

PASSWORD = "correct horse battery"


@pytest.fixture
def at_terminal(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run a command at a terminal, with the answers to what it asks, of which those of one letter
    are seen and passwords are not; return its exit code and what it said.
    """

    def run_there(command: str, *answers: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", Terminal())
        for kind, is_letter in (("hidden", False), ("visible", True)):
            coming = iter([one for one in answers if (len(one) == 1) is is_letter])
            asked = f"click.termui.{kind}_prompt_func"
            monkeypatch.setattr(asked, lambda _prompt, coming=coming: next(coming))
        try:
            code = int(main(command.split()) or 0)
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return run_there


@contextmanager
def control_of(home: Path) -> Iterator[Control]:
    with closing(Control.open(Settings(home=home))) as control:
        yield control


def can_log_in(home: Path, name: str, password: str) -> bool:
    with control_of(home) as control:
        return control.accounts.check_login(name, password) is not None


@pytest.mark.row("Z2")
def test_a_user_who_was_added_with_a_password_logs_in_with_it(home: Path, run: Run) -> None:
    ran = run("user add Ada --password-stdin", typed=f"{PASSWORD}\n")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(
        "action: create; name: ada\nuser: ada roles: user; permissions: AccessCatalog;"
    )
    assert can_log_in(home, "ada", PASSWORD)
    assert not can_log_in(home, "ada", f"{PASSWORD}\n")


@pytest.mark.row("Z2")
def test_where_nobody_can_be_asked_a_secret_that_works_once_stands_alone_on_standard_output(
    home: Path, run: Run
) -> None:
    ran = run("user add ada")
    assert ran.code == 0
    secret = ran.out.removesuffix("\n")
    assert len(secret.split()) == 1
    assert "action: create; name: ada" in ran.err
    assert secret not in ran.err
    assert can_log_in(home, "ada", secret)
    assert not can_log_in(home, "ada", secret)


@pytest.mark.row("Z2")
def test_at_a_terminal_the_password_is_asked_for_until_it_is_typed_twice_alike(
    home: Path, at_terminal: Run
) -> None:
    code, _, err = at_terminal("user add ada", PASSWORD, "correct hoarse", PASSWORD, PASSWORD)
    assert code == 0
    assert "do not match" in err
    assert can_log_in(home, "ada", PASSWORD)


def test_with_standard_input_closed_nobody_is_asked(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("io.StringIO", lambda _typed: None)
    assert run("user add ada --password-stdin").code == InputError.exit_code
    assert run("user add ada").code == 0
    assert run("user delete ada").code == InputError.exit_code


def test_of_more_users_than_fit_a_page_the_rest_is_said(home: Path, run: Run) -> None:
    for name in ("a", "b", "c"):
        run(f"user add {name}")
    first = run("user list --limit 2")
    assert first.err == "2 of 3 are shown; the rest with --offset\n"
    assert [user["name"] for user in run("user list --offset 2 --json").json["users"]] == ["c"]


def test_nobody_types_a_password_for_a_user_who_is_not_there(
    home: Path, run: Run, at_terminal: Run
) -> None:
    run("user add ada")
    code, _, err = at_terminal("user passwd adda")  # asked for anything, it would fail
    assert code == NotFoundError.exit_code
    assert "did you mean 'ada'?" in err


def test_a_user_is_deleted_when_that_is_agreed_to(home: Path, run: Run, at_terminal: Run) -> None:
    for name in ("ada", "bob"):
        run(f"user add {name}")
    refused = run("user delete ada")
    assert refused.code == InputError.exit_code
    assert "--yes" in refused.err
    assert run("user delete ada --yes").out == "action: delete; name: ada\n"
    code, _, err = at_terminal("user delete bob", "n")
    assert code == InterruptedByUser.exit_code
    assert "nothing was done" in err
    assert [user["name"] for user in run("user list --json").json["users"]] == ["bob"]
    assert at_terminal("user delete bob", "y")[:2] == (0, "action: delete; name: bob\n")
    assert run("user list").out == f"{NO_ACCOUNTS}\n"


@pytest.mark.parametrize(
    ("typed", "options", "says"),
    [
        ("short\n", "", "8 to 1,024 characters"),
        ("", "", "the only line"),
        ("two lines\nof a secret\n", "", "the only line"),
        ("half \ud800 a letter", "", "not text"),
        (PASSWORD, "--one-time", "not both"),
    ],
)
def test_a_password_that_cannot_be_taken_is_refused_and_not_repeated(
    home: Path, run: Run, typed: str, options: str, says: str
) -> None:
    ran = run(f"user add bob --password-stdin {options}", typed=typed)
    assert (ran.code, ran.out) == (InputError.exit_code, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert not typed.strip() or typed.strip() not in ran.err
    assert run("user list --json").json["users"] == []


@pytest.mark.parametrize(("command", "listed"), [("user", "users"), ("token", "tokens")])
def test_looking_at_a_library_without_accounts_makes_none(
    home: Path, run: Run, command: str, listed: str
) -> None:
    assert "there are no" in run(f"'{command}' list").out
    assert run(f"'{command}' list --json").json[listed] == []
    assert list(home.iterdir()) == []


@pytest.mark.row("Z13")
def test_a_change_that_cannot_be_noted_is_not_made(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise StorageError("no room")

    run("user add ada")
    with monkeypatch.context() as patch:
        patch.setattr(AuditLog, "begin", fail)
        assert run("user delete ada --yes").code == StorageError.exit_code
    assert "ada" in run("user list").out


@pytest.mark.parametrize(
    "command",
    [
        "user add ada",
        "role add r --allow ServerAdmin",
        "user list",
        "token list",
        "access list",
        "audit tail",
        "audit verify",
    ],
)
def test_a_control_database_that_cannot_be_used_is_a_line_and_no_trace(
    home: Path, run: Run, command: str
) -> None:
    (home / "control.sqlite").write_text("this is not a database\n" * 1000)
    ran = run(command)
    assert (ran.code, ran.out) == (StorageError.exit_code, "")
    assert "control.sqlite" in ran.err
    assert len(ran.err.splitlines()) == 1


@pytest.fixture
def shared(home: Path, run: Run) -> Path:
    """A library with the catalogues 'anime' and 'personal' and the users ada and bob."""
    for name in ("anime", "personal"):
        (home / "catalogues" / name).mkdir(parents=True)
        (home / "catalogues" / name / "installed.json").write_text('{"spec": "anime"}')
    run("user add ada --role editor")
    run("user add bob")
    return home


def works(home: Path, secret: str) -> bool:
    with control_of(home) as control:
        return control.credentials.find(secret) is not None


@pytest.mark.row("Z2")
def test_the_secret_stands_alone_on_standard_output_and_works(shared: Path, run: Run) -> None:
    ran = run("token add laptop --user Ada")
    secret = ran.out.removesuffix("\n")
    assert ran.code == 0
    assert secret.startswith("stk_t_")
    assert len(secret.split()) == 1
    assert "kind: token; user: ada; name: laptop" in ran.err
    assert "not shown again" in ran.err
    assert secret not in ran.err
    with control_of(shared) as control:
        found = control.credentials.find(secret)
    assert found is not None
    assert found[1].name == "ada"


@pytest.mark.row("Z2")
@pytest.mark.row("Z13")
def test_a_leaked_secret_is_revoked_by_itself_and_never_repeated(shared: Path, run: Run) -> None:
    made = run("token add laptop --user ada --json").json
    ran = run(f"token revoke {made['token']} --json")
    assert ran.json == {"revoked": made["id"]}
    assert not works(shared, made["token"])
    again = run(f"token revoke {made['token']}")
    assert again.code == NotFoundError.exit_code
    assert made["token"] not in again.err


@pytest.mark.row("Z13")
def test_what_a_caller_wrote_does_not_act_on_the_terminal(home: Path, run: Run) -> None:
    with make_control() as control:
        target = "\x1b]0;owned\x07\x1b[2J [/b] [red]\u202e:star"
        perform(control, "account/grant", target, {}, lambda: None)
    ran = run("audit tail")
    assert ran.code == 0
    assert "[/b]" in ran.out
    assert not {"\x1b", "\x07", "\u202e"} & set(ran.out)


@pytest.mark.row("Z13")
def test_a_row_that_was_changed_by_hand_is_found(home: Path, run: Run) -> None:
    for name in ("ada", "bob", "cat"):
        run(f"user add {name}")
    with closing(sqlite3.connect(home / "control.sqlite")) as database, database:
        database.execute("UPDATE audit SET target = 'eve' WHERE number = 2")
    ran = run("audit verify")
    assert (ran.code, ran.out) == (1, "1 rows are as they were written\n")
    assert "row 2 " in ran.err
    report = run("audit verify --json")
    assert (report.code, report.json["whole"], report.err) == (1, False, "")
    assert "row 2 " in report.json["first_problem"]


@pytest.mark.row("Z3")
def test_the_restriction_of_a_catalogue_that_is_gone_is_shown_and_can_be_lifted(
    shared: Path, run: Run
) -> None:
    run("access restrict personal --user ada")
    shutil.rmtree(shared / "catalogues" / "personal")
    assert run("access list").out.splitlines()[2].split()[-1] == "no"
    assert run("access open personal").code == 0
    assert [row["catalogue"] for row in run("access list --json").json["catalogues"]] == ["anime"]
