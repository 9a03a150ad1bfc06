"""`stackroom` without a command."""

from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.settings import load_settings
from support.terminals import Run

pytestmark = pytest.mark.row("N17")


def lines_of_next(text: str) -> list[str]:
    return [line.split("  ")[1] for line in text.splitlines() if line.startswith("  stackroom ")]


def test_without_a_library_and_a_terminal_the_three_next_commands_are_said_and_nothing_is_made(
    home: Path, run: Run
) -> None:
    ran = run([])
    assert ran.code == 0
    assert f"There is no library yet; it will be in {home}" in ran.out
    assert lines_of_next(ran.out) == [
        "stackroom init",
        "stackroom add FILE",
        "stackroom install CLIENT",
    ]
    assert not (home / "catalogues").exists()


def test_at_a_terminal_a_library_is_offered_and_may_be_declined(
    home: Path, run_typing: Run
) -> None:
    ran = run_typing([], "n\n")
    assert "Make it now" in ran.out + ran.err
    assert lines_of_next(ran.out)[0] == "stackroom init"
    assert not (home / "catalogues").exists()


def test_a_library_is_described_with_the_next_commands(home: Path, run: Run) -> None:
    app = App(load_settings())
    add_sample(app, "personal", progress=lambda _report: None, embed=False)
    app.close()
    ran = run([])
    assert f"The library in {home} has 1 catalogue: personal (94 records)." in ran.out
    assert lines_of_next(ran.out) == [
        "stackroom search 'WORDS'",
        "stackroom add FILE",
        "stackroom install CLIENT",
    ]
    assert len(ran.out.splitlines()) <= 10


def test_a_library_with_nothing_but_unfinished_or_damaged_catalogues_is_not_said_to_be_missing(
    home: Path, run: Run
) -> None:
    for name, marker, text in (
        ("films", "building.json", '{"spec": "films"}'),
        ("games", "installed.json", "{"),
    ):
        (home / "catalogues" / name).mkdir(parents=True)
        (home / "catalogues" / name / marker).write_text(text)
    ran = run([])
    assert ran.code == 0
    assert f"The library in {home} has no catalogue that can be searched." in ran.out
    assert "'films' is unfinished: " in ran.out
    assert "run the same stackroom add again" in ran.out
    assert "'games' cannot be opened: " in ran.out
    assert lines_of_next(ran.out)[0] == "stackroom doctor"
