"""The words of a table of one's own in sentences of preferences."""

from datetime import date

import pytest

from pinakes.catalogue.loader import compile_text
from pinakes.model.scope import WHOLE, Condition, Range
from pinakes.recommend.vocabulary import preference_vocabulary
from pinakes.text.preferences import Preferences, understand
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("N1")

FILMS = """
name = "films"
title = "Films"
summary = "For tests."
[fields.name]
type = "text"
role = "title"
[fields.released]
type = "date"
role = "time"
filter = "range"
[fields.runtime]
type = "int"
unit = "min"
filter = "range"
[fields.budget]
type = "int"
unit = "$"
filter = "range"
"""


def understood(sentence: str) -> Preferences:
    spec = compile_text(FILMS, origin="films.toml")
    shelf = MemoryShelf(spec, model=None)
    return understand(sentence, preference_vocabulary(shelf.reader(), spec, scope=WHOLE, this_year=2026))


def days(first: int | None, last: int | None) -> Condition:
    low = date(first, 1, 1).toordinal() if first else None
    return Range("released", low, date(last, 12, 31).toordinal() if last else None)


@pytest.mark.parametrize(
    ("sentence", "first", "last", "meaning"),
    [
        ("after 2010", 2011, None, "released ≥ 2011"),
        ("post-2010", 2011, None, "released ≥ 2011"),
        ("from the 90s", 1990, 1999, "released 1990–1999"),
        ("before 1980", None, 1979, "released ≤ 1979"),
        ("2012", 2012, 2012, "released is 2012"),
        ("nothing before 2000", 2000, None, "released ≥ 2000"),
        ("not older than ten years", 2016, None, "released ≥ 2016"),
    ],
)
def test_years_limit_the_days_of_a_date(sentence: str, first: int | None, last: int | None, meaning: str) -> None:
    found = understood(sentence)
    assert found.conditions == (days(first, last),)
    assert [one.meaning for one in found.understood] == [meaning]
    assert not found.not_understood


@pytest.mark.parametrize("sentence", ["under 90 minutes", "under 90 min", "less than 90 mins"])
def test_the_unit_of_a_number_is_a_word_of_preferences(sentence: str) -> None:
    assert understood(sentence).conditions == (Range("runtime", at_most=89),)
