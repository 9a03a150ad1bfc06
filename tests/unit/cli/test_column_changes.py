"""`stackroom add` of a table whose columns changed: what is new, gone or of another type is said, and asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.library import COLUMNS_FILE

pytestmark = pytest.mark.row("N1")
Run = Callable[..., Any]

HEAD = "Code,Title,Author,Year,Price"
ROWS = ("a1,Circe,Madeline Miller,2018,9.5", "a2,Heat,Michael Mann,1995,8", "a3,Ran,Akira Kurosawa,1985,7")


@pytest.fixture
def films(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A table from which a catalogue was built."""
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "home"))
    path = tmp_path / "films.csv"
    write(path, HEAD, ROWS)
    ran = run(["add", str(path), "--yes", "--no-embed", "--drop", "Author"])
    assert ran.code == 0, ran.err
    return path


def write(path: Path, head: str, rows: tuple[str, ...]) -> None:
    path.write_text("\n".join((head, *rows)) + "\n")


def grow(path: Path) -> None:
    """Add a column of numbers, and let the price be a word."""
    rows = tuple(f"{row.rpartition(',')[0]},cheap,{stars}" for stars, row in enumerate(ROWS, start=3))
    write(path, f"{HEAD},Stars", rows)


def test_a_table_that_is_as_it_was_is_added_without_a_word_about_columns(films: Path, run: Run) -> None:
    ran = run(["add", str(films), "--no-embed"])
    assert ran.code == 0, ran.err
    assert "column" not in ran.out


def test_new_columns_and_other_types_are_noted_and_the_spec_stays(films: Path, run: Run) -> None:
    before = run(["spec", "show", "films"]).out
    grow(films)
    for options in ([], ["--yes"]):
        ran = run(["add", str(films), "--no-embed", *options])
        assert ran.code == 0, ran.err
        assert "new columns: 'Stars' (int)" in ran.out
        assert "'Price' was float, and is text now" in ran.out
        assert "--adopt" in ran.out
        assert "Author" not in ran.out
        assert run(["spec", "show", "films"]).out == before
    notes = run(["add", str(films), "--no-embed", "--json"]).json["notes"]
    assert any("new columns: 'Stars' (int)" in note for note in notes)


def test_changed_columns_are_taken_into_the_spec_by_option_and_nothing_else_changes(
    films: Path, run: Run, find_records: Run
) -> None:
    run(["spec", "show", "films"])
    grow(films)
    run(["add", str(films), "--no-embed"])
    ran = run(["add", str(films), "--no-embed", "--adopt"])
    assert ran.code == 0, ran.err
    assert "new columns" not in ran.out
    spec = run(["spec", "show", "films"]).out
    assert '[fields.stars]\ntype = "int"\npath = "Stars"' in spec
    assert '[fields.price]\ntype = "text"' in spec
    assert "author" not in spec
    found = find_records("films", "heat", "--stars", "4..4")
    assert [(film["stars"], film["price"]) for film in found] == [(4, "cheap")]
    again = run(["add", str(films), "--no-embed"])
    assert "column" not in again.out


def test_the_question_is_put_at_a_terminal_and_a_no_is_remembered(films: Path, run: Run, run_typing: Run) -> None:
    grow(films)
    asked = run_typing(["add", str(films), "--no-embed"], "n\n")
    assert asked.code == 0, asked.err
    assert "Take them into the spec? [y/N]" in asked.out
    assert "stars" not in run(["spec", "show", "films"]).out
    assert "Take" not in run_typing(["add", str(films), "--no-embed"], "").out


def test_a_yes_at_the_terminal_takes_them(films: Path, run: Run, run_typing: Run) -> None:
    grow(films)
    asked = run_typing(["add", str(films), "--no-embed"], "y\n")
    assert asked.code == 0, asked.err
    assert "[fields.stars]" in run(["spec", "show", "films"]).out


def test_a_column_that_is_gone_is_said_and_its_field_stays(films: Path, run: Run, run_typing: Run) -> None:
    write(films, "Code,Title,Author,Year", tuple(row.rpartition(",")[0] for row in ROWS))
    ran = run(["add", str(films), "--no-embed"])
    assert ran.code == 0, ran.err
    assert "no row has a column for these fields: 'price' (from 'Price')" in ran.out
    asked = run_typing(["add", str(films), "--no-embed"], "")
    assert "columns that are gone: 'Price'" in asked.out
    assert "[fields.price]" in run(["spec", "show", "films"]).out


def test_a_catalogue_of_an_earlier_version_is_compared_with_its_spec_alone(
    films: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "home" / "catalogues" / "films" / COLUMNS_FILE).unlink()
    grow(films)
    ran = run(["add", str(films), "--no-embed"])
    assert ran.code == 0, ran.err
    assert "new columns: 'Author' (text), 'Stars' (int)" in ran.out
    assert "'Price' was float, and is text now" in ran.out


def test_the_next_year_s_file_is_compared_with_what_is_known_of_the_last(films: Path, run: Run, tmp_path: Path) -> None:
    other = tmp_path / "films-2026.csv"
    grow(films)
    films.rename(other)
    ran = run(["add", str(other), "--name", "films", "--no-embed"])
    assert ran.code == 0, ran.err
    assert "new columns: 'Stars' (int)" in ran.out
    assert "Author" not in ran.out


def test_columns_that_a_role_would_lose_are_refused_with_what_to_do(films: Path, run: Run) -> None:
    before = run(["spec", "show", "films"]).out
    assert 'role = "time"' in before
    write(films, HEAD, tuple(row.replace(row.split(",")[3], "long ago") for row in ROWS))
    ran = run(["add", str(films), "--no-embed", "--adopt"])
    assert ran.code == InputError.exit_code
    assert "change the spec by hand: stackroom spec show films" in ran.err
    assert run(["spec", "show", "films"]).out == before


def test_adopt_is_for_the_spec_of_the_catalogue(films: Path, run: Run) -> None:
    ran = run(["add", str(films), "--as", "papers", "--adopt"])
    assert ran.code == InputError.exit_code
    assert "--adopt is for the spec that a catalogue has" in ran.err
