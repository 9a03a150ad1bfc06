"""What a search prints: titles, telling fields with their names, and labels; on a terminal and in a
pipe.
"""

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stackroom.cli.main import main
from support.terminals import Run, Terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
BOOKS = """\
book_id,isbn13,title,authors,year,average_rating,ratings_count,ratings_1,ratings_2,image_url
1,9780000000017,The Casual Vacancy,J.K. Rowling,2012,3.28,231835,24583,38326,https://example.org/1.jpg
2,9780000000024,Kafka on the Shore,Haruki Murakami,2002,4.13,154002,2000,9000,https://example.org/2.jpg
3,9780000000031,Norwegian Wood,Haruki Murakami,1987,4.02,190000,3000,11000,https://example.org/3.jpg
4,9780000000048,The Silkworm,J.K. Rowling,2014,4.03,150000,2100,7000,https://example.org/4.jpg
"""
FILMS = """\
id,title,year,minutes,genre,plot
f1,Inception,2010,148 min,Thriller,A thief enters the dreams of others \
and is asked to plant an idea in one.
f2,Paprika,2006,90 min,Animation,A machine that shows dreams is stolen \
and dreams leak into the streets of the city.
f3,Vertigo,1958,128 min,Thriller,A detective who fears heights follows \
a woman through San Francisco.
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture
def own(library: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """A library of two tables of one's own, without vectors."""
    monkeypatch.setenv("STACKROOM_HOME", str(library))
    for name, text in (("books", BOOKS), ("films", FILMS)):
        if not (library / "catalogues" / name).exists():
            (library / f"{name}.csv").write_text(text)
            assert run(f"add {library / f'{name}.csv'} --yes --no-embed").code == 0
    return library


@pytest.mark.row("N1")
def test_a_hit_has_its_title_its_telling_fields_with_their_names_and_its_label(
    own: Path, run: Run
) -> None:
    first, fields, *_rest = run("search books 'The Casual Vacancy'").out.splitlines()
    assert first == "1. The Casual Vacancy [1]  identical"
    assert (
        fields
        == "   authors: J.K. Rowling · year: 2012 · average_rating: 3.28 · ratings_count: 231835"
    )


@pytest.mark.row("N1")
def test_a_search_that_names_no_catalogue_is_over_all_of_them(own: Path, run: Run) -> None:
    printed = run("search dreams").out
    assert "[films/f2]" in printed
    assert "minutes: 90 min" in printed
    found = run("search dreams --json").json
    assert {one["catalogue"] for one in found["results"]} == {"films"}
    assert {one["id"] for one in found["results"]} == {"films/f1", "films/f2"}


def test_a_hit_has_the_fields_that_were_filtered_by(own: Path, run: Run) -> None:
    assert "isbn13: " not in run("search books 'Norwegian Wood'").out
    assert "isbn13: " in run("search books 'Norwegian Wood' --isbn13 9780000000031").out


@pytest.mark.row("N1")
def test_a_pipe_has_whole_lines_without_colours(own: Path, run: Run) -> None:
    printed = run("search films dreams").out
    assert "\x1b" not in printed
    assert (
        "   A thief enters the dreams of others and is asked to plant an idea in one.\n" in printed
    )
    record = run("get films f2").out
    assert (
        "plot     A machine that shows dreams is stolen and dreams leak into the streets of the"
        " city.\n" in record
    )


@pytest.fixture
def on_screen(own: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], str]:
    """Run a command at a terminal of 60 columns, and return what it shows."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")

    def show(arguments: list[str]) -> str:
        screen = Terminal()
        with monkeypatch.context() as patch, contextlib.suppress(SystemExit):
            patch.setattr("sys.stdout", screen)
            main(arguments)
        return screen.getvalue()

    return show


def test_a_terminal_has_colours_unless_they_are_not_wanted(
    on_screen: Callable[[list[str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36mgenre: \x1b[0mThriller" in on_screen(["search", "films", "dreams"])
    monkeypatch.setenv("NO_COLOR", "1")
    plain = on_screen(["search", "films", "dreams"])
    assert "genre: Thriller" in plain
    assert "\x1b[3" not in plain


def test_a_terminal_has_lines_within_its_width_and_one_of_the_body(
    on_screen: Callable[[list[str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    lines = [
        ESCAPE.sub("", line)
        for line in on_screen(["search", "books", "The Casual Vacancy"]).splitlines()
    ]
    assert lines[1:3] == [
        "   authors: J.K. Rowling · year: 2012 · average_rating: 3.28",
        "   · ratings_count: 231835",
    ]
    films = on_screen(["search", "films", "dreams"])
    assert "   A thief enters the dreams of others and is asked to plan…\n" in films


def test_records_are_exported_to_a_file_by_its_ending(own: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "films.csv"
    assert "films.csv" in run(f"export films --year ..2009 --to {target}").out
    assert [line.split(",")[0] for line in target.read_text().splitlines()] == ["id", "f2", "f3"]


def test_counts_by_group_are_exported_with_filters(own: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "years.csv"
    assert run(f"export films --year ..2009 --by year --sort value --to {target}").code == 0
    assert target.read_text().splitlines() == ["year,count", "1958,1", "2006,1"]


def test_an_export_replaces_no_file_unless_told_to(own: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "films.csv"
    target.write_text("mine")
    refused = run(f"export films --to {target}")
    assert refused.code != 0
    assert "--force replaces it" in refused.err
    assert target.read_text() == "mine"
    run(f"export films --to {target} --force")
    assert target.read_text().startswith("id,title")
    assert [path.name for path in tmp_path.iterdir() if "films" in path.name] == ["films.csv"]
