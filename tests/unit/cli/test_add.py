"""`stackroom add` on tables of any kind: what is understood is shown, asked about, built, and kept
up to date.
"""

from pathlib import Path

import pytest

from stackroom.errors import InputError
from support.terminals import Run

pytestmark = pytest.mark.row("N1")

BOOKS = (
    "Book Id,Title,Author,ISBN,My Rating,Year Published,Date Read,Bookshelves,My Review\n1,The"
    ' Hunger Games,Suzanne Collins,"=""0439023483""",5,2008,2015/04/30,"dystopia, favorites",A'
    ' fight to the end\n2,Circe,Madeline Miller,"=""0316556343""",4,2018,,"myths, favorites",A'
    ' witch finds her island\n3,The Odyssey,Homer,"=""""",,1614,2012/01/02,myths,The long way'
    " home\n"
)


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A small export of a reader's books."""
    path = tmp_path / "My Books.csv"
    path.write_text(BOOKS)
    return path


def test_a_table_of_ones_own_is_understood_built_and_searched(
    books: Path, run: Run, find_records: Run
) -> None:
    ran = run(f"add '{books}' --yes --no-embed")
    assert ran.code == 0, ran.err
    for said in (
        "bookshelves",
        "tag[]",
        "first records",
        "The Hunger Games",
        "3 rows: 3 written",
        "0 rejected",
    ):
        assert said in ran.out
    assert "stackroom serve my-books" in ran.out
    (book,) = find_records("my-books", "witch")
    assert (book["id"], book["title"], book["isbn"], book["year_published"]) == (
        "2",
        "Circe",
        "0316556343",
        2018,
    )
    found = run("search my-books the --bookshelves myths --year_published ..1900 --json").json
    assert [hit["id"] for hit in found["results"]] == ["my-books/3"]
    shelves = run("browse my-books --field bookshelves --json").json
    assert {one["value"]: one["count"] for one in shelves} == {
        "dystopia": 1,
        "favorites": 2,
        "myths": 2,
    }


def test_somebody_at_a_terminal_is_asked(books: Path, run_typing: Run, run: Run) -> None:
    refused = run_typing(f"add '{books}' --no-embed", "n\n")
    assert "Build it?" in refused.out
    assert "nothing was built" in refused.out
    assert run("list --json").out.startswith("[]")
    built = run_typing(f"add '{books}' --no-embed", "y\n")
    assert "3 written" in built.out


def test_a_program_has_to_say_that_a_new_catalogue_is_wanted(
    books: Path, run_typing: Run, run: Run
) -> None:
    for ran in (
        run(f"add '{books}' --no-embed --json"),
        run_typing(f"add '{books}' --json", "y\n"),
    ):
        assert (ran.code, ran.out) == (InputError.exit_code, "")
        assert "--yes" in ran.err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            f"{BOOKS}4,a,b,c,1,2000,,x,y,z,more\n".encode(),
            "1 of 4 rows cannot be read, as line 5: 11 cells",
        ),
        (
            BOOKS.replace("Circe", "Un été à Gr?ce: Circé").encode().replace(b"?", b"\xff"),
            "letters of 1 line cannot be decoded",
        ),
    ],
)
def test_a_table_of_which_much_would_be_lost_is_not_built_without_consent(
    books: Path, run: Run, run_typing: Run, content: bytes, said: str
) -> None:
    books.write_bytes(content)
    refused = run(f"add '{books}' --yes --no-embed")
    assert (refused.code, said in refused.err, "--accept-losses" in refused.err) == (2, True, True)
    assert "Build it without them? [y/N]" in run_typing(f"add '{books}' --no-embed", "y\nn\n").out
    assert run("search my-books circe").code == 3
    assert "3 written" in run(f"add '{books}' --yes --no-embed --accept-losses").out


def test_cells_that_are_read_as_missing_are_counted_in_the_proposal_after_the_build_and_later(
    books: Path, run: Run
) -> None:
    books.write_text(f"{BOOKS.replace(',2008,', ',NA,').replace(',1614,', ',-,')}9,Last\n")
    assert (
        run(f"add '{books}' --yes --no-embed").out.count(
            "as missing: Year Published 2 ('NA', line 2)"
        )
        == 2
    )
    listed = [(one["column"], one["cells"]) for one in run("rejects my-books --json").json]
    assert listed == [
        ("", "1 row without the last cells completed with empty ones (first: line 5)"),
        ("Year Published", "2 read as missing ('NA', line 2)"),
    ]


def test_a_spec_that_was_changed_by_hand_is_used_and_used_again(
    books: Path, run: Run, tmp_path: Path
) -> None:
    spec = tmp_path / "books.toml"
    run(f"spec infer '{books}' --name books --output {spec}")
    spec.write_text(
        spec.read_text()
        .replace("[fields.author]", "[fields.writer]")
        .replace("{author}", "{writer}")
    )
    assert run(f"add '{books}' --spec {spec} --no-embed").code == 0
    again = run(f"add '{books}' --name books --no-embed --json").json
    assert (again["written"], again["unchanged"]) == (0, 3)
    assert run("get books 1 --json").json["writer"] == "Suzanne Collins"
