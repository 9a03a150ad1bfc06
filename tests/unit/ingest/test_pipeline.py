"""Ingest: rows → records, counted to the last, resumable at every batch."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from pinakes.errors import UnavailableError
from pinakes.ingest import pipeline
from pinakes.ingest.ledger import Ledger
from pinakes.ingest.pipeline import IngestReport, Target, ingest
from pinakes.model.record import Record
from pinakes.model.scope import WHOLE
from pinakes.shelf.memory import MemoryShelf
from pinakes.sources.port import SourceRow
from pinakes_catalogues.anime import rows as anime_rows

pytestmark = pytest.mark.row("A10")

MAPPING = anime_rows.MAPPING
BATCH = 4


def row(number: int, **changes: Any) -> dict[str, Any]:
    page = f"https://myanimelist.net/anime/{number}"
    return {"title": f"Title {number}", "synopsis": f"Story {number}.", "sources": [page], **changes}


class Rows:
    """Implements `RowSource` over a list; it may break down after so many rows."""

    name = "rows.jsonl"

    def __init__(self, rows: list[Mapping[str, Any]], *, breaks_after: int | None = None) -> None:
        self.rows = rows
        self.breaks_after = breaks_after

    is_whole = True

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        for number, values in enumerate(self.rows, start=1):
            if self.breaks_after is not None and number > self.breaks_after:
                raise KeyboardInterrupt
            yield SourceRow(place=f"line {number}", values=values)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH_RECORDS", BATCH)


@pytest.fixture
def build(anime_spec: Any, embedder: Any) -> Callable[..., IngestReport]:
    """Build into one shelf in memory, which the function carries along."""
    shelf, ledger = MemoryShelf(anime_spec, model=embedder.model), Ledger()

    def run(source: Any, *, embed: bool = True, progress: Any = lambda _report: None) -> IngestReport:
        target = Target(
            spec=anime_spec, mapping=MAPPING, writer=shelf, ledger=ledger, embedder=embedder if embed else None
        )
        return ingest(source, target, progress=progress)

    run.ledger = ledger  # type: ignore[attr-defined]
    run.shelf = shelf  # type: ignore[attr-defined]
    return run


def records_of(build: Any) -> list[Record]:
    reader = build.shelf.reader()
    return list(reader.fetch(reader.scan(scope=WHOLE, limit=1_000), scope=WHOLE).values())


def add_up(report: IngestReport) -> bool:
    return report.rows == report.written + report.unchanged + report.duplicates + report.rejected + report.metadata


def test_every_row_is_counted_once_and_in_the_right_place(build: Any) -> None:
    source = Rows(
        [
            {"license": {}, "$schema": "https://example.org"},
            *(row(number) for number in range(10)),
            row(3, title="The same page again"),
            {"title": ""},
            row(20, episodes="many"),
            row(21, sources=[]),
        ]
    )
    report = build(source)
    assert (report.rows, report.metadata, report.written, report.duplicates, report.rejected) == (15, 1, 10, 1, 3)
    assert add_up(report)
    assert report.embedded == 10
    assert len(records_of(build)) == 10


def test_what_is_left_out_is_listed_with_its_place_and_reason(build: Any) -> None:
    report = build(Rows([row(1), row(1), {"title": " "}, row(2, episodes="many")]))
    assert report.rejects == [
        ("line 2", "the same as line 1"),
        ("line 3", "'title' is missing"),
        ("line 4", "'episodes' is 'many', not a whole number"),
    ]
    assert build.ledger.rejects() == [("rows.jsonl", place, reason) for place, reason in report.rejects]


def test_a_row_that_could_not_be_read_is_a_reject_and_the_others_go_on(build: Any) -> None:
    class Broken(Rows):
        def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
            yield SourceRow(place="line 1", values={}, problem="not valid JSON")
            yield SourceRow(place="line 2", values=row(2))

    report = build(Broken([]))
    assert (report.written, report.rejects) == (1, [("line 1", "not valid JSON")])


def test_two_rows_that_share_a_page_are_the_same_anime(build: Any) -> None:
    shared = "https://anilist.co/anime/7"
    first, second = row(1), row(2)
    first["sources"] = [*first["sources"], shared]
    second["sources"] = [*second["sources"], shared]
    assert build(Rows([first, second])).duplicates == 1


def test_an_unchanged_source_writes_and_embeds_nothing_again(build: Any, embedder: Any) -> None:
    source = Rows([row(number) for number in range(10)])
    build(source)
    change_no = build.shelf.reader().change_no
    report = build(source)
    assert (report.written, report.unchanged, report.embedded) == (0, 10, 0)
    assert build.shelf.reader().change_no == change_no
    assert max(embedder.documents.values()) == 1


def test_a_changed_row_is_written_and_only_a_changed_text_is_embedded(build: Any, embedder: Any) -> None:
    build(Rows([row(1), row(2), row(3)]))
    report = build(Rows([row(1, episodes=12), row(2, synopsis="Another story."), row(3)]))
    assert (report.written, report.unchanged, report.embedded) == (2, 1, 1)
    assert max(embedder.documents.values()) == 1


def test_two_records_of_the_same_text_are_embedded_once_and_both_have_the_vector(build: Any, embedder: Any) -> None:
    twins = [row(number, title="Twin", synopsis="The same.") for number in (1, 2)]
    assert build(Rows(twins)).embedded == 1
    reader = build.shelf.reader()
    vectors = reader.vectors(reader.scan(scope=WHOLE, limit=10))
    assert vectors.any(axis=1).all()
    assert (vectors[0] == vectors[1]).all()


@pytest.mark.parametrize("breaks_after", range(0, 23, 3))
def test_interrupted_anywhere_and_run_again_nothing_is_lost_doubled_or_embedded_again(
    build: Any, embedder: Any, breaks_after: int
) -> None:
    rows = [row(number) for number in range(22)]
    with pytest.raises(KeyboardInterrupt):
        build(Rows(rows, breaks_after=breaks_after))
    assert len(records_of(build)) == breaks_after // BATCH * BATCH
    report = build(Rows(rows))
    assert add_up(report)
    assert report.unchanged == breaks_after // BATCH * BATCH
    assert sorted(record.id for record in records_of(build)) == sorted(f"mal-{number}" for number in range(22))
    assert set(embedder.documents.values()) == {1}


def test_an_embedder_that_fails_between_batches_leaves_what_was_written(build: Any, embedder: Any) -> None:
    def fail_after_one(report: IngestReport) -> None:
        embedder.problem = "gone" if report.written >= BATCH else None

    rows = [row(number) for number in range(10)]
    with pytest.raises(UnavailableError, match="gone"):
        build(Rows(rows), progress=fail_after_one)
    assert len(records_of(build)) == BATCH
    embedder.problem = None
    assert build(Rows(rows)).unchanged == BATCH
    assert set(embedder.documents.values()) == {1}


def test_rejects_of_an_interrupted_build_are_kept_and_replaced_by_the_next(build: Any) -> None:
    rows = [{"title": ""}, *(row(number) for number in range(9))]
    with pytest.raises(KeyboardInterrupt):
        build(Rows(rows, breaks_after=6))
    assert len(build.ledger.rejects()) == 1
    build(Rows(rows[1:]))
    assert build.ledger.rejects() == []


def test_without_an_embedder_records_are_written_without_vectors(build: Any, embedder: Any) -> None:
    report = build(Rows([row(1), row(2)]), embed=False)
    assert (report.written, report.embedded) == (2, 0)
    reader = build.shelf.reader()
    assert not reader.vectors(reader.scan(scope=WHOLE, limit=10)).any()
    assert build(Rows([row(1), row(2)])).embedded == 2


def test_progress_is_told_after_every_batch(build: Any) -> None:
    told: list[int] = []
    build(Rows([row(number) for number in range(10)]), progress=lambda report: told.append(report.written))
    assert told == [4, 8, 10, 10]


def test_an_empty_source_makes_an_empty_catalogue(build: Any) -> None:
    assert build(Rows([])) == IngestReport()
