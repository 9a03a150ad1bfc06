"""Conditions that a query states, and the words that are left to search for."""

import pytest

from pinakes.model.scope import AnyOf, Condition, NoneOf, Range
from pinakes.text.preference_vocabulary import PreferenceVocabulary
from pinakes.text.query_conditions import find_conditions, without_phrases

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
            "melancholy films",
            [Range("year", at_least=2011), NoneOf("tags", ("horror",))],
        ),
        ("melancholy films", "melancholy films", []),
        ("only movies about rain", "about rain", [AnyOf("type", ("MOVIE",))]),
        ("under 300 pages, rain", "rain", [Range("pages", at_most=299)]),
        ("rain, no jazz, blues or rock", "rain", [NoneOf("tags", (one,)) for one in ("jazz", "blues", "rock")]),
        ("after 2010", "", [Range("year", at_least=2011)]),
        ("recent horror", "recent horror", []),
        ("no zombies please", "no zombies please", []),
    ],
)
def test_bounds_refusals_and_demands_are_conditions_and_the_rest_is_searched_for(
    query: str, left: str, conditions: list[Condition]
) -> None:
    found = find_conditions(query, WORDS)
    assert [one for stated in found for one in stated.conditions] == conditions
    assert without_phrases(query, found) == left


def test_a_phrase_that_was_taken_back_stays_in_the_query() -> None:
    query = "melancholy films after 2010, not horror"
    found = find_conditions(query, WORDS, unread=["After  2010"])
    assert [stated.phrase for stated in found] == ["not horror"]
    assert without_phrases(query, found) == "melancholy films after 2010"
