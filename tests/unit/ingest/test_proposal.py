"""The rows that a proposal is made from, and what it says of those that would be lost."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.ingest import proposal
from stackroom.ingest.proposal import WHOLE_CELLS, profile_table
from stackroom.sources.port import RowSource, SourceRow
from support.work import count_calls

pytestmark = pytest.mark.row("N1")


class MadeRows(RowSource):
    """A source of rows made on demand."""

    name = "made.csv"

    def __init__(self, count: int, columns: int) -> None:
        self._count, self._columns = count, columns

    def count_rows(self) -> int | None:
        return self._count

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        for number in range(start, self._count):
            yield SourceRow(place=f"line {number}", values=self._row(number))

    def _row(self, number: int) -> Mapping[str, Any]:
        texts = {
            f"text {place}": f"word{number % (7 + place)} of {number}"
            for place in range(self._columns // 3)
        }
        numbers = {
            f"number {place}": str(number * place)
            for place in range(self._columns - len(texts) - 2)
        }
        return {"id": str(number), "title": f"Thing {number}", **texts, **numbers}


def test_a_table_of_moderate_size_is_read_whole_and_its_statistics_are_exact() -> None:
    table = profile_table(MadeRows(9000, 12))
    assert not table.columns[0].is_sample
    title = table.columns[1]
    assert (title.rows, title.distinct) == (9000, 9000)
    inferred = table.propose(name="made").inferred
    assert not any("sample" in field.reason for field in inferred.fields)


def test_a_table_of_very_many_columns_is_refused_at_its_first_row() -> None:
    with pytest.raises(
        InputError,
        match=r"made\.csv: it has 50,000 columns, and a spec is proposed for at most 5,000",
    ):
        profile_table(MadeRows(10**9, 50_000))


def test_of_a_larger_table_rows_spread_over_all_of_it_are_read_and_every_reason_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proposal, "WHOLE_CELLS", WHOLE_CELLS // 5)
    read = profile_table(MadeRows(6_000, 20))
    assert read.columns[0].is_sample
    assert sum(map(len, read.rows)) <= WHOLE_CELLS // 5
    assert int(read.rows[-1]["id"]) > 5_800
    reasons = [field.reason for field in read.propose(name="made").inferred.fields]
    assert all(reason.endswith(f"(in a sample of {len(read.rows):,} rows)") for reason in reasons)


def test_the_work_of_profiling_grows_no_faster_than_the_cells_though_they_all_differ() -> None:
    def profile(rows: int) -> None:
        table = profile_table(MadeRows(rows, 15))
        table.propose(name="made")
        assert not table.columns[0].is_sample

    profile(10)
    assert count_calls(lambda: profile(2_000)) < 6 * count_calls(lambda: profile(500))
