"""Files into records of documents and passages, and what adding again does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.catalogue.spec import embedding_text
from stackroom.errors import InputError
from stackroom.ingest.mapping import require_valid
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom_catalogues.documents.rows import open_rows, records_of
from support.libraries import add_package

pytestmark = pytest.mark.row("T10")

WORDS = "It is said in the handbook that every page has some words of its own about this and that. "
PAGE = f"# Page {{0}}\n\n{WORDS * 3}\n\n## Part {{0}}\n\n{WORDS * 3} Here it is {{0}}.\n"


def records(**row: Any) -> list[Record]:
    found = list(records_of(row))
    for record in found:
        require_valid(record, PACKAGES.get("documents").spec)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five files of two passages each."""
    place = tmp_path / "files"
    for name in ("a/one.md", "a/two.md", "b/three.md", "b/c/four.md", "five.md"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(PAGE.format(Path(name).stem))
    return place


@pytest.fixture
def app(tmp_path: Path, embedder: Any) -> Iterator[App]:
    app = App(Settings(home=tmp_path / "home"))
    app.embedder = embedder
    yield app
    app.close()


def add(app: App, folder: Path, name: str = "notes") -> IngestReport:
    return add_package(app, "documents", folder, name=name, embed=True)


def ids(app: App) -> set[str]:
    reader = app.open_catalogue("notes").shelf.reader()
    return {str(one) for one in reader.ids(reader.scan(scope=WHOLE, limit=10_000))}


def test_a_file_is_one_document_and_its_passages() -> None:
    document, first, second = records(
        path="people/leave.md",
        text=PAGE.format("x"),
        format="markdown",
        modified="2026-01-02",
        checksum="abc",
    )
    assert (document.id, document.kind) == ("people/leave.md", "document")
    assert document.fields == {
        "title": "Page x",
        "content": document.get("content"),
        "text": PAGE.format("x"),
        "path": "people/leave.md",
        "section": "people",
        "format": "markdown",
        "modified": "2026-01-02",
        "checksum": "abc",
    }
    assert len(document.get("content")) <= 300
    assert (first.id, second.id) == ("people/leave.md#1", "people/leave.md#2")
    assert second.kind == "passage"
    assert second.fields == {
        "title": "Part x",
        "headings": ("Page x", "Part x"),
        "content": second.get("content"),
        "path": "people/leave.md",
        "section": "people",
        "document": "people/leave.md",
        "position": 2,
        "first_line": 5,
        "last_line": 7,
    }
    assert second.get("content").startswith("## Part x")


@pytest.mark.parametrize(
    ("text", "stated", "title", "headings"),
    [
        ("# Heading\n\ntext", "Stated", "Heading", ("Heading",)),
        ("## Second\n\ntext", "Stated", "Stated", ("Stated", "Second")),
    ],
)
def test_the_title_is_the_first_heading_or_stated_and_stands_over_the_headings(
    text: str, stated: str, title: str, headings: tuple[str, ...]
) -> None:
    document, passage = records(path="a/my file.txt", text=text, title=stated, tags=["x"])
    assert (document.get("title"), passage.get("headings")) == (title, headings)
    assert passage.get("tags") == ("x",)


def test_a_passage_is_embedded_with_its_title_headings_and_text() -> None:
    embed = PACKAGES.get("documents").spec.embed
    assert embed is not None
    *_, passage = records(path="a.md", text="# One\n\n## Two\n\nWhat it says.")
    assert embedding_text(embed, passage) == "Two. One, Two. One Two What it says."


@pytest.mark.parametrize(
    "row", [{}, {"path": "a.md"}, {"path": "a.md", "text": " \n"}, {"text": "x", "path": 3}]
)
def test_a_row_without_a_path_or_a_text_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is missing"):
        records_of(row)


def test_folders_and_written_files_are_read_in_their_own_way_and_others_are_not(
    folder: Path,
) -> None:
    assert open_rows(str(folder)) is not None
    assert open_rows(str(folder / "five.md")) is not None
    (folder / "rows.jsonl").write_text("{}")
    assert open_rows(str(folder / "rows.jsonl")) is None
    assert open_rows(str(folder / "nothing")) is None


def test_adding_again_touches_only_the_file_that_changed(folder: Path, app: App) -> None:
    first = add(app, folder)
    assert (first.rows, first.written, first.embedded, first.rejected) == (5, 15, 15, 0)
    again = add(app, folder)
    assert (again.rows, again.written, again.unchanged, again.embedded) == (5, 0, 15, 0)
    (folder / "a/two.md").write_text(PAGE.format("two") + "\nAnd a last word.\n")
    changed = add(app, folder)
    assert (changed.written, changed.unchanged, changed.removed, changed.embedded) == (2, 13, 0, 1)


def test_a_renamed_file_moves_and_nothing_is_embedded_again(folder: Path, app: App) -> None:
    add(app, folder)
    (folder / "b/three.md").rename(folder / "b/drei.md")
    report = add(app, folder)
    assert (report.written, report.removed, report.embedded) == (3, 3, 0)
    assert {"b/drei.md", "b/drei.md#1", "b/drei.md#2"} <= ids(app)


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("people/vacation-policy.md", "vacation policy"),
        ("TravelExpenses.txt", "Travel Expenses"),
        ("people/README.md", "people"),
        ("index.md", "index"),
        ("--.md", "--"),
    ],
)
def test_a_file_without_a_title_is_called_by_the_words_of_its_name(path: str, title: str) -> None:
    document, *passages = records_of({"path": path, "text": "## Rules\n\nAsk two weeks ahead."})
    assert document.get("title") == title
    assert [one.get("headings") for one in passages] == [(title, "Rules")]


def test_files_of_kinds_that_are_not_read_are_counted(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("a.md", "README", "1.png", "2.PNG", "c.zip", "Makefile", ".hidden.png"):
        (folder / name).write_text(f"# {name}\n\nSomething.")
    report = add(app, folder)
    assert report.rows == 2
    assert report.rejected == 0
    assert report.notes == [
        "4 files of kinds that are not read: .png 2, .zip 1, without a suffix 1"
    ]
    assert report.rejects == [
        (".png (2 files)", "files of this kind are not read"),
        (".zip (1 file)", "files of this kind are not read"),
        ("without a suffix (1 file)", "files of this kind are not read"),
    ]
