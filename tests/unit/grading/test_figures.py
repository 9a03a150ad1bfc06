"""Recorded figures: what counts as a fall, and what is noise."""

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.recorded_figures import has_fallen, load_recorded, save_recorded

from stackroom.grading.metrics import Figure, build_figure

RECORDED = Figure(mean=0.8, low=0.75, high=0.85)


def of(right: int, wrong: int, *, lower_is_better: bool = False) -> Figure:
    """A share of questions that went right, first those, then the others."""
    return build_figure([1.0] * right + [0.0] * wrong, lower_is_better=lower_is_better)


ERRORS = Figure(mean=0.05, low=0.02, high=0.08, lower_is_better=True)
GAINED_AND_LOST = build_figure([0.0] * 6 + [1.0] * 48 + [0.0] * 46)


@pytest.mark.parametrize(
    ("before", "now", "is_fall"),
    [
        pytest.param(RECORDED, replace(RECORDED, mean=0.74), True, id="below the interval"),
        pytest.param(RECORDED, replace(RECORDED, mean=0.76), False, id="within the interval"),
        pytest.param(RECORDED, replace(RECORDED, mean=0.95), False, id="better"),
        pytest.param(ERRORS, replace(ERRORS, mean=0.2, low=0.1, high=0.3), True, id="more errors"),
        pytest.param(
            of(60, 40), of(54, 46), True, id="six questions lost, though the intervals overlap"
        ),
        pytest.param(of(60, 40), of(59, 41), False, id="one question lost"),
        pytest.param(of(50, 50), GAINED_AND_LOST, False, id="losses that gains make up for"),
        pytest.param(build_figure([0.8] * 100), build_figure([0.799] * 100), False, id="rounding"),
        pytest.param(of(90, 10), of(44, 6), False, id="other questions, within the interval"),
        pytest.param(of(90, 10), of(30, 20), True, id="other questions, below the interval"),
    ],
)
def test_a_fall_is_a_loss_beyond_noise(before: Figure, now: Figure, is_fall: bool) -> None:
    assert has_fallen(before, now) is is_fall


@pytest.mark.parametrize(
    "figure", [of(3, 1), of(1, 3, lower_is_better=True), build_figure([0.25, 0.5]), RECORDED]
)
def test_recorded_figures_are_read_as_they_were_written(tmp_path: Path, figure: Figure) -> None:
    path = tmp_path / "recorded.json"
    assert load_recorded(path) == {}
    save_recorded({"one": figure}, path)
    read = load_recorded(path)["one"]
    assert not has_fallen(figure, read)
    assert (read.values, read.lower_is_better) == (figure.values, figure.lower_is_better)
    assert read.mean == pytest.approx(figure.mean, abs=1e-4)
