"""`stackroom access`: which catalogues are kept for whom."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stackroom.control.control import Control
from stackroom.errors import NotFoundError
from stackroom.settings import Settings

pytestmark = pytest.mark.row("Z3")

Run = Callable[..., Any]


@pytest.fixture
def home(home: Path) -> Path:
    """A library with the catalogues 'anime' and 'personal', and nobody with an account."""
    for name in ("anime", "personal"):
        (home / "catalogues" / name).mkdir(parents=True)
        (home / "catalogues" / name / "installed.json").write_text('{"spec": "anime"}')
    return home


@pytest.fixture
def shared(home: Path, run: Run) -> Path:
    """The same library with the users ada and bob."""
    for name in ("ada", "bob"):
        run(f"user add {name}")
    return home


def hidden_from(home: Path, name: str) -> frozenset[str]:
    with closing(Control.open(Settings(home=home))) as control:
        return control.access.hidden_from(control.accounts.get_user(name))


def test_a_restricted_catalogue_is_hidden_from_everybody_else(shared: Path, run: Run) -> None:
    run("user role bob editor")
    run("user add eve")
    ran = run("access restrict personal --user Ada --role editor")
    assert (
        ran.out == "'personal' is for user 'ada', role 'editor', and for those with ServerAdmin\n"
    )
    assert [hidden_from(shared, name) for name in ("ada", "bob", "eve")] == [
        set(),
        set(),
        {"personal"},
    ]
    anime, personal = run("access list --json").json["catalogues"]
    assert anime["restricted"] is False
    assert personal == {
        "catalogue": "personal",
        "restricted": True,
        "users": ["ada"],
        "roles": ["editor"],
        "installed": True,
    }
    assert "ada" in run("access list").out


def test_the_restriction_of_a_catalogue_that_is_gone_is_shown_and_can_be_lifted(
    shared: Path, run: Run
) -> None:
    run("access restrict personal --user ada")
    shutil.rmtree(shared / "catalogues" / "personal")
    assert run("access list").out.splitlines()[2].split()[-1] == "no"
    assert run("access open personal").code == 0
    assert [row["catalogue"] for row in run("access list --json").json["catalogues"]] == ["anime"]


def test_a_misspelt_catalogue_does_not_make_a_control_database(home: Path, run: Run) -> None:
    assert run("access restrict anmie").code == NotFoundError.exit_code
    assert run("access open anime").code == NotFoundError.exit_code
    assert not (home / "control.sqlite").exists()


def test_an_empty_library_says_how_to_fill_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "new"))
    assert "stackroom init" in run("access list").out
