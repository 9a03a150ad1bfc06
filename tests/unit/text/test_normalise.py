"""Cleaning and folding of texts, and expressions that are compiled on first use."""

import re

import pytest

from stackroom.text.normalise import clean, fold, fold_name
from stackroom.text.patterns import METHODS, pattern


@pytest.mark.parametrize(
    "unwanted", ["\x00", "\x1b", "\x7f", "\x85", "\u200b", "\u202e", "\u2066", "\ufeff", "\ud800"]
)
def test_control_invisible_and_broken_characters_become_spaces(unwanted: str) -> None:
    assert clean(f"a{unwanted}b") == "a b"


def test_tabs_and_newlines_stay() -> None:
    assert clean("a\tb\nc") == "a\tb\nc"


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Pokémon", "pokemon"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("ﬁancée", "fiancee"),
        ("Ｆａｔｅ", "fate"),
        ("ｶﾞﾝﾀﾞﾑ", "ガンダム"),
        ("か\u3099", "が"),
        ("Ёжик", "ежик"),
        ("한국", "한국"),
        ("בְּרֵאשִׁית", "בראשית"),
        ("مُحَمَّد", "محمد"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_case_width_accents_and_vowel_points_do_not_tell_words_apart(
    written: str, folded: str
) -> None:
    assert fold(written) == folded


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Re:ZERO -Starting Life-", "re zero starting life"),
        ("K-On!!", "k on"),
        ("__init__", "init"),
        ("!?", ""),
    ],
)
def test_a_name_is_its_letters_and_digits_with_single_spaces(written: str, folded: str) -> None:
    assert fold_name(written) == folded


def test_every_method_of_an_expression_on_demand_is_that_of_the_compiled_one() -> None:
    compiled = re.compile("[a-c]+(x)?", re.IGNORECASE)
    for method in METHODS:
        assert getattr(pattern("[a-c]+(x)?", re.IGNORECASE), method) == getattr(compiled, method)


def test_a_wrong_expression_is_refused_when_it_is_used() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.search("a")
