"""Board games and those who design them, by a declaration alone: from one file, and from two."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import list_sources, refresh_from_source
from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import load_settings
from support.terminals import Run

pytestmark = [pytest.mark.row("N1"), pytest.mark.row("N11")]

DECLARATION = """
name = "boardgames"
title = "Board games"
summary = "Games and those who design them."
id = "id"
{kind}
editable = true

[kinds.game]
{game_sources}
[kinds.designer]
{designer_sources}
[relations.designers]
kind = "game"
field = "designerIds"
to = "designer"
copies = "designers"

[fields.name]
type = "text"
role = "title"
search = true

[fields.year]
type = "int"
filter = true
kinds = ["game"]

[fields.designerIds]
type = "text[]"
split = ";"
filter = true
kinds = ["game"]

[fields.designers]
type = "text[]"
split = ";"
search = true
kinds = ["game"]

[fields.country]
type = "text"
filter = true
kinds = ["designer"]
"""
GAMES = [
    ("g1", "Catan", "1995", "d1", "Klaus Teuber"),
    ("g2", "Pandemic", "2008", "d2", "Matt Leacock"),
    ("g3", "Forbidden Island", "2010", "d2", "Matt Leacock"),
    ("g7", "Orleans", "2014", "d3", "Reiner Stockhausen"),
]
DESIGNERS = [
    ("d1", "Klaus Teuber", "Germany"),
    ("d2", "Matt Leacock", "USA"),
    ("d3", "Reiner Stockhausen", "Germany"),
    ("d4", "Inka Brand", "Germany"),
]
GAME_COLUMNS = ("id", "name", "year", "designerIds", "designers")
DESIGNER_COLUMNS = ("id", "name", "country")
EVERY_NAME = " ".join([*(name for _, name, *_ in (*GAMES, *DESIGNERS)), "Markus"])


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def one_file(tmp_path: Path) -> list[str]:
    """The arguments that add one file with a column for the kind."""
    (tmp_path / "games.toml").write_text(
        DECLARATION.format(kind='kind = "what"', game_sources="", designer_sources="")
    )
    rows = [(*game, "game", "") for game in GAMES]
    rows += [(one, name, "", "", "", "Designer", country) for one, name, country in DESIGNERS]
    table = write_csv(tmp_path / "all.csv", (*GAME_COLUMNS, "what", "country"), rows)
    return ["add", str(table), "--spec", str(tmp_path / "games.toml"), "--no-embed", "--json"]


@pytest.fixture
def two_files(tmp_path: Path) -> dict[str, list[str]]:
    """The arguments that add each of two files, whose names say the kind of their rows."""
    game_sources, designer_sources = 'sources = ["games.csv"]', 'sources = ["designers*.csv"]'
    declaration = DECLARATION.format(
        kind="", game_sources=game_sources, designer_sources=designer_sources
    )
    (tmp_path / "games.toml").write_text(declaration)
    tables = {
        "games": write_csv(tmp_path / "games.csv", GAME_COLUMNS, GAMES),
        "designers": write_csv(tmp_path / "designers.csv", DESIGNER_COLUMNS, DESIGNERS),
    }
    spec = ["--spec", str(tmp_path / "games.toml"), "--no-embed", "--json"]
    return {name: ["add", str(table), *spec] for name, table in tables.items()}


@contextmanager
def served() -> Iterator[Gate]:
    with closing(App(load_settings())) as app:
        yield app.build_gate()


def call(gate: Gate, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = gate.call(LOCAL_USER, tool, arguments)
    assert answer.structured is not None
    return answer.structured


def found_kinds(gate: Gate, kind: str) -> list[str]:
    found = call(gate, "search", query=EVERY_NAME, filters={"kind": [kind]}, limit=20)
    return sorted(one["id"].removeprefix("boardgames/") for one in found["results"])


def require_working(gate: Gate) -> None:
    """Check that the records of both kinds are found, shown, edited and protected by their
    relation.
    """
    assert found_kinds(gate, "designer") == ["d1", "d2", "d3", "d4"]
    assert found_kinds(gate, "game") == ["g1", "g2", "g3", "g7"]
    shown = call(gate, "fetch", id="boardgames/d1")
    assert (shown["metadata"]["kind"], shown["title"]) == ("designer", "Klaus Teuber")
    ids = {"designerIds": ["d1", "d4"]}
    made = call(gate, "catalog.mutate", action="update", id="g7", fields=ids)
    (changed,) = made["changes"]
    assert {one["field"]: one["after"] for one in changed["fields"]} == {
        **ids,
        "designers": ["Klaus Teuber", "Inka Brand"],
    }
    wrong = gate.call(
        LOCAL_USER,
        "catalog.mutate",
        {"action": "update", "id": "g7", "fields": {"designerIds": ["g1"]}},
    )
    assert "there is no designer 'g1'" in wrong.text
    refused = gate.call(LOCAL_USER, "catalog.mutate", {"action": "delete", "id": "d1"})
    assert isinstance(refused.error, ExpectedError)
    assert "designer 'd1' is named by 2 records: game 'g1', game 'g7'" in refused.text
    assert found_kinds(gate, "designer") == ["d1", "d2", "d3", "d4"]


def test_kinds_and_relations_work_from_one_file_by_declaration_alone(
    one_file: list[str], run: Run
) -> None:
    added = run(one_file).json
    assert (added["written"], added["rejected"], added["dangling"], added["notes"]) == (8, 0, 0, [])
    with served() as gate:
        require_working(gate)


@pytest.mark.parametrize("order", [("games", "designers"), ("designers", "games")])
def test_kinds_and_relations_work_from_two_files_in_any_order(
    two_files: dict[str, list[str]], run: Run, order: tuple[str, str]
) -> None:
    for name in order:
        added = run(two_files[name]).json
        assert (added["written"], added["rejected"]) == (4, 0)
    assert (added["dangling"], added["notes"]) == (0, [])
    with served() as gate:
        require_working(gate)


def test_dangling_ids_are_counted_listed_and_resolved_by_the_second_file(
    two_files: dict[str, list[str]], tmp_path: Path, run: Run
) -> None:
    added = run(two_files["games"]).json
    assert added["dangling"] == 4
    assert added["notes"] == [
        "'designerIds' of game records names records that do not exist: 'd1', 'd2', 'd3'"
    ]
    listed = run("rejects boardgames --json").json
    assert listed[0] == {
        "source": str(tmp_path / "games.csv"),
        "place": "line 2",
        "reason": "'g1' is kept; 'designerIds' names the designer 'd1', which does not exist",
    }
    assert len(listed) == 4
    assert "rows with such ids: stackroom rejects boardgames" in run(two_files["games"][:-1]).out
    run(two_files["designers"])
    assert run("rejects boardgames").out == "no row was left out\n"


def test_an_id_of_another_kind_is_dangling(
    two_files: dict[str, list[str]], tmp_path: Path, run: Run
) -> None:
    write_csv(tmp_path / "games.csv", GAME_COLUMNS, [*GAMES, ("g8", "Odd", "2020", "g1", "")])
    run(two_files["designers"])
    assert run(two_files["games"]).json["dangling"] == 1
    (listed,) = run("rejects boardgames --json").json
    assert (
        listed["reason"]
        == "'g8' is kept; 'designerIds' names the designer 'g1', which does not exist"
    )


def test_ids_that_collide_between_kinds_are_rejected_within_a_file_and_between_files(
    one_file: list[str], two_files: dict[str, list[str]], tmp_path: Path, run: Run
) -> None:
    del one_file
    write_csv(
        tmp_path / "designers.csv", DESIGNER_COLUMNS, [*DESIGNERS, ("g1", "Not Catan", "USA")]
    )
    run(two_files["games"])
    added = run(two_files["designers"]).json
    assert (added["written"], added["rejected"]) == (4, 1)
    (listed,) = run("rejects boardgames --json").json
    assert (listed["place"], listed["reason"]) == (
        "line 6",
        "'g1' is already the id of a game; ids are unique across kinds",
    )
    with served() as gate:
        assert call(gate, "fetch", id="boardgames/g1")["title"] == "Catan"


def test_two_rows_of_one_file_with_one_id_say_that_kinds_share_ids(
    one_file: list[str], tmp_path: Path, run: Run
) -> None:
    with (tmp_path / "all.csv").open("a", encoding="utf-8") as file:
        file.write("d1,A Game,,,,game,\n")
    assert run(one_file).json["duplicates"] == 1
    (listed,) = run("rejects boardgames --json").json
    assert listed["reason"] == "'d1' is already the id of line 6; ids are unique across kinds"


def test_a_source_that_is_refreshed_keeps_the_kind_of_its_rows(
    two_files: dict[str, list[str]], tmp_path: Path, run: Run
) -> None:
    for arguments in two_files.values():
        run(arguments)
    write_csv(
        tmp_path / "designers.csv",
        DESIGNER_COLUMNS,
        [*DESIGNERS, ("d5", "Markus Brand", "Germany")],
    )
    with closing(App(load_settings())) as app:
        for source in list_sources(app):
            refresh_from_source(app, source, lambda _rows: None)
        assert found_kinds(app.build_gate(), "designer") == ["d1", "d2", "d3", "d4", "d5"]


def test_the_declaration_of_a_built_in_catalogue_is_checked_without_a_path_to_its_kinds(
    run: Run,
) -> None:
    repository = Path(__file__).parents[3]
    ran = run(
        f"spec check {repository / 'src' / 'stackroom_catalogues' / 'documents' / 'catalogue.toml'}"
    )
    assert ran.out.startswith("ok: 'documents'")
