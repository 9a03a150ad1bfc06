"""`stackroom new` and the commands and choices that packages bring in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.row("N11")

Run = Callable[..., Any]


def test_a_package_is_written_under_a_name_that_python_can_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    told = run(["new", "board-games"])
    assert told.code == 0, told.err
    assert "install it: pip install ./board-games" in told.out
    assert (tmp_path / "board-games" / "board_games" / "catalogue.toml").is_file()
    assert (
        'board-games = "board_games:PACKAGE"'
        in (tmp_path / "board-games" / "pyproject.toml").read_text()
    )
    left = [
        path
        for path in (tmp_path / "board-games").rglob("*")
        if path.is_file() and "$" in path.read_text()
    ]
    assert left == []


@pytest.mark.parametrize(
    ("name", "said"), [("2001", "begin with a letter"), ("Games", "lower-case letters")]
)
def test_a_name_that_no_module_or_catalogue_can_have_is_refused(
    tmp_path: Path, run: Run, name: str, said: str
) -> None:
    told = run(["new", name, "--output", str(tmp_path / "out")])
    assert told.code == 2
    assert said in told.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("papers", "a catalogue package 'papers' is installed already; choose another name"),
        ("json", "'json' is a Python module that is installed already; choose another name"),
        (
            "stackroom",
            "'stackroom' is a Python module that is installed already; choose another name",
        ),
        ("class", "'class' cannot name a Python module"),
    ],
)
def test_a_name_under_which_the_package_could_not_be_loaded_is_refused(
    tmp_path: Path, run: Run, name: str, said: str
) -> None:
    told = run(["new", name, "--output", str(tmp_path / "out")])
    assert told.code == 2
    assert said in told.err
    assert not (tmp_path / "out").exists()


def test_the_declaration_of_a_new_package_is_valid(tmp_path: Path, run: Run) -> None:
    run(["new", "games", "--output", str(tmp_path / "out")])
    assert run(
        ["spec", "check", str(tmp_path / "out" / "games" / "catalogue.toml")]
    ).out.startswith("ok: 'games'")


def test_a_misspelt_command_of_a_package_is_recognised(run: Run) -> None:
    assert "no command 'exprot' (did you mean 'export'?)" in run(["exprot"]).err


def test_the_former_name_of_a_choice_of_tools_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path))
    assert "the library is empty" in run(["serve", "--tools", "own"]).err
    assert (
        "'seeds' is not one of 'auto', 'own', 'generic', 'all'"
        in run(["serve", "--tools", "seeds"]).err
    )


def test_the_packages_that_are_installed_are_listed_with_what_they_add(run: Run) -> None:
    listed = run(["packages"]).out
    assert "music (stackroom " in listed
    assert "tools: search_anime, recommend_similar, get_anime_details, browse_taxonomy" in listed
    rows = {row["name"]: row for row in json.loads(run(["packages", "--json"]).out)}
    assert rows["papers"]["sources"] == ["arxiv:QUERY", "s2:QUERY"]
    assert "GET /v1/player" in rows["music"]["endpoints"]
