"""Which record is meant by a name as someone typed it, and how sure that is."""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.model.record import Record
from stackroom.model.scope import WHOLE, Scope, Visibility
from stackroom.search.names import NameChoice, resolve_name
from stackroom.text.titles import MatchedBy

pytestmark = pytest.mark.row("A8")


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    shelved.put(
        anime("fma", title="Fullmetal Alchemist", year=2003),
        anime(
            "fmab",
            title="Fullmetal Alchemist: Brotherhood",
            alternatives=("Hagaren", *(f"Hagaren {number}" for number in range(20))),
            year=2009,
            episodes=64,
            sources=tuple(f"https://example.com/{number}" for number in range(12)),
            synopsis="Two brothers look for the stone that gives them back what they lost. " * 15,
            tags=[f"tag {number}" for number in range(15)],
        ),
        anime("bebop", title="Cowboy Bebop", alternatives=("カウボーイビバップ",), year=1998),
        anime("mushishi", title="Mushishi", alternatives=("Mushi-shi",), year=2005),
        anime(
            "remake",
            title="Mushishi Zoku Shou",
            alternatives=("Mushishi", "Mushishi II"),
            year=2001,
        ),
    )
    return shelved


def resolved(stories: Any, asked: str, scope: Scope = WHOLE) -> NameChoice:
    return resolve_name(stories.shelf.reader(), stories.spec, asked, scope=scope)


def meant_by(stories: Any, asked: str) -> tuple[str, NameChoice]:
    """Return the id of the record that is meant by a name, and how it was found."""
    choice = resolved(stories, asked)
    assert choice.record is not None, choice
    return choice.record.id, choice


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("Cowboy Bebop", "bebop"),
        ("cowbow bebop", "bebop"),
        ("mushi-shi season 2", "remake"),
        ("fulmetal alchemst", "fma"),
        ("hagaren", "fmab"),
        ("bebop", "bebop"),
        ("brotherhood", "fmab"),
        ("mushi shi", "mushishi"),
        ("カウボーイビバップ", "bebop"),
    ],
)
def test_a_misspelt_partial_or_other_title_is_taken_for_the_right_one(
    stories: Any, asked: str, meant: str
) -> None:
    record_id, choice = meant_by(stories, asked)
    assert (record_id, choice.asked) == (meant, asked)


@pytest.mark.parametrize(
    "asked", ["Cowboy Bebop", "COWBOY  BEBOP!!", "hagaren", "カウボーイビバップ"]
)
def test_the_only_record_with_exactly_this_name_is_certain(stories: Any, asked: str) -> None:
    choice = resolved(stories, asked)
    assert choice.sureness > 0.95
    assert choice.suggestions == ()


def test_a_record_of_that_title_comes_before_one_that_has_it_as_another_name(stories: Any) -> None:
    record_id, choice = meant_by(stories, "Mushishi")
    assert (record_id, choice.by, choice.likeness) == ("mushishi", MatchedBy.TITLE, 1.0)


def test_the_others_with_the_same_name_are_told_apart_by_what_means_them_when_it_is_given_back(
    stories: Any,
) -> None:
    choice = resolved(stories, "Mushishi")
    assert choice.suggestions == ("Mushishi Zoku Shou (TV, 2001, remake), also called Mushishi",)
    assert choice.sureness < 0.95
    record_id, given_back = meant_by(stories, choice.suggestions[0])
    assert (record_id, given_back.by) == ("remake", MatchedBy.ID)


@pytest.mark.parametrize("asked", ["bebop", "stackroom://anime/bebop", "anime/bebop", " bebop "])
def test_an_id_in_any_form_in_which_it_was_shown_is_certain(stories: Any, asked: str) -> None:
    choice = resolve_name(
        stories.shelf.reader(), stories.spec, asked, scope=WHOLE, catalogue="anime"
    )
    assert choice.record is not None
    assert (choice.record.id, choice.by, choice.sureness) == ("bebop", MatchedBy.ID, 1.0)


def test_of_records_with_one_name_the_best_known_is_taken_whatever_their_age(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(
        anime(
            "pilot",
            title="Monster Hunt Pilot",
            alternatives=("Monster Hunt",),
            year=1998,
            episodes=1,
        ),
        anime(
            "series",
            title="Monster Hunt (2011)",
            alternatives=("Monster Hunt", "Monster Hunt TV", "モンスターハント"),
            year=2011,
            episodes=148,
            synopsis="A boy leaves his island to pass an examination. " * 20,
        ),
    )
    record_id, choice = meant_by(shelved, "Monster Hunt")
    assert record_id == "series"
    assert choice.suggestions == ("Monster Hunt Pilot (TV, 1998, pilot), also called Monster Hunt",)


def test_a_title_that_is_not_there_is_not_guessed_but_near_ones_are_suggested(stories: Any) -> None:
    choice = resolved(stories, "Cowboy Bishop")
    assert choice.record is None
    assert choice.key is None
    assert choice.suggestions == ("Cowboy Bebop (TV, 1998, bebop)",)


@pytest.mark.parametrize(
    "asked", ["Breaking Bad", "The Godfather", "the", "a", "C++", "Xqzjv plorb"]
)
def test_a_name_unlike_every_other_has_no_suggestion(
    stories: Any, anime: Callable[..., Record], asked: str
) -> None:
    stories.put(
        anime("blade", title="Break Blade", year=2010),
        anime("todoke", title="Kimi ni Todoke", year=2009),
        anime("control", title="[C]: The Money of Soul", alternatives=("C",), year=2011),
        anime("planet", title="Planet Robot Thunder-A", year=1981),
    )
    choice = resolved(stories, asked)
    assert (choice.record, choice.suggestions) == (None, ())


def test_a_part_that_several_works_share_is_not_guessed(
    stories: Any, anime: Callable[..., Record]
) -> None:
    stories.put(
        anime("song", title="Lost Song", year=2018),
        anime("universe", title="Lost Universe", year=1998),
    )
    choice = resolved(stories, "lost")
    assert choice.record is None
    assert len(choice.suggestions) == 2


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("P!nk", "pink"),
        ("P!nk", "P!nk"),
        ("Kırmızı", "KIRMIZI"),
        ("Kırmızı", "Kırmızı"),
        ("!!!", "!!!"),
        ("C&T", "c and t"),
        ("Spice and Wolf", "Spice & Wolf"),
        ("HUNTER×HUNTER", "Hunter x Hunter"),
    ],
)
@pytest.mark.row("Z4")
def test_a_name_is_found_however_its_signs_are_typed(
    stories: Any, anime: Callable[..., Record], name: str, asked: str
) -> None:
    stories.put(anime("sign", title=name, year=2000))
    record_id, choice = meant_by(stories, asked)
    assert (record_id, choice.likeness) == ("sign", 1.0)


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
