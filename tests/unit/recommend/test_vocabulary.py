"""The words of a table of one's own in sentences of preferences."""

from datetime import date

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.model.scope import WHOLE, Condition, Range
from stackroom.recommend.vocabulary import preference_vocabulary
from stackroom.text.preferences import Preferences, understand
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("N1")

FILMS = """
name = "films"
title = "Films"
summary = "For tests."
[fields]
name = { type = "text", role = "title" }
released = { type = "date", role = "time", filter = "range" }
runtime = { type = "int", unit = "min", filter = "range" }
budget = { type = "int", unit = "$", filter = "range" }
"""


def understood(sentence: str) -> Preferences:
    spec = compile_text(FILMS, origin="films.toml")
    shelf = MemoryShelf(spec, model=None)
    return understand(
        sentence, preference_vocabulary(shelf.reader(), spec, scope=WHOLE, this_year=2026)
    )


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
def test_years_limit_the_days_of_a_date(
    sentence: str, first: int | None, last: int | None, meaning: str
) -> None:
    found = understood(sentence)
    assert found.conditions == (days(first, last),)
    assert [one.meaning for one in found.understood] == [meaning]
    assert not found.not_understood


@pytest.mark.parametrize("sentence", ["under 90 minutes", "under 90 min", "less than 90 mins"])
def test_the_unit_of_a_number_is_a_word_of_preferences(sentence: str) -> None:
    assert understood(sentence).conditions == (Range("runtime", at_most=89),)


@pytest.mark.parametrize(
    ("sentence", "low", "high"),
    [
        ("under $20", None, 19.99),
        ("something for less than $20, please", None, 19.99),
        ("up to $1,000", None, 1000),
        ("$10 to $15.50", 10, 15.5),
        ("between $10 and 15", 10, 15),
        ("over $5", 5.01, None),
        ("$30 or more", 30, None),
        ("nothing under $20", 20, None),
        ("not over $20.", None, 20),
    ],
)
def test_a_currency_before_a_number_limits_the_field_with_that_unit(
    sentence: str, low: float | None, high: float | None
) -> None:
    assert understood(sentence).conditions == (Range("budget", low, high),)


@pytest.mark.parametrize("sentence", ["under €20", "under $20k", "under $1,0000"])
def test_a_currency_that_no_field_has_and_an_amount_that_is_unclear_are_not_understood(
    sentence: str,
) -> None:
    found = understood(sentence)
    assert not found.conditions
    assert found.not_understood
