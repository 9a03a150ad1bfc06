"""`stackroom new` and the commands and choices that packages bring in."""

import json
from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = pytest.mark.row("N11")


def test_a_package_is_written_under_a_name_that_python_can_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    told = run("new board-games")
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


def test_the_packages_that_are_installed_are_listed_with_what_they_add(run: Run) -> None:
    listed = run("packages").out
    assert "music (stackroom " in listed
    assert "tools: search_anime, recommend_similar, get_anime_details, browse_taxonomy" in listed
    rows = {row["name"]: row for row in json.loads(run("packages --json").out)}
    assert rows["papers"]["sources"] == ["arxiv:QUERY", "s2:QUERY"]
    assert "GET /v1/player" in rows["music"]["endpoints"]
