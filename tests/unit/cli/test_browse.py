"""`stackroom browse` with groups and figures, on the sample library without vectors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

pytestmark = pytest.mark.row("N1")


def test_records_are_counted_and_summed_by_group_under_filters(at_sample: Path, run: Run) -> None:
    found = run("browse anime --by type --of episodes --tags space --json").json
    assert found["of"] == "episodes"
    assert found["overall"]["count"] == sum(one["count"] for one in found["groups"]) == 29
    assert found["overall"]["sum"] == sum(one["sum"] for one in found["groups"])
    assert found["groups"][0]["filters"] == {"tags": ["space"], "type": ["TV"]}
    assert found["list_with"] == {"catalogue": "anime", "query": "*"}


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


def test_the_values_of_a_field_are_counted_under_filters_too(at_sample: Path, run: Run) -> None:
    every = {one["value"]: one["count"] for one in run("browse anime --field season --json").json}
    films = run("browse anime --field season --type MOVIE --json").json
    assert films
    assert all(one["count"] < every[one["value"]] for one in films)
