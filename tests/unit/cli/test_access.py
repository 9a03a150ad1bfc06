"""`stackroom access`: which catalogues are kept for whom."""

import shutil
from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = pytest.mark.row("Z3")


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


def test_the_restriction_of_a_catalogue_that_is_gone_is_shown_and_can_be_lifted(
    shared: Path, run: Run
) -> None:
    run("access restrict personal --user ada")
    shutil.rmtree(shared / "catalogues" / "personal")
    assert run("access list").out.splitlines()[2].split()[-1] == "no"
    assert run("access open personal").code == 0
    assert [row["catalogue"] for row in run("access list --json").json["catalogues"]] == ["anime"]
