"""What a killed build has left of a catalogue: every command can live with it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = [pytest.mark.row("A10"), pytest.mark.row("N12")]

COMMANDS = (["list"], ["doctor"], ["search", "anime", "robots"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a catalogue in which something has gone wrong."""
    folder = tmp_path / "home" / "catalogues" / "anime"
    folder.mkdir(parents=True)
    return folder


def _building(folder: Path) -> None:
    (folder / "building.json").write_text('{"spec": "anime"}')


def _empty_store(folder: Path) -> None:
    _building(folder)
    (folder / "records.sqlite").touch()


BEGINNINGS: dict[str, Callable[[Path], object]] = {
    "a folder": lambda _folder: None,
    "a marker half written": lambda folder: (folder / "building.json.new").write_text('{"spe'),
    "a marker and nothing else": _building,
    "an empty store": _empty_store,
}
"""What a process killed in its first moments may have left."""


@pytest.mark.parametrize("left", BEGINNINGS.values(), ids=BEGINNINGS.keys())
def test_a_build_killed_in_its_first_moments_leaves_what_other_commands_can_live_with(
    run: Run, folder: Path, tmp_path: Path, left: Callable[[Path], object]
) -> None:
    left(folder)
    for command in COMMANDS:
        assert "Traceback" not in run(command).err, command
    story = {
        "title": "A story",
        "type": "TV",
        "sources": ["https://myanimelist.net/anime/1"],
        "synopsis": "Robots meet.",
    }
    (tmp_path / "stories.jsonl").write_text(json.dumps(story) + "\n")
    finished = run(f"add {tmp_path / 'stories.jsonl'} --as anime --no-embed")
    assert finished.code == 0, finished.err
    assert "A story" in run("search anime robots").out
