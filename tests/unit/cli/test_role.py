"""`stackroom role`: permissions with a name, and how often those who have it may call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.row("Z3")

Run = Callable[..., Any]


@pytest.fixture
def home(home: Path, run: Run) -> Path:
    """A library with a user."""
    run("user add ada")
    return home


def test_a_role_may_be_the_first_thing_that_is_made(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "new"))
    assert run("role add reader --allow AccessCatalog").code == 0


def test_limits_that_are_not_given_beside_one_that_is_come_from_the_settings(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKROOM_WRITE_PER_MINUTE", "7")
    made = run("role add slow --allow AccessCatalog --read-per-minute 3 --json").json["role"]
    assert made["quotas"] == {"read": 3, "write": 7, "sql": 10}


def test_a_role_is_changed_and_what_is_not_given_stays(home: Path, run: Run) -> None:
    run("role add reader --allow AccessCatalog")
    changed = run("role change Reader --write-per-minute 7 --json").json["role"]
    expected = {"read": 120, "write": 7, "sql": 10}
    assert (changed["permissions"], changed["quotas"]) == (["AccessCatalog"], expected)
    changed = run("role change reader --allow EditCatalog --sql-per-minute 0 --json").json["role"]
    assert (changed["permissions"], changed["quotas"]) == (["EditCatalog"], {**expected, "sql": 0})
    ran = run("role change reader --allow AccessCatalog")
    assert ran.out.startswith(
        "action: update_role; name: reader\nrole: reader permissions: AccessCatalog;"
    )


def test_a_role_and_a_user_see_selected_catalogues_until_their_list_is_taken_away(
    home: Path, run: Run
) -> None:
    (home / "dishes.csv").write_text("name,price\nSoup,3\nBread,2\n")
    run(f"add {home / 'dishes.csv'} --yes --no-embed")
    made = run("role add reader --allow AccessCatalog --catalogue dishes --json").json["role"]
    assert made["catalogues"] == ["dishes"]
    assert "catalogues: dishes" in run("role change reader --read-per-minute 3").out
    assert "catalogues" not in run("role change reader --catalogue all --json").json["role"]
    assert "catalogues: dishes" in run("user catalogues ada dishes").out
    assert run("user show ada --json").json["users"][0]["catalogues"] == ["dishes"]
    assert "no catalogue 'wines'" in run("user catalogues ada wines").err
    assert "sees only" not in run("user catalogues ada all").out
