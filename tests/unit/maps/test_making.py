"""Maps in a library: made by a build, by `stackroom map`, by a job, and beside a server."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from numpy.linalg import LinAlgError

from stackroom.assembly.upkeep import LOOKS_FOR_VECTORS, QUIET_LOOKS, MapTask, run_map_process
from stackroom.background.background import TaskContext
from stackroom.errors import StorageError, UnavailableError
from stackroom.maps import making
from stackroom.maps.map_file import MAP_FILE, find_map
from stackroom.shelf.port import Checkpoint, never_stop
from stackroom.tools.health import check_catalogue
from support.damaging import NAME, ROWS, add_films, build_library, open_app


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A library with a catalogue of forty films."""
    build_library(tmp_path / "home")
    return tmp_path / "home"


def map_of(home: Path) -> Path:
    return home / "catalogues" / NAME / MAP_FILE


def test_a_build_ends_with_a_map(home: Path) -> None:
    stored = find_map(map_of(home))
    assert stored is not None
    assert len(stored.keys) == ROWS


def test_an_update_that_changes_much_makes_the_map_anew_and_one_that_changes_little_does_not(
    home: Path,
) -> None:
    before, table = map_of(home).read_bytes(), home.parent / "films.csv"
    rows = table.read_text().splitlines()
    table.write_text("\n".join([*rows, "One more,2001,drama,robot river winter"]) + "\n")
    add_films(home, table)
    assert map_of(home).read_bytes() == before
    table.write_text(
        "\n".join([*rows, *(f"More {one},2001,crime,moon thief ship" for one in range(9))]) + "\n"
    )
    add_films(home, table)
    stored = find_map(map_of(home))
    assert stored is not None
    assert len(stored.keys) == ROWS + 9


def test_a_build_says_that_its_map_cannot_be_kept_and_is_whole_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any) -> None:
        raise StorageError("map.bin cannot be written: No space left on device")

    monkeypatch.setattr(making, "save_map", refuse)
    build_library(tmp_path / "home")
    assert not map_of(tmp_path / "home").exists()
    with closing(open_app(tmp_path / "home")) as app:
        assert (
            app.open_catalogue(NAME).map.find(app.open_catalogue(NAME).shelf.reader()) is not None
        )


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (StorageError("map.bin is locked"), "map.bin is locked"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
        (LinAlgError("SVD did not converge"), "SVD did not converge"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_a_map_is_never_the_reason_why_something_else_fails(
    home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> Any:
        raise error

    with closing(open_app(home)) as app:
        shelf = app.open_catalogue(NAME).shelf
        map_of(home).unlink()
        monkeypatch.setattr(making, "make_map", refuse)
        assert making.keep_map(map_of(home).parent, shelf) == f"the map could not be kept: {says}"


def test_a_map_beside_a_server_is_made_by_a_process_that_is_ended_when_it_is_to_stop(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    (home / "stackroom.py").write_text(
        "raise SystemExit('nothing is imported from the current folder')"
    )
    monkeypatch.chdir(home)
    map_of(home).unlink()
    with pytest.raises(KeyboardInterrupt):
        run_map_process(home, NAME, stop)
    assert not map_of(home).exists()
    assert run_map_process(home, NAME, never_stop) == "40 records laid out"
    assert map_of(home).exists()
    with pytest.raises(UnavailableError, match="did you mean 'films'"):
        run_map_process(home, "filmz", never_stop)


def test_the_command_makes_a_map_leaves_a_good_one_and_replaces_a_damaged_one(
    home: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    assert (
        run(["map", NAME]).out
        == f"{NAME}: up to date; 0 of 40 records changed since it was laid out\n"
    )
    made = run(["map", "--anew", "--json"]).json[NAME]
    assert (made["records"], made["made"], made["changed"]) == (ROWS, True, 0)
    whole = map_of(home).read_bytes()
    map_of(home).write_bytes(whole[:-1] + b"?")
    with closing(open_app(home)) as app:
        (problem,) = check_catalogue(app.open_catalogue(NAME))
    assert str(problem) == f"map.bin is damaged; make it anew with: stackroom map {NAME}"
    assert f"{NAME}: 40 records laid out in" in run(["map"]).out
    assert map_of(home).read_bytes() == whole
    unknown = run(["map", "filmz"])
    assert unknown.code != 0
    assert "did you mean 'films'?" in unknown.err


def test_a_server_has_a_missing_map_made_once_when_its_catalogue_is_quiet(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "SMALL", 10)
    map_of(home).unlink()
    asked: list[str] = []
    with closing(open_app(home)) as app:
        app.build_gate()
        (catalogue,) = app.list_served()
        assert catalogue.map.find(catalogue.shelf.reader()) is None

        def make(name: str, _checkpoint: Checkpoint) -> str:
            asked.append(name)
            return str(making.refresh_map(map_of(home).parent, catalogue.shelf))

        watch = MapTask(app, run_map=make)
        for look in range(QUIET_LOOKS):
            assert asked == [], f"it was not quiet before look {look}"
            watch.run(TaskContext())
        assert asked == [NAME]
        for _ in range(LOOKS_FOR_VECTORS):
            watch.run(TaskContext())
        assert asked == [NAME]

        def surprise(_name: str, _checkpoint: Checkpoint) -> str:
            raise RuntimeError("a surprise")

        map_made = map_of(home).read_bytes()
        map_of(home).unlink()
        surprised = MapTask(app, run_map=surprise)
        for _ in range(QUIET_LOOKS):
            surprised.run(TaskContext())
        map_of(home).write_bytes(map_made)
        placed = catalogue.map.find(catalogue.shelf.reader())
        assert placed is not None
        assert len(placed.keys) == ROWS
