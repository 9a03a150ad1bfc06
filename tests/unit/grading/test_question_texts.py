"""Rules that make queries of names and texts."""

import random

import pytest

from stackroom.grading.golden_set import describe, misspell, name_topic, shorten
from stackroom.text.analyser import query_tokens


def all_alike(tokens: list[str]) -> list[int]:
    return [1 for _ in tokens]


@pytest.mark.parametrize("seed", range(20))
def test_a_misspelt_name_differs_by_one_slip(seed: int) -> None:
    name = "Cowboy Bebop"
    misspelt = misspell(name, random.Random(seed))
    assert misspelt is not None
    assert misspelt != name
    assert abs(len(misspelt) - len(name)) <= 1
    assert misspelt[0] == "C"


@pytest.mark.parametrize("name", ["", "Up", "AKIRA"[:4], "鋼の錬金術師", "1984 2001"])
def test_a_name_that_is_short_or_of_another_script_is_not_misspelt(name: str) -> None:
    assert misspell(name, random.Random(0)) is None


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Fullmetal Alchemist: Brotherhood", "Fullmetal Alchemist"),
        ("Attention Is All You Need for the Translation of Speech", "Attention Is All You Need"),
        ("Amber Garlic and mint of 7", "Amber Garlic and mint"),
        ("Heat", None),
        ("The Mill: a story", None),
    ],
)
def test_a_name_is_shortened_to_what_people_say(name: str, short: str | None) -> None:
    assert shorten(name) == short


def test_a_description_has_words_of_the_text_and_some_others_but_none_of_the_name() -> None:
    text = "The baker hides golden coins inside every loaf before the winter market opens again."
    query = describe(
        text,
        without=set(query_tokens("Golden Loaf")),
        others="merchants secretly carry silver",
        frequencies=all_alike,
        generator=random.Random(1),
    )
    assert query is not None
    words = set(query.split())
    assert not words & {"golden", "loaf", "the", "before"}
    assert words & {"merchants", "secretly", "carry", "silver"}
    assert words & {"baker", "hides", "coins", "winter", "market", "opens"}


def test_a_text_without_a_full_sentence_gives_no_description() -> None:
    assert (
        describe("Too short.", without=(), others="", frequencies=all_alike, generator=random.Random(0)) is None
    )  # fmt: skip


def test_a_topic_is_a_heading_with_the_rarest_words_below_it() -> None:
    rare = {token: count for count, token in enumerate(query_tokens("tides moon harbour pilots ropes ships anchor"))}
    topic = name_topic(
        "Sailing",
        "Ships anchor ropes pilots harbour moon tides",
        frequencies=lambda tokens: [rare[token] for token in tokens],
    )
    assert topic == "Sailing tides moon"
