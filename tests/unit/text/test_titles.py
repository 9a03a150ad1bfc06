"""Titles by likeness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.text.titles import MAX_NAME_CHARS, TitleIndex
from support.titles import build_title_arrays

NAMES = [
    ["Neon Genesis Evangelion", "新世紀エヴァンゲリオン"],
    ["Fullmetal Alchemist: Brotherhood"],
    ["Attack on Titan", "進撃の巨人", "Shingeki no Kyojin"],
    ["Pokémon"],
    ["Ёжик в тумане"],
    ["86"],
    ["Attack on Titan Season 2"],
    ["!!!"],
]


@pytest.fixture(scope="module")
def index() -> TitleIndex:
    return TitleIndex(build_title_arrays(NAMES))


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("neon genisis evangelon", 0),
        ("fulmetal alchemst brotherhod", 1),
        ("ATTACK ON TITAN", 2),
        ("shingeki no kyogin", 2),
        ("pokemon", 3),
        ("進撃の巨", 2),
        ("ежик в туманe", 4),
        ("86", 5),
        ("atack on titan seson 2", 6),
        ("genesis evangelion", 0),
    ],
)
def test_misspelt_partial_and_foreign_titles_find_the_right_one(
    index: TitleIndex, asked: str, row: int
) -> None:
    assert index.find_like(asked, limit=3)[0][0] == row


def test_the_same_title_in_other_case_and_punctuation_is_wholly_alike(index: TitleIndex) -> None:
    assert index.find_like("fullmetal alchemist - brotherhood!", limit=1) == [(1, 1.0)]


def test_rows_that_are_not_allowed_are_never_candidates(index: TitleIndex) -> None:
    allowed = np.ones(len(NAMES), dtype=bool)
    allowed[2] = False
    assert index.find_like("Attack on Titan", limit=1, allowed=allowed)[0][0] == 6


def test_an_endless_name_is_cut_at_both_ends_alike() -> None:
    endless = "word " * 1000
    assert TitleIndex(build_title_arrays([[endless]])).find_like(endless, limit=1) == [(0, 1.0)]
    assert build_title_arrays([[endless]]).letters.size == MAX_NAME_CHARS


SOME = st.sampled_from(["Ab", "ab!", "Abc", "abc d", "86", "Äb", "巨人", "!!!", "abc e"])


@given(st.lists(st.lists(SOME, max_size=3), max_size=6), SOME, st.integers(0, 63))
def test_a_name_is_there_exactly_if_an_allowed_row_is_alike_in_every_letter(
    rows: list[list[str]], text: str, bits: int
) -> None:
    index = TitleIndex(build_title_arrays(rows))
    allowed = np.array([bool(bits >> place & 1) for place in range(len(rows))], dtype=np.bool_)
    alike = index.find_like(text, limit=1, allowed=allowed)
    assert index.has_name(text, allowed=allowed) == bool(alike and alike[0][1] == 1.0)
