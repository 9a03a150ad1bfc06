"""Conditions that a query states, and the words that are left to search for."""

import time

import pytest

from pinakes.model.scope import AnyOf, Condition, NoneOf, Range
from pinakes.text.preference_vocabulary import PreferenceVocabulary
from pinakes.text.query_conditions import read_query

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
        ("rain, no jazz, blues or rock", "rain", [NoneOf("tags", (one,)) for one in ("jazz", "blues", "rock")]),
        ("rain and after 2010, but, not horror; or snow", "rain snow", [AFTER_2010, NoneOf("tags", ("horror",))]),
        ("and rain, after 2010", "and rain", [AFTER_2010]),
        ("after 2010", "", [Range("year", at_least=2011)]),
        ("recent horror", "recent horror", []),
        ("no zombies please", "no zombies please", []),
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


@pytest.mark.parametrize(("query", "is_known"), [("melancholy films", True), ("zombie films", False), ("films", True)])
def test_what_is_left_is_known_where_it_names_a_mood_and_no_topic(query: str, is_known: bool) -> None:
    assert read_query(query, WORDS).is_known is is_known


@pytest.mark.alone
@pytest.mark.parametrize("filler", [", ", "and ", "not horror, "])
def test_a_very_long_query_is_read_in_little_time(filler: str) -> None:
    query = f"after 2010 x{filler * (20_000 // len(filler))}y"
    started = time.thread_time()
    found = read_query(query, WORDS)
    assert time.thread_time() - started < 1.5
    assert found.stated[0].phrase == "after 2010"
