"""Grades: labels that mean the same in every catalogue, and strengths to merge by."""

from collections.abc import Callable
from typing import Any

import pytest

from pinakes.model.hits import Hit, MatchType
from pinakes.model.record import Key, Record
from pinakes.model.scope import WHOLE
from pinakes.model.vectors import ModelId
from pinakes.search.calibrate import Calibration, Label, calibrate
from pinakes.search.grade import Grade, grade
from support.searching import ShelfSearcher

pytestmark = pytest.mark.row("P2")

KNOWN = Calibration(
    model=ModelId(name="word-hash", dimension=64),
    floor=0.2,
    relevant=0.4,
    similar=0.6,
    highly_similar=0.8,
    identical=0.95,
)
UNRELATED = (
    "how do I file my income taxes as a freelancer",
    "fix a leaking pipe under the kitchen sink",
    "mortgage refinancing rates in Ohio",
    "postgres replication lag troubleshooting",
    "dosage of ibuprofen for adults",
)


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    shelved.put(
        anime("Star Pilots", synopsis="Pilots race between stars.", tags=["space"]),
        anime("The Baker", synopsis="Bread and butter in a small town."),
        anime("Space Bread", synopsis="A bakery among stars.", tags=["space"]),
    )
    return shelved


@pytest.fixture
def graded(stories: Any) -> Callable[..., Grade]:
    """Grade a record of the stories for a query, with the cosine and title likeness that a search would have found."""

    def run(name: str, query: str, *, cosine: float = 0.0, title: float = 0.0, calibrated: bool = True) -> Grade:
        reader = stories.shelf.reader()
        key = reader.find([name], scope=WHOLE)[name]
        hit = Hit(
            key=Key(key),
            record=reader.fetch([key], scope=WHOLE)[key],
            score=0.5,
            match_type=MatchType.HYBRID,
            reasons={"cosine": cosine, "title": title},
        )
        calibration = KNOWN if calibrated else None
        (only,) = grade([hit], query, reader=reader, spec=stories.spec, calibration=calibration)
        return only

    return run


@pytest.mark.parametrize("query", ["The Baker", "the baker", "THE  BAKER!", "“The Baker”"])
@pytest.mark.parametrize("calibrated", [True, False])
def test_the_record_of_that_very_title_is_identical(graded: Any, query: str, calibrated: bool) -> None:
    assert graded("The Baker", query, cosine=0.1, calibrated=calibrated) == Grade(Label.IDENTICAL, 1.0)


def test_a_query_without_a_letter_is_no_title(graded: Any) -> None:
    assert graded("The Baker", "?!", calibrated=False) == Grade(None, 0.0)
    assert graded("The Baker", "?!", cosine=0.1).label is None


@pytest.mark.parametrize(
    ("cosine", "label"),
    [(0.97, Label.IDENTICAL), (0.85, Label.HIGHLY_SIMILAR), (0.7, Label.SIMILAR), (0.5, Label.RELEVANT)],
)
def test_above_what_is_relevant_the_meaning_decides_alone(graded: Any, cosine: float, label: Label) -> None:
    assert graded("The Baker", "submarines", cosine=cosine).label is label


@pytest.mark.parametrize("cosine", [0.2, 0.3, 0.39])
def test_between_the_floor_and_what_is_relevant_the_words_decide(graded: Any, cosine: float) -> None:
    assert graded("The Baker", "bread in a small town", cosine=cosine).label is Label.RELEVANT
    assert graded("The Baker", "submarines in a small war", cosine=cosine).label is None
    assert graded("The Baker", "submarines", cosine=cosine).label is None


@pytest.mark.parametrize("cosine", [-0.5, 0.0, 0.19])
def test_below_the_floor_nothing_has_a_label(graded: Any, cosine: float) -> None:
    assert graded("The Baker", "bread in a small town", cosine=cosine).label is None


def test_a_rare_word_tells_more_than_a_common_one(graded: Any) -> None:
    assert graded("Space Bread", "bakery stars", cosine=0.3).label is Label.RELEVANT
    assert graded("Star Pilots", "bakery stars", cosine=0.3).label is None  # it has the word that others have too


def test_words_of_no_meaning_of_their_own_do_not_count(graded: Any) -> None:
    assert graded("The Baker", "what is in the and of a", cosine=0.1).label is None
    with_noise = graded("The Baker", "what is the one about bread and butter", cosine=0.3)
    assert with_noise.strength == graded("The Baker", "bread butter", cosine=0.3).strength


def test_without_vectors_a_record_with_every_word_is_relevant_and_no_other(graded: Any) -> None:
    assert graded("The Baker", "bread butter town", calibrated=False) == Grade(Label.RELEVANT, 0.5)
    some = graded("The Baker", "bread submarines", calibrated=False)
    assert some.label is None
    assert 0 < some.strength < 0.5
    assert graded("The Baker", "submarines", calibrated=False) == Grade(None, 0.0)


@pytest.mark.parametrize("calibrated", [True, False])
def test_strengths_lie_between_nothing_and_one_and_never_fall_as_the_cosine_grows(
    graded: Any, calibrated: bool
) -> None:
    for query in ("bread in a small town", "submarines", "The Bakers"):
        for title in (0.0, 0.55, 1.0):
            strengths = [
                graded("The Baker", query, cosine=cosine / 20, title=title, calibrated=calibrated).strength
                for cosine in range(-20, 21)
            ]
            assert strengths == sorted(strengths)
            assert all(title <= strength <= 1 for strength in strengths)


def test_a_better_label_is_never_weaker(graded: Any) -> None:
    order = [None, Label.RELEVANT, Label.SIMILAR, Label.HIGHLY_SIMILAR, Label.IDENTICAL]
    grades = [graded("The Baker", "submarines", cosine=cosine / 20) for cosine in range(-20, 21)]
    ranks = [order.index(one.label) for one in grades]
    assert ranks == sorted(ranks)


def test_hits_are_graded_in_their_order_and_no_hits_to_no_grades(stories: Any) -> None:
    reader = stories.shelf.reader()
    hits = ShelfSearcher(shelf=stories.shelf, embedder=stories.embedder).search("The Baker", scope=WHOLE, limit=3).hits
    assert len(hits) == 3
    found = grade(hits, "The Baker", reader=reader, spec=stories.spec, calibration=KNOWN)
    assert [one.label is Label.IDENTICAL for one in found] == [hit.record.id == "The Baker" for hit in hits]
    assert grade([], "x", reader=reader, spec=stories.spec, calibration=KNOWN) == []


def test_in_a_catalogue_that_was_measured_an_unrelated_question_gets_no_label(
    stories: Any, anime: Callable[..., Record]
) -> None:
    stories.put(*(anime(f"Tale {place}", synopsis="A knight rides out to the sea.") for place in range(20)))
    reader = stories.shelf.reader()
    calibration = calibrate(reader, stories.spec, stories.embedder)
    searcher = ShelfSearcher(shelf=stories.shelf, embedder=stories.embedder)
    hits = searcher.search("municipal wastewater permits", scope=WHOLE, limit=10).hits
    assert hits
    grades = grade(hits, "municipal wastewater permits", reader=reader, spec=stories.spec, calibration=calibration)
    assert {one.label for one in grades} == {None}


def labels(sample: Any, query: str) -> list[Label | None]:
    catalogue = sample.app.open_catalogue("anime")
    assert catalogue.calibration is not None
    view = catalogue.view()
    hits = view.search(query, scope=WHOLE, limit=10).hits
    assert len(hits) == 10
    return [one.label for one in view.grade(query, hits)]


@pytest.mark.model
@pytest.mark.parametrize("query", UNRELATED)
def test_with_the_real_model_a_question_about_something_else_gets_no_label(sample: Any, query: str) -> None:
    assert labels(sample, query) == [None] * 10


@pytest.mark.model
def test_with_the_real_model_what_the_catalogue_is_about_gets_labels(sample: Any) -> None:
    assert labels(sample, "giant robots")[0] is not None
    assert labels(sample, "Cowboy Bebop")[0] is Label.IDENTICAL
    assert labels(sample, "bounty hunters travelling through space")[0] is not None


@pytest.mark.model
def test_with_the_real_model_labels_in_one_list_fit_their_strengths(sample: Any) -> None:
    view = sample.app.open_catalogue("anime").view()
    hits = view.search("vampires at school", scope=WHOLE, limit=30).hits
    grades = view.grade("vampires at school", hits)
    weakest_labelled = min(one.strength for one in grades if one.label is not None)
    assert weakest_labelled >= 0.2
    assert all(0 <= one.strength <= 1 for one in grades)
