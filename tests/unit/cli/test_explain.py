"""`stackroom explain`."""

from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = pytest.mark.row("N3")


@pytest.mark.parametrize(
    "order",
    [("mal-1", "--year", "2010.."), ("--year", "2010..", "mal-1"), ("--year=2010..", "mal-1")],
)
def test_a_record_that_is_not_found_is_told_why(
    at_sample: Path, run: Run, order: tuple[str, ...]
) -> None:
    told = run(["explain", "anime", "Cowboy Bebop", *order])
    assert "not found: condition" in told.out
    assert "leaves it out: it has 1998" in told.out
    assert "otherwise it would be number 1" in told.out
