"""Expressions that are compiled on first use behave like compiled ones."""

import re

import pytest

from stackroom.text.normalise import METHODS, pattern


def test_every_method_of_an_expression_on_demand_is_that_of_the_compiled_one() -> None:
    compiled = re.compile("[a-c]+(x)?", re.IGNORECASE)
    for method in METHODS:
        assert getattr(pattern("[a-c]+(x)?", re.IGNORECASE), method) == getattr(compiled, method)


def test_an_expression_on_demand_finds_what_it_says() -> None:
    found = pattern("b+")
    assert found.sub("-", "abba b") == "a-a -"
    assert [one[0] for one in found.finditer("abba b")] == ["bb", "b"]
    assert found.pattern == "b+"


def test_a_wrong_expression_is_refused_when_it_is_used() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.search("a")
