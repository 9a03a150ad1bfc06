"""Tuning: better weights are kept, worse ones never are."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.catalogue.compiler import compile_text
from stackroom.errors import StorageError
from stackroom.grading.golden_set import QuestionKind
from stackroom.grading.grade import find_grade
from stackroom.grading.graded_catalogue import GradedCatalogue, grade_catalogue, tune_catalogue
from stackroom.grading.tuning import TUNED_FILE, find_tuned, save_tuned, tune, watch_tuned
from stackroom.ingest.pipeline import IngestReport
from stackroom.library import remove_file
from support.dishes import SPEC, add_dishes_to, make_dish, open_embedding, write_dishes

pytestmark = pytest.mark.row("N6")

BADLY_WEIGHED = f"""{SPEC}
[fields.fame]
type = "int"

[known]
fame = {{ weight = 1, full = 100 }}

[search]
known_weight = 2
"""
"""A spec whose ranking is mostly by fame."""


def grade_badly_weighed(
    app: App, source: Path, add: Callable[..., IngestReport]
) -> GradedCatalogue:
    write_dishes(source, range(90), fame=lambda row: 37 * int(row["id"][5:]) % 100)
    add(source, declaration=BADLY_WEIGHED)
    return grade_catalogue(app, "dishes", 240)


@pytest.fixture(scope="module")
def lasting_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A library of all tests that neither change its records nor keep weights."""
    with open_embedding(tmp_path_factory.mktemp("tuned")) as app:
        yield app


@pytest.fixture(scope="module")
def badly_weighed(lasting_app: App, tmp_path_factory: pytest.TempPathFactory) -> GradedCatalogue:
    """A graded catalogue whose spec has bad weights."""
    source = tmp_path_factory.mktemp("fame") / "dishes.jsonl"
    return grade_badly_weighed(lasting_app, source, partial(add_dishes_to, lasting_app))


def test_weights_that_answer_better_are_kept_beside_the_catalogue_and_searched_with(
    app: App, add_dishes: Callable[..., IngestReport], tmp_path: Path
) -> None:
    badly_weighed = grade_badly_weighed(app, tmp_path / "dishes.jsonl", add_dishes)
    before = badly_weighed.grade.kinds["all"]["ndcg_10"].mean
    tuning = tune_catalogue(badly_weighed)
    assert tuning.is_accepted, tuning.reason
    assert tuning.other_half[1].mean >= tuning.other_half[0].mean
    searcher = app.open_catalogue("dishes").searcher
    assert searcher.search_spec == tuning.search
    kept = find_grade(badly_weighed.folder / "grade.json")
    assert kept is not None
    assert kept.kinds["all"]["ndcg_10"].mean > before + 0.02
    add_dishes(write_dishes(tmp_path / "dishes.jsonl", range(95)), declaration=BADLY_WEIGHED)
    reopened = App(app.settings)
    # a rebuild leaves them
    assert reopened.open_catalogue("dishes").searcher.search_spec == tuning.search
    reopened.close()
    assert remove_file(badly_weighed.folder / TUNED_FILE)
    assert searcher.search_spec.known_weight == 2.0
    assert not remove_file(badly_weighed.folder / TUNED_FILE)


def test_weights_that_lose_on_the_held_out_half_are_not_kept(
    badly_weighed: GradedCatalogue,
) -> None:
    spec, searched = badly_weighed.spec, badly_weighed.asked
    first = [
        one
        for kind in QuestionKind
        for one in [one for one in searched if one.question.kind is kind][::2]
    ]
    # The other half's answers are the records that the present weights rank first.
    others = [
        replace(one, answers=frozenset(one.rank(spec.search)[:1])) if one not in first else one
        for one in searched
    ]
    tuning = tune(others, spec.search, spec)
    assert not tuning.is_accepted
    assert "lose" in tuning.reason
    assert tuning.search == spec.search


def test_a_handful_of_questions_tunes_nothing(badly_weighed: GradedCatalogue) -> None:
    spec = badly_weighed.spec
    tuning = tune(badly_weighed.asked[:20], spec.search, spec)
    assert not tuning.is_accepted
    assert "too few questions" in tuning.reason


def test_the_balance_of_words_and_vectors_is_tuned_by_questions_of_people_alone(
    lasting_app: App, badly_weighed: GradedCatalogue
) -> None:
    spec = badly_weighed.spec
    present = spec.search.model_copy(update={"vector_weight": 0.9, "known_weight": 0.0})
    by_rules = tune(badly_weighed.asked, present, spec)
    assert by_rules.tried.vector_weight == 0.9
    own = badly_weighed.folder / "golden.toml"
    questions = [
        f'[[questions]]\nquery = "{words_of(number)}"\nexpect = ["dish-{number}"]\n'
        for number in range(60)
    ]
    own.write_text("".join(questions), encoding="utf-8")
    graded = grade_catalogue(lasting_app, "dishes", 60)
    own.unlink()
    by_people = tune(graded.asked, present, spec)
    assert by_people.is_accepted, by_people.reason
    assert by_people.search.vector_weight < 0.9


def words_of(number: int) -> str:
    """Return half of the words of a dish's story."""
    return " ".join(make_dish(number)["story"].lower().replace(".", "").split()[::3])


def test_a_damaged_file_of_weights_is_named_and_the_declared_ones_are_used(
    lasting_app: App, badly_weighed: GradedCatalogue
) -> None:
    path = badly_weighed.folder / TUNED_FILE
    path.write_text('{"search": {"vector_weight": 7}}', encoding="utf-8")
    with pytest.raises(StorageError, match=r"tuned\.json is damaged .*--reset"):
        find_tuned(path)
    assert lasting_app.open_catalogue("dishes").searcher.search_spec == badly_weighed.spec.search
    path.unlink()


def test_tuned_weights_leave_all_others_as_declared(tmp_path: Path) -> None:
    search = compile_text(BADLY_WEIGHED, origin="dishes").search
    save_tuned({"known_weight": 0.25}, tmp_path / TUNED_FILE)
    assert watch_tuned(tmp_path / TUNED_FILE, search).find() == search.model_copy(
        update={"known_weight": 0.25}
    )
