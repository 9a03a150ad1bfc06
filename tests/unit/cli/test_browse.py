"""`stackroom browse` with groups and figures, on the sample library without vectors."""

from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = pytest.mark.row("N1")


def test_the_table_has_the_groups_the_figures_and_the_records_at_the_ends(
    at_sample: Path, run: Run
) -> None:
    shown = run("browse anime --by year/decade,type --of episodes --sort sum --limit 2").out
    assert "305 records" in shown
    assert "Doraemon (1979) [anime/mal-2471]" in shown
    heading, first, *_rest = [
        line.split() for line in shown.splitlines() if line.startswith(("year", "1970s", "2000s"))
    ]
    assert heading == ["year", "type", "count", "min", "max", "mean", "median", "sum"]
    assert first[:3] == ["2000s", "TV", "71"]
    assert "2 of 19 groups; more with --limit" in shown
