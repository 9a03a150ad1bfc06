"""Ingest: rows → records, counted to the last, resumable at every batch."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from stackroom.catalogue.column_template import parse_column_template
from stackroom.catalogue.compiler import compile_text
from stackroom.errors import InputError
from stackroom.ingest import pipeline
from stackroom.ingest.ledger import Origin
from stackroom.ingest.mapping import RowMapping, build_mapping
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.record import Record, RecordId
from stackroom.sources.port import SourceRow
from stackroom_catalogues.anime import rows as anime_rows
from support.ingesting import IngestBench, ListedRows

pytestmark = pytest.mark.row("A10")

MAPPING = anime_rows.MAPPING
BATCH = 4


def row(number: int, **changes: Any) -> dict[str, Any]:
    page = f"https://myanimelist.net/anime/{number}"
    return {
        "title": f"Title {number}",
        "synopsis": f"Story {number}.",
        "sources": [page],
        **changes,
    }


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH_RECORDS", BATCH)
    monkeypatch.setattr(pipeline, "WHOLE_BATCH_RECORDS", BATCH)


@pytest.fixture
def bench(anime_spec: Any, embedder: Any) -> IngestBench:
    """An empty anime catalogue."""
    return IngestBench(spec=anime_spec, mapping=MAPPING, embedder=embedder)


@pytest.fixture
def chapters(anime_spec: Any, embedder: Any) -> IngestBench:
    """An empty catalogue of several records a row."""
    return IngestBench(spec=anime_spec, mapping=CHAPTERS, embedder=embedder)


def add_up(report: IngestReport) -> bool:
    return (
        report.rows
        == report.written + report.unchanged + report.duplicates + report.rejected + report.metadata
    )


def test_every_row_is_counted_once_and_in_the_right_place(bench: IngestBench) -> None:
    source = ListedRows(
        [
            {"license": {}, "$schema": "https://example.org"},
            *(row(number) for number in range(10)),
            row(3, title="The same page again"),
            {"title": ""},
            row(20, episodes="many"),
            row(21, sources=[]),
        ]
    )
    report = bench.add(source)
    assert (report.rows, report.metadata, report.written, report.duplicates, report.rejected) == (
        15,
        1,
        10,
        1,
        3,
    )
    assert add_up(report)
    assert report.embedded == 10
    assert len(bench.records()) == 10


def test_an_edited_cell_is_an_edit_where_ids_are_composed_and_rows_that_repeat_one_are_told_apart(
    anime_spec: Any,
) -> None:
    spec = replace(anime_spec, id_path="", id_template=parse_column_template("{title} ({year})"))
    bench = IngestBench(spec=spec, mapping=build_mapping(spec), embedder=None)
    rows = [
        {"title": "Alien", "year": "1979"},
        {"title": "Solaris", "year": "1972", "synopsis": "Slow."},
    ]
    again = {"title": "Alien", "year": "1979", "synopsis": "Another one."}
    first = bench.add(ListedRows([*rows, again, rows[0]]))
    assert (first.written, first.duplicates) == (4, 0)
    assert "1 row repeats an earlier one in every field; each is a record of its own" in first.notes
    ids = sorted(bench.records())
    assert [ids[0], ids[1], ids[2][:13], ids[3]] == [
        "Alien (1979)",
        "Alien (1979) 2",
        "Alien (1979) ",
        "Solaris (1972)",
    ]
    report = bench.add(
        ListedRows([rows[0], {**rows[1], "synopsis": "Slow and deep."}, again, rows[0]])
    )
    assert (report.written, report.unchanged, report.removed) == (1, 3, 0)
    assert sorted(bench.records()) == ids


SALES = """
name = "sales"
title = "Sales"
summary = "For tests."
[fields]
shop = { type = "text", role = "title" }
wine = { type = "text" }
day = { type = "date" }
price = { type = "float" }
"""


def sold(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "shop": "abc"[number % 3],
        "wine": f"W{number % 5}",
        "day": f"2024-03-{number + 1:02}",
        "price": 7,
        **changes,
    }


@pytest.fixture
def sales() -> IngestBench:
    """A catalogue of a table in which no column tells the rows apart."""
    spec = compile_text(SALES, origin="a test")
    return IngestBench(spec=spec, mapping=build_mapping(spec), embedder=None)


def ids_by_day(bench: IngestBench) -> dict[Any, str]:
    return {record.get("day"): one for one, record in bench.records().items()}


@pytest.mark.row("N1")
def test_an_edited_cell_is_an_edit_where_no_column_identifies_a_row(sales: IngestBench) -> None:
    rows = [sold(number) for number in range(20)]
    sales.add(ListedRows(rows))
    before = ids_by_day(sales)
    moved = [
        *rows[1:7],
        sold(7, price=9),
        *rows[8:12],
        sold(12, shop="z"),
        *rows[13:],
        sold(25, shop="new", wine="x"),
    ]
    report = sales.add(ListedRows(moved))
    assert (report.written, report.unchanged, report.removed) == (3, 17, 1)
    after = ids_by_day(sales)
    assert {day: after[day] for day in before if day != "2024-03-01"} == {
        day: one for day, one in before.items() if day != "2024-03-01"
    }
    assert after["2024-03-26"] not in before.values()
    report = sales.add(ListedRows(moved))
    assert (report.written, report.unchanged, report.removed) == (0, 20, 0)


def test_a_row_that_differs_in_much_is_a_new_record(sales: IngestBench) -> None:
    sales.add(ListedRows([sold(number) for number in range(4)]))
    before = set(sales.records())
    report = sales.add(
        ListedRows([*(sold(number) for number in range(3)), sold(3, shop="z", wine="Y")])
    )
    assert (report.written, report.removed, len(before & set(sales.records()))) == (1, 1, 3)


def test_very_many_new_rows_are_compared_with_none(
    sales: IngestBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "MOST_MATCHED", 5)
    sales.add(ListedRows([sold(number) for number in range(9)]))
    report = sales.add(ListedRows([sold(number, price=number) for number in range(9)]))
    assert (report.written, report.unchanged, report.removed) == (8, 1, 8)


def test_a_changed_row_is_written_and_only_a_changed_text_is_embedded(
    bench: IngestBench, embedder: Any
) -> None:
    bench.add(ListedRows([row(1), row(2), row(3)]))
    report = bench.add(ListedRows([row(1, episodes=12), row(2, synopsis="Another story."), row(3)]))
    assert (report.written, report.unchanged, report.embedded) == (2, 1, 1)
    assert max(embedder.documents.values()) == 1


@pytest.mark.parametrize("breaks_after", range(0, 23, 3))
def test_interrupted_anywhere_and_run_again_nothing_is_lost_doubled_or_embedded_again(
    bench: IngestBench, embedder: Any, breaks_after: int
) -> None:
    rows = [row(number) for number in range(22)]
    with pytest.raises(KeyboardInterrupt):
        bench.add(ListedRows(rows, breaks_after=breaks_after))
    assert len(bench.records()) == breaks_after // BATCH * BATCH
    report = bench.add(ListedRows(rows))
    assert add_up(report)
    assert report.unchanged == breaks_after // BATCH * BATCH
    assert ids(bench) == sorted(f"mal-{number}" for number in range(22))
    assert set(embedder.documents.values()) == {1}


def answers(rows: list[Mapping[str, Any]], *, breaks_after: int | None = None) -> ListedRows:
    """Return rows that answer a question: not all there is, and read on from where they were
    interrupted.
    """
    return ListedRows(rows, name="arxiv:bread", is_whole=False, breaks_after=breaks_after)


class Unopened(Mapping[str, Any]):
    """Values that fail the test when anybody looks at them."""

    def __getitem__(self, name: str) -> Any:
        raise AssertionError(f"'{name}' was read")

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("the values were read")

    def __len__(self) -> int:
        raise AssertionError("the values were counted")


class Files(ListedRows):
    """Rows with a place and a digest each, like files; the values of `closed` ones must not be
    looked at.
    """

    def __init__(
        self, files: Mapping[str, tuple[str, Mapping[str, Any]]], *, closed: Iterable[str] = ()
    ) -> None:
        super().__init__([])
        self.files = files
        self.closed = frozenset(closed)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        for place, (digest, values) in self.files.items():
            yield SourceRow(
                place=place, values=Unopened() if place in self.closed else values, digest=digest
            )


def ids(bench: IngestBench) -> list[str]:
    return sorted(bench.records())


def of_chapters(row: Mapping[str, Any]) -> Iterator[Record]:
    """Map a row to a record a chapter."""
    for number in range(row["chapters"]):
        name = f"{row['title']}#{number}"
        yield Record(
            id=RecordId(name), fields={"title": name, "synopsis": row.get("synopsis", "A story.")}
        )


def stopping_at(number: int) -> Callable[[IngestReport], None]:
    """Return a progress that interrupts the build at its call of this number."""
    calls = count(1)

    def stop(_report: IngestReport) -> None:
        if next(calls) == number:
            raise KeyboardInterrupt

    return stop


CHAPTERS = RowMapping(records_of=of_chapters)


def test_more_rows_than_a_batch_can_be_gone_at_once(bench: IngestBench) -> None:
    bench.add(ListedRows([row(number) for number in range(4 * BATCH)]))
    assert bench.add(ListedRows([row(0)])).removed == 4 * BATCH - 1
    assert ids(bench) == ["mal-0"]
    assert bench.ledger.origins("rows.jsonl") == {"mal-0": Origin("line 1", "")}


def test_an_interrupted_reading_removes_nothing(bench: IngestBench) -> None:
    bench.add(ListedRows([row(number) for number in range(10)]))
    with pytest.raises(KeyboardInterrupt):
        bench.add(ListedRows([row(number) for number in range(5, 10)], breaks_after=4))
    assert len(ids(bench)) == 10


@pytest.mark.parametrize(
    ("rows", "reason"),
    [([], ""), ([{"name": "No title"}], "; line 1: 'title' is missing; every anime needs one")],
)
def test_a_source_without_a_row_that_makes_a_record_does_not_remove_all_there_is(
    bench: IngestBench, rows: list[Mapping[str, Any]], reason: str
) -> None:
    bench.add(ListedRows([row(number) for number in range(5)]))
    kept = "rows.jsonl: no row of it makes a record, so the records it made before are kept"
    with pytest.raises(InputError, match=f"{kept}{reason}; correct it"):
        bench.add(ListedRows(rows))
    assert len(ids(bench)) == 5
    assert bench.add(ListedRows([row(number) for number in range(5)])).unchanged == 5


def test_a_source_removes_only_what_came_from_it_alone(bench: IngestBench) -> None:
    bench.add(ListedRows([row(1), row(2), row(3)]))
    bench.add(ListedRows([row(3), row(4)], name="more.jsonl"))
    assert bench.add(ListedRows([row(1)])).removed == 1
    assert ids(bench) == ["mal-1", "mal-3", "mal-4"]


def test_a_row_of_a_known_digest_is_passed_over_without_its_values_being_read(
    bench: IngestBench,
) -> None:
    files = {f"{number}.md": (f"digest {number}", row(number)) for number in range(6)}
    assert bench.add(Files(files)).written == 6
    report = bench.add(Files(files, closed=files))
    assert (report.rows, report.written, report.unchanged, report.removed) == (6, 0, 6, 0)
    assert add_up(report)


def test_a_row_of_another_digest_or_place_is_read(bench: IngestBench) -> None:
    files = {f"{number}.md": (f"digest {number}", row(number)) for number in range(6)}
    bench.add(Files(files))
    files["2.md"] = ("another digest", row(2, synopsis="Another story."))
    files["moved.md"] = files.pop("4.md")
    del files["5.md"]
    report = bench.add(Files(files, closed=["0.md", "1.md", "3.md"]))
    assert (report.written, report.unchanged, report.removed) == (1, 4, 1)
    assert ids(bench) == [f"mal-{number}" for number in range(5)]
    assert bench.add(Files(files, closed=files)).unchanged == 5


def test_a_row_may_make_several_records_and_all_go_with_it(chapters: IngestBench) -> None:
    bench = chapters
    report = bench.add(
        ListedRows(
            [
                {"title": "A", "chapters": 3},
                {"title": "B", "chapters": 6},
                {"title": "C", "chapters": 0},
            ]
        )
    )
    assert (report.rows, report.written) == (3, 9)
    shorter = bench.add(ListedRows([{"title": "A", "chapters": 2}, {"title": "B", "chapters": 6}]))
    assert (shorter.unchanged, shorter.removed) == (8, 1)
    assert bench.add(ListedRows([{"title": "A", "chapters": 2}])).removed == 6
    assert ids(bench) == ["A#0", "A#1"]


def test_a_row_with_one_bad_record_is_refused_whole(chapters: IngestBench) -> None:
    report = chapters.add(
        ListedRows([{"title": "A", "chapters": 2, "synopsis": 7}, {"title": "B", "chapters": 1}])
    )
    assert (report.rejected, report.written) == (1, 1)
    assert ids(chapters) == ["B#0"]


@pytest.mark.parametrize("stop_at", [1, 2, 3])
def test_a_row_of_several_records_and_a_digest_loses_none_when_it_is_interrupted(
    chapters: IngestBench, embedder: Any, stop_at: int
) -> None:
    files = {f"{name}.md": (name, {"title": name, "chapters": BATCH - 1}) for name in "ABCDEF"}
    files["G.md"] = ("G", {"title": "G", "chapters": 2 * BATCH + 1})
    with pytest.raises(KeyboardInterrupt):
        chapters.add(Files(files), progress=stopping_at(stop_at))
    report = chapters.add(Files(files))
    assert (
        report.written + report.unchanged == len(ids(chapters)) == 6 * (BATCH - 1) + 2 * BATCH + 1
    )
    assert set(embedder.documents.values()) == {1}


@pytest.mark.parametrize("breaks_after", range(0, 23, 3))
def test_a_question_s_answers_are_read_on_from_where_they_were_interrupted(
    bench: IngestBench, embedder: Any, breaks_after: int
) -> None:
    rows: list[Mapping[str, Any]] = [row(number) for number in range(22)]
    with pytest.raises(KeyboardInterrupt):
        bench.add(answers(rows, breaks_after=breaks_after))
    source = answers(rows)
    report = bench.add(source)
    written_before = breaks_after // BATCH * BATCH
    (start,) = source.starts
    assert written_before - 1 <= start <= written_before  # the last row may be looked at again
    assert report.rows == 22
    assert report.written == 22 - written_before
    assert ids(bench) == sorted(f"mal-{number}" for number in range(22))
    assert set(embedder.documents.values()) == {1}


def test_what_a_resumed_reading_refuses_is_listed_beside_what_was_refused_before(
    bench: IngestBench,
) -> None:
    rows: list[Mapping[str, Any]] = [
        {"title": ""},
        *(row(number) for number in range(8)),
        {"title": " "},
    ]
    with pytest.raises(KeyboardInterrupt):
        bench.add(answers(rows, breaks_after=7))
    bench.add(answers(rows))
    assert [place for _, place, _ in bench.ledger.rejects()] == ["line 1", "line 10"]
