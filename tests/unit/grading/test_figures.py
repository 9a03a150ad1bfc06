"""Recorded figures: what counts as a fall, and what is noise."""

from pathlib import Path

import pytest
from benchmarks.recorded_figures import find_falls, flatten, has_fallen, load_recorded, save_recorded

from stackroom.grading.metrics import Figure, build_figure

RECORDED = Figure(mean=0.8, low=0.75, high=0.85)


def of(right: int, wrong: int, *, lower_is_better: bool = False) -> Figure:
    """A share of questions that went right, first those, then the others."""
    return build_figure([1.0] * right + [0.0] * wrong, lower_is_better=lower_is_better)


def test_a_mean_below_the_recorded_interval_has_fallen() -> None:
    assert has_fallen(RECORDED, Figure(mean=0.74, low=0.7, high=0.78))
    assert not has_fallen(RECORDED, Figure(mean=0.76, low=0.7, high=0.8))
    assert not has_fallen(RECORDED, Figure(mean=0.95, low=0.9, high=1.0))


def test_a_share_of_errors_falls_by_rising() -> None:
    errors = Figure(mean=0.05, low=0.02, high=0.08, lower_is_better=True)
    assert has_fallen(errors, Figure(mean=0.2, low=0.1, high=0.3, lower_is_better=True))
    assert not has_fallen(errors, Figure(mean=0.0, low=0.0, high=0.0, lower_is_better=True))


def test_questions_are_compared_one_by_one_where_their_values_are_known() -> None:
    """Two shares with wide intervals that overlap: six of a hundred questions lost are no noise, and one is."""
    assert of(54, 46).mean > of(60, 40).low
    assert has_fallen(of(60, 40), of(54, 46))
    assert not has_fallen(of(60, 40), of(59, 41))


def test_losses_that_gains_make_up_for_are_noise() -> None:
    before = build_figure([1.0] * 50 + [0.0] * 50)
    now = build_figure([0.0] * 6 + [1.0] * 44 + [1.0] * 4 + [0.0] * 46)
    assert now.mean < before.mean
    assert not has_fallen(before, now)


def test_a_difference_of_rounding_is_no_fall_however_regular_it_is() -> None:
    assert not has_fallen(build_figure([0.8] * 100), build_figure([0.799] * 100))


def test_other_questions_than_the_recorded_ones_are_compared_by_the_interval() -> None:
    assert not has_fallen(of(90, 10), of(44, 6))
    assert has_fallen(of(90, 10), of(30, 20))


def test_a_figure_that_is_not_measured_any_more_is_reported() -> None:
    falls = list(find_falls({"plots / top 1": RECORDED, "names": RECORDED}, {"names": RECORDED}))
    assert falls == ["plots / top 1: recorded 0.800 [0.750, 0.850], not measured any more"]


def test_nested_results_become_figures_by_path_and_notes_are_left_out() -> None:
    measured = {
        "plots": {"top 1": [0.6, 0.5, 0.7], "questions": 60, "seeds": [1, 2]},
        "names": {"mean": 0.97, "low": 0.94, "high": 1.0},
        "near": of(1, 9, lower_is_better=True),
    }
    found = flatten(measured)
    assert list(found) == ["plots / top 1", "names", "near"]
    assert found["plots / top 1"] == Figure(mean=0.6, low=0.5, high=0.7)
    assert found["near"].lower_is_better


@pytest.mark.parametrize("figure", [of(3, 1), of(1, 3, lower_is_better=True), build_figure([0.25, 0.5]), RECORDED])
def test_recorded_figures_are_read_as_they_were_written(tmp_path: Path, figure: Figure) -> None:
    path = tmp_path / "recorded.json"
    save_recorded({"one": figure}, path)
    read = load_recorded(path)["one"]
    assert not has_fallen(figure, read)
    assert (read.values, read.lower_is_better) == (figure.values, figure.lower_is_better)
    assert read.mean == pytest.approx(figure.mean, abs=1e-4)


def test_nothing_is_recorded_before_the_first_time(tmp_path: Path) -> None:
    assert load_recorded(tmp_path / "recorded.json") == {}
