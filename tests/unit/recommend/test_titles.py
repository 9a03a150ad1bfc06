"""Which record is meant by a title as someone typed it."""

from collections.abc import Callable
from typing import Any

import pytest

from pinakes.model.record import Record
from pinakes.model.scope import WHOLE, Scope, Visibility
from pinakes.recommend.titles import TitleChoice, resolve_title

pytestmark = pytest.mark.row("A8")


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    shelved.put(
        anime("fma", title="Fullmetal Alchemist", year=2003),
        anime("fmab", title="Fullmetal Alchemist: Brotherhood", alternatives=("Hagaren",), year=2009),
        anime("bebop", title="Cowboy Bebop", alternatives=("カウボーイビバップ",), year=1998),
        anime("mushishi", title="Mushishi", alternatives=("Mushi-shi",), year=2005),
        anime("remake", title="Mushishi Zoku Shou", alternatives=("Mushishi",), year=2001),
    )
    return shelved


def resolved(stories: Any, asked: str, scope: Scope = WHOLE) -> TitleChoice:
    return resolve_title(stories.shelf.reader(), stories.spec, asked, scope=scope)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Cowboy Bebop", "bebop"),
        ("cowbow bebop", "bebop"),
        ("COWBOY  BEBOP!!", "bebop"),
        ("fulmetal alchemst", "fma"),
        ("hagaren", "fmab"),
        ("bebop", "bebop"),
        ("brotherhood", "fmab"),
        ("mushi shi", "mushishi"),
        ("カウボーイビバップ", "bebop"),
    ],
)
def test_a_misspelt_partial_or_other_title_is_taken_for_the_right_one(stories: Any, asked: str, meant: str) -> None:
    choice = resolved(stories, asked)
    assert choice.record is not None, choice
    assert choice.record.id == meant
    assert choice.asked == asked
    assert choice.suggestions == ()


def test_a_record_of_that_title_comes_before_one_that_has_it_as_another_name(stories: Any) -> None:
    choice = resolved(stories, "Mushishi")
    assert choice.record is not None
    assert choice.record.id == "mushishi"
    assert choice.likeness == 1.0


def test_a_title_that_is_not_there_is_not_guessed_but_near_ones_are_suggested(stories: Any) -> None:
    choice = resolved(stories, "Cowardly Bishop")
    assert choice.record is None
    assert choice.key is None
    assert "Cowboy Bebop" in choice.suggestions
    assert len(choice.suggestions) <= 3


@pytest.mark.parametrize("asked", ["", "!!!", " ", "\x00"])
def test_a_title_without_a_letter_means_nothing(stories: Any, asked: str) -> None:
    choice = resolved(stories, asked)
    assert (choice.record, choice.suggestions) == (None, ())


def test_a_title_that_may_not_be_seen_is_neither_chosen_nor_suggested(
    stories: Any, anime: Callable[..., Record]
) -> None:
    record = anime("secret", title="Secret Garden of Bread")
    stories.put(Record(id=record.id, fields=record.fields, audiences=("staff",)))
    outsider = Scope(visibility=Visibility(frozenset()))
    choice = resolved(stories, "Secret Garden of Bread", outsider)
    assert choice.record is None
    assert "Secret Garden of Bread" not in choice.suggestions
    assert resolved(stories, "Secret Garden of Bread").record is not None
