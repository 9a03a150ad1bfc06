"""Drift: new records unlike the old, searches that find nothing, a grade that fell."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pinakes.assembly.app import App
from pinakes.assembly.self_grading import grade_catalogue, regrade
from pinakes.checksums import dump_checked, load_checked
from pinakes.grading.drift import SearchCounts
from pinakes.grading.golden_set import GoldenSetRequest
from pinakes.grading.grade import GRADE_FILE, describe_grade, find_latest_grade
from pinakes.ingest.pipeline import IngestReport
from pinakes.tools.health import examine
from support.dishes import write_dishes

pytestmark = pytest.mark.row("N6")

AddDishes = Callable[..., IngestReport]


@pytest.fixture
def graded(app: App, dishes: Path) -> Path:
    """The file of a catalogue of dishes that was graded."""
    grade_catalogue(app, "dishes", GoldenSetRequest(questions=40))
    return dishes


def drift_of(app: App, searches: SearchCounts | None = None) -> tuple[str, ...]:
    grade = regrade(app, "dishes", searches=lambda _since: searches or SearchCounts())
    assert grade is not None
    return grade.drift


def test_a_catalogue_that_grew_by_more_of_the_same_did_not_drift(app: App, graded: Path, add_dishes: AddDishes) -> None:
    assert drift_of(app) == ()
    add_dishes(write_dishes(graded, range(120)))
    assert not [sign for sign in drift_of(app) if "unlike" in sign]


def test_new_records_unlike_the_old_ones_are_drift_and_stay_so_until_it_is_graded_again(
    app: App, graded: Path, add_dishes: AddDishes
) -> None:
    write_dishes(graded, range(90))
    with graded.open("a", encoding="utf-8") as file:
        for number in range(40):
            words = " ".join(f"zq{number}x{place}" for place in range(20))
            file.write(
                json.dumps({"id": f"log-{number}", "kind": "dish", "title": f"E{number}", "story": words}) + "\n"
            )
    add_dishes(graded)
    for _ in range(2):
        (sign,) = [sign for sign in drift_of(app) if "unlike" in sign]
        assert sign.endswith("of 40 new records are unlike those that were there; of those, 10% are")
    grade_catalogue(app, "dishes", GoldenSetRequest(questions=40))
    assert not [sign for sign in drift_of(app) if "unlike" in sign]


@pytest.mark.usefixtures("graded")
def test_searches_without_a_result_are_drift_where_they_are_many(app: App) -> None:
    assert drift_of(app, SearchCounts(searches=100, without_result=40)) == ("40% of 100 searches found nothing",)
    assert drift_of(app, SearchCounts(searches=100, without_result=10)) == ()
    assert drift_of(app, SearchCounts(searches=4, without_result=4)) == ()


@pytest.mark.usefixtures("graded")
def test_a_fall_of_the_grade_is_drift(app: App) -> None:
    path = app.library.get_installed("dishes").folder / GRADE_FILE
    known = load_checked(path.read_bytes(), None)
    known["kinds"]["descriptions"]["ndcg_10"] = {"mean": 1.0, "low": 1.0, "high": 1.0}
    path.write_bytes(dump_checked(known))
    assert [sign for sign in drift_of(app) if sign.startswith("nDCG@10 of descriptions fell from 1.000 to 0.")]


@pytest.mark.usefixtures("dishes")
def test_the_health_check_shows_the_grade_its_day_and_drift(app: App) -> None:
    def line() -> str:
        return next(one.detail for one in examine(app.open_catalogue("dishes")) if one.part == "grade")

    assert line() == "not graded yet; to grade it: pinakes eval dishes"
    at = datetime(2026, 3, 1, tzinfo=UTC)
    grade = grade_catalogue(app, "dishes", GoldenSetRequest(questions=40), now=lambda: at).grade
    assert line() == f"nDCG@10 {grade.overall.ndcg_10} on 40 questions, 2026-03-01; no drift"
    drift_of(app, SearchCounts(searches=100, without_result=40))
    assert line().endswith("; drifted: 40% of 100 searches found nothing")
    latest = find_latest_grade(app.library.get_installed("dishes").folder)
    assert latest is not None
    assert line() == describe_grade(latest)


@pytest.mark.usefixtures("dishes")
def test_a_damaged_grade_is_a_problem_with_advice(app: App) -> None:
    (app.library.get_installed("dishes").folder / GRADE_FILE).write_text("{}", encoding="utf-8")
    problems = [one for one in examine(app.open_catalogue("dishes")) if one.is_ok is False]
    assert [one.part for one in problems] == ["grade"]
    assert "grade.json is damaged; remove it, and grade the catalogue again: pinakes eval" in problems[0].detail


@pytest.mark.usefixtures("dishes")
def test_a_catalogue_that_was_never_graded_is_not_graded_again(app: App) -> None:
    assert regrade(app, "dishes") is None
