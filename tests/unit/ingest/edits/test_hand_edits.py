"""A source that is read again, and what was edited by hand meanwhile."""

from dataclasses import dataclass
from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.ingest.edits.hand_edits import reconciled
from stackroom.ingest.pipeline import UNREQUESTED, IngestReport, IngestRequest
from stackroom.model.record import Record, RecordId, Tag
from stackroom.shelf.port import Author
from support.ingesting import IngestBench, ListedRows
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("Z5")

DECLARATION = """
name = "songs"
title = "Songs"
summary = "For tests."
editable = true
id = "id"
[fields]
title = { type = "text", role = "title" }
genres = { type = "tag[]" }
year = { type = "int" }
[embed]
template = "{title}"
"""
SPEC = compile_text(DECLARATION, origin="test")
BY_HAND = Author(principal="ada", call_id="c-1")
Row = dict[str, Any]


@dataclass(kw_only=True)
class Bench(IngestBench):
    """A catalogue in memory that is built from rows, and edited."""

    has_digests: bool = False

    def build(
        self, *rows: Row, name: str = "songs.csv", request: IngestRequest = UNREQUESTED
    ) -> IngestReport:
        return self.add(ListedRows(rows, name=name, has_digests=self.has_digests), request=request)

    def edit(self, action: str, record_id: str, **fields: Any) -> None:
        request = EditRequest(action=EditAction(action), id=record_id, fields=fields)
        Edits(shelf=self.shelf, embedder=self.embedder).apply(request, author=BY_HAND)

    def state(self) -> dict[str, dict[str, Any]]:
        return {record_id: dict(record.fields) for record_id, record in self.records().items()}


ONE = {"id": "one", "title": "One", "genres": ["folk"], "year": 1901}
TWO = {"id": "two", "title": "Two", "genres": ["waltz"], "year": 1902}


@pytest.fixture(params=[False, True], ids=["without-digests", "with-digests"])
def bench(request: pytest.FixtureRequest, embedder: Any) -> Bench:
    """A catalogue of two rows."""
    made = Bench(spec=SPEC, embedder=embedder, has_digests=request.param)
    made.build(ONE, TWO)
    return made


def test_edits_and_deletions_stand_while_the_row_is_unchanged(bench: Bench) -> None:
    bench.edit("update", "one", title="The First", year=None)
    bench.edit("delete", "two")
    before, change_no = bench.state(), bench.shelf.reader().change_no
    report = bench.build(ONE, TWO)
    assert bench.state() == before == {"one": {"title": "The First", "genres": (Tag("", "folk"),)}}
    assert (report.written, report.unchanged, report.removed) == (0, 2, 0)
    assert bench.shelf.reader().change_no == change_no


def test_what_stands_by_hand_is_counted_where_the_rows_are_read(embedder: Any) -> None:
    bench = Bench(spec=SPEC, embedder=embedder)
    assert bench.build(ONE, TWO).edited == 0
    bench.edit("update", "one", title="The First")
    assert bench.build(ONE, TWO).edited == 1
    assert bench.build({**ONE, "year": 1999}, TWO).edited == 1
    assert bench.build({**ONE, "year": 1999}, {**TWO, "year": 1999}).edited == 1


def test_a_changed_row_changes_the_fields_it_changed_and_edits_of_the_others_stand(
    bench: Bench,
) -> None:
    bench.edit("update", "one", title="The First", genres=["air"])
    report = bench.build({**ONE, "year": 1999}, TWO)
    assert bench.state()["one"] == {"title": "The First", "genres": (Tag("", "air"),), "year": 1999}
    assert (report.written, report.unchanged) == (1, 1)
    again = bench.build({**ONE, "year": 1999}, TWO)
    assert (again.written, bench.state()["one"]["title"]) == (0, "The First")


def test_where_the_row_and_a_hand_changed_the_same_field_the_source_wins(bench: Bench) -> None:
    bench.edit("update", "one", title="The First", year=1950)
    bench.build({**ONE, "title": "Number One"}, TWO)
    assert bench.state()["one"] == {
        "title": "Number One",
        "genres": (Tag("", "folk"),),
        "year": 1950,
    }


def test_a_field_that_the_row_lost_goes_and_one_that_was_added_by_hand_stays(bench: Bench) -> None:
    bench.edit("update", "two", genres=["air"])
    bench.build({"id": "one", "title": "One"}, {"id": "two", "title": "Two", "genres": ["waltz"]})
    assert bench.state() == {
        "one": {"title": "One"},
        "two": {"title": "Two", "genres": (Tag("", "air"),)},
    }


def test_a_record_deleted_by_hand_comes_back_when_its_row_is_asked_for_and_is_that_callers(
    bench: Bench,
) -> None:
    bench.edit("delete", "one")
    bench.edit("update", "two", title="The Second")
    asker = Author(principal="ann", call_id="c-2")
    bench.build(
        ONE, TWO, request=IngestRequest(author=asker, asks_for=lambda place: place == "line 2")
    )
    assert list(bench.state()) == ["two"]
    report = bench.build(
        ONE,
        TWO,
        request=IngestRequest(author=asker, asks_for=lambda place: place in ("line 1", "line 2")),
    )
    assert (report.written, report.unchanged) == (1, 1)
    assert {one: fields["title"] for one, fields in bench.state().items()} == {
        "one": "One",
        "two": "The Second",
    }
    (change,) = bench.shelf.history().list_changes(limit=1)
    assert (change.id, change.author) == ("one", asker)


def test_a_record_made_by_hand_is_removed_by_no_source(bench: Bench) -> None:
    bench.edit("create", "mine", title="Mine")
    bench.build(ONE)
    bench.build({**ONE, "year": 1999}, name="other.csv")
    assert sorted(bench.state()) == ["mine", "one"]


def test_a_source_that_makes_a_record_which_is_there_by_hand_changes_the_fields_that_it_has(
    bench: Bench,
) -> None:
    bench.edit("create", "mine", title="Mine", genres=["air"])
    bench.build(ONE, TWO, {"id": "mine", "title": "Theirs", "year": 1903})
    assert bench.state()["mine"] == {"title": "Theirs", "genres": (Tag("", "air"),), "year": 1903}


def test_a_record_of_two_sources_changes_with_the_one_whose_row_changed(bench: Bench) -> None:
    bench.build({**ONE, "title": "Uno"}, name="other.csv")
    assert bench.state()["one"]["title"] == "Uno"
    bench.build(ONE, TWO)
    assert bench.state()["one"]["title"] == "Uno"
    bench.build({**ONE, "year": 1999}, TWO)
    assert (bench.state()["one"]["title"], bench.state()["one"]["year"]) == ("Uno", 1999)


def test_a_shelf_that_lost_its_records_is_filled_again_whatever_the_ledger_says(
    embedder: Any,
) -> None:
    bench = Bench(spec=SPEC, embedder=embedder)
    bench.build(ONE, TWO)
    bench.shelf = MemoryShelf(SPEC, model=embedder.model)
    assert bench.build(ONE, TWO).written == 2


def test_a_row_is_embedded_by_another_model_though_it_says_what_it_said(embedder: Any) -> None:
    bench = Bench(spec=SPEC, embedder=embedder)
    bench.build(ONE, TWO)
    bench.edit("update", "two", title="The Second")
    bench.shelf._embeddings.clear()
    bench.shelf._digests.clear()
    assert bench.build(ONE, TWO).embedded == 2, "the text as it was edited too"
    assert bench.state()["two"]["title"] == "The Second"


def test_a_catalogue_that_cannot_be_edited_keeps_no_notes_of_it(embedder: Any) -> None:
    spec = compile_text(DECLARATION.replace("editable = true", ""), origin="test")
    bench = Bench(spec=spec, embedder=embedder)
    bench.build(ONE, TWO)
    assert bench.ledger.last_source_records("songs.csv", [RecordId("one")]) == {}


def record(**fields: Any) -> Record:
    return Record(id=RecordId("one"), fields=fields)


def test_what_is_not_known_to_have_been_said_before_is_written_whole() -> None:
    assert reconciled(record(title="a"), None, record(title="b", year=1)) == record(title="a")
