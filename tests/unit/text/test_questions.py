"""Conditions that a query states, and the words that are left to search for."""

import pytest

from stackroom.model.scope import AnyOf, Condition, NoneOf, Range
from stackroom.text.preference_pieces import PreferenceVocabulary
from stackroom.text.questions import read_query
from support.work import count_calls

AFTER_2010 = Range("year", at_least=2011)
WORDS = PreferenceVocabulary(
    time_field="year",
    units={"pages": "pages"},
    choices={"films": ("type", "MOVIE"), "movies": ("type", "MOVIE")},
    tags={"horror": "horror", "jazz": "jazz", "blues": "blues", "rock": "rock"},
    tag_field="tags",
)


@pytest.mark.parametrize(
    ("query", "left", "conditions"),
    [
        (
            "melancholy films after 2010, not horror",
            "melancholy",
            [AnyOf("type", ("MOVIE",)), Range("year", at_least=2011), NoneOf("tags", ("horror",))],
        ),
        ("melancholy films", "melancholy", [AnyOf("type", ("MOVIE",))]),
        ("films students like", "films students like", []),
        ("only movies about rain", "about rain", [AnyOf("type", ("MOVIE",))]),
        ("under 300 pages, rain", "rain", [Range("pages", at_most=299)]),
        (
            "rain, no jazz, blues or rock",
            "rain",
            [NoneOf("tags", (one,)) for one in ("jazz", "blues", "rock")],
        ),
        (
            "rain and after 2010, but, not horror; or snow",
            "rain snow",
            [AFTER_2010, NoneOf("tags", ("horror",))],
        ),
        ("and rain, after 2010", "and rain", [AFTER_2010]),
        ("after 2010", "", [Range("year", at_least=2011)]),
        ("recent horror", "recent horror", []),
        ("no zombies please", "", []),
        ("a boy without parents", "a boy without parents", []),
        ("a town with no jazz", "a town with no jazz", []),
        ("towns without jazz", "towns", [NoneOf("tags", ("jazz",))]),
    ],
)
def test_bounds_refusals_and_demands_are_conditions_and_the_rest_is_searched_for(
    query: str, left: str, conditions: list[Condition]
) -> None:
    found = read_query(query, WORDS)
    assert [one for stated in found.stated for one in stated.conditions] == conditions
    assert found.rest == left


def test_a_phrase_that_was_taken_back_stays_in_the_query() -> None:
    query = "melancholy films after 2010, not horror"
    found = read_query(query, WORDS, unread=["After  2010", "films"])
    assert [stated.phrase for stated in found.stated] == ["not horror"]
    assert found.rest == "melancholy films after 2010"


@pytest.mark.parametrize(
    ("query", "is_known"), [("melancholy films", True), ("zombie films", False), ("films", True)]
)
def test_what_is_left_is_known_where_it_names_a_mood_and_no_topic(
    query: str, is_known: bool
) -> None:
    assert read_query(query, WORDS).is_known is is_known


@pytest.mark.parametrize("filler", [", ", "and ", "not horror, "])
def test_the_work_on_a_very_long_query_grows_no_faster_than_its_length(filler: str) -> None:
    short, long = (f"after 2010 x{filler * (length // len(filler))}y" for length in (5_000, 20_000))
    assert count_calls(lambda: read_query(long, WORDS)) < 6 * count_calls(
        lambda: read_query(short, WORDS)
    )
    assert read_query(long, WORDS).stated[0].phrase == "after 2010"
