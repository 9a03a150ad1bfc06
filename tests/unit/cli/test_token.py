"""`stackroom token`: secrets that can be piped, lists without them, and an end that holds."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.control.control import Control
from stackroom.errors import NotFoundError
from stackroom.settings import Settings

pytestmark = pytest.mark.row("Z2")

Run = Callable[..., Any]


@pytest.fixture
def home(home: Path, run: Run) -> Path:
    """A library with the catalogue 'anime' and the users ada and bob."""
    (home / "catalogues" / "anime").mkdir(parents=True)
    (home / "catalogues" / "anime" / "installed.json").write_text('{"spec": "anime"}')
    run("user add ada --role editor")
    run("user add bob")
    return home


@contextmanager
def control_of(home: Path) -> Iterator[Control]:
    with closing(Control.open(Settings(home=home))) as control:
        yield control


def works(home: Path, secret: str) -> bool:
    with control_of(home) as control:
        return control.credentials.find(secret) is not None


def test_the_secret_stands_alone_on_standard_output_and_works(home: Path, run: Run) -> None:
    ran = run("token add laptop --user Ada")
    secret = ran.out.removesuffix("\n")
    assert ran.code == 0
    assert secret.startswith("stk_t_")
    assert len(secret.split()) == 1
    assert "kind: token; user: ada; name: laptop" in ran.err
    assert "not shown again" in ran.err
    assert secret not in ran.err
    with control_of(home) as control:
        found = control.credentials.find(secret)
    assert found is not None
    assert found[1].name == "ada"


@pytest.mark.parametrize(
    ("expires", "lasts"),
    [
        ([], timedelta(days=90)),
        (["--expires", "30d"], timedelta(days=30)),
        (["--expires", "12H"], timedelta(hours=12)),
        (["--expires", "never"], None),
    ],
)
def test_a_token_lasts_as_long_as_was_said(
    home: Path, run: Run, expires: list[str], lasts: timedelta | None
) -> None:
    made = run(["token", "add", "laptop", "--user", "ada", *expires, "--json"]).json
    if lasts is None:
        assert made["expires_at"] is None
        return
    ends, began = (datetime.fromisoformat(made[key]) for key in ("expires_at", "created_at"))
    assert ends - began == lasts


def test_tokens_are_listed_of_all_users_or_of_one_without_their_secrets(
    home: Path, run: Run
) -> None:
    secrets = [run(f"token add 'of {user}' --user '{user}'").out.strip() for user in ("bob", "ada")]
    table = run("token list").out
    for_programs = run("token list --json")
    assert [one["user"] for one in for_programs.json["tokens"]] == ["ada", "bob"]
    assert [one["name"] for one in run("token list --user BOB --json").json["tokens"]] == ["of bob"]
    assert all(one["id"] in table for one in for_programs.json["tokens"])
    assert not [secret for secret in secrets if secret in table or secret in for_programs.out]


def test_sessions_are_listed_when_they_are_asked_for(home: Path, run: Run) -> None:
    with control_of(home) as control:
        control.credentials.issue_session(control.accounts.get_user("ada"))
    assert run("token list --json").json["tokens"] == []
    (session,) = run("token list --sessions --json").json["tokens"]
    assert (session["kind"], session["user"]) == ("session", "ada")
    assert "session" in run("token list --sessions").out
    assert run(f"token revoke {session['id']}").code == 0


@pytest.mark.row("Z13")
def test_a_leaked_secret_is_revoked_by_itself_and_never_repeated(home: Path, run: Run) -> None:
    made = run("token add laptop --user ada --json").json
    ran = run(f"token revoke {made['token']} --json")
    assert ran.json == {"revoked": made["id"]}
    assert not works(home, made["token"])
    again = run(f"token revoke {made['token']}")
    assert again.code == NotFoundError.exit_code
    assert made["token"] not in again.err
