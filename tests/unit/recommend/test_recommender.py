"""A recommendation, end to end, over a shelf in memory."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE, Scope
from stackroom.recommend.recommender import Recommendations, Request
from support.searching import recommend as recommend_from

pytestmark = pytest.mark.row("A6")


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    space, bread = "Pilots and engines among distant stars", "Bread, butter and a quiet bakery"
    shelved.put(
        anime("Liftoff", synopsis=space, tags=["space", "drama"], year=2000, episodes=26),
        anime(
            "Orbit", synopsis=f"{space} again", tags=["space"], year=2021, episodes=12, duration=10
        ),
        anime(
            "Vacuum", synopsis=f"{space} at war", tags=["space", "horror"], year=1999, episodes=50
        ),
        anime("Crumbs", synopsis=bread, tags=["gourmet"], year=2001, episodes=12),
        anime("Oven", synopsis=f"{bread} again", tags=["gourmet"], year=2022, episodes=12),
        anime(
            "Yeast",
            synopsis=f"{bread} on film",
            tags=["gourmet", "drama"],
            year=2002,
            episodes=1,
            duration=99,
            type="MOVIE",
        ),
    )
    return shelved


def recommend(stories: Any, *titles: str, scope: Scope = WHOLE, **wishes: Any) -> Recommendations:
    return recommend_from(
        stories.shelf, stories.embedder, Request(titles=titles, **wishes), scope=scope
    )


def ids(answer: Recommendations) -> list[str]:
    return [str(item.record.id) for item in answer.items]


def test_what_is_like_the_titles_comes_first_and_the_titles_themselves_are_left_out(
    stories: Any,
) -> None:
    answer = recommend(stories, "Liftoff")
    assert set(ids(answer)[:2]) == {"Orbit", "Vacuum"}
    assert "Liftoff" not in ids(answer)


def test_several_tastes_are_kept_apart_and_not_averaged(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(
        anime("One", synopsis="alpha beta gamma delta"),
        anime("Two", synopsis="kappa lambda omega sigma"),
        anime("Near One", synopsis="alpha beta gamma delta epsilon"),
        anime("Between", synopsis="alpha beta kappa lambda"),
    )
    semantic = {
        item.record.id: item.signals.semantic for item in recommend(shelved, "One", "Two").items
    }
    assert semantic["Near One"] > semantic["Between"]
    nearest = max(float(x) for x in cosines(shelved, "Near One", ("One", "Two")))
    assert semantic["Near One"] == pytest.approx(nearest, abs=1e-6)


def cosines(stories: Any, name: str, others: tuple[str, ...]) -> list[float]:
    reader = stories.shelf.reader()
    keys = reader.find([name, *others], scope=WHOLE)
    vectors = reader.vectors([keys[one] for one in (name, *others)])
    return (vectors[1:] @ vectors[0]).tolist()


def test_exclusions_make_room_for_others_rather_than_shortening_the_answer(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    names = [
        f"{word} story"
        for word in [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "zeta",
            "theta",
            "iota",
            "kappa",
            "lambda",
        ]
    ]
    shelved.put(*(anime(name, synopsis="same words") for name in names))
    answer = recommend(shelved, names[0], exclude=tuple(names[1:4]), limit=5)
    assert len(answer.items) == 5
    assert not set(ids(answer)) & set(names[:4])


@pytest.mark.row("A7")
@pytest.mark.parametrize(
    ("preferences", "allowed"),
    [
        ("post-2020", {"Orbit", "Oven"}),
        ("not horror", {"Orbit", "Crumbs", "Oven", "Yeast"}),
        ("under 13 episodes", {"Orbit", "Crumbs", "Oven", "Yeast"}),
        ("I only have two hours", {"Orbit", "Yeast"}),
        ("movies", {"Yeast"}),
        ("post-2020, not gourmet", {"Orbit"}),
        ("from 1801", set()),
    ],
)
def test_preferences_in_plain_words_hold_for_every_recommendation(
    stories: Any, preferences: str, allowed: set[str]
) -> None:
    answer = recommend(stories, "Liftoff", preferences=preferences)
    assert set(ids(answer)) == allowed
    assert answer.preferences.understood
    assert answer.preferences.not_understood == ()


@pytest.mark.row("A7")
def test_a_tone_moves_the_taste_and_a_title_named_in_passing_is_a_taste_too(stories: Any) -> None:
    plain = recommend(stories, "Liftoff")
    toned = recommend(stories, "Liftoff", preferences="darker tone")
    assert [item.signals.semantic for item in plain.items] != [
        item.signals.semantic for item in toned.items
    ]
    both = recommend(stories, "Liftoff", preferences="like Crumbs but in space")
    assert "Crumbs" not in ids(both)
    assert [choice.title for choice in both.titles] == ["Liftoff", "Crumbs"]


def test_without_an_embedder_filters_still_hold_and_a_note_says_what_was_not_used(
    stories: Any,
) -> None:
    request = Request(titles=("Liftoff",), preferences="post-2020, darker tone")
    answer = recommend_from(stories.shelf, None, request, scope=WHOLE)
    assert set(ids(answer)) == {"Orbit", "Oven"}
    (note,) = answer.notes
    assert note.startswith(
        "the wording of the preferences was not used: there is no embedder for this catalogue; "
    )


def test_an_unknown_title_beside_a_known_one_is_reported_with_suggestions(stories: Any) -> None:
    answer = recommend(stories, "Liftoff", "Orbiting Teapot")
    unknown = answer.titles[1]
    assert unknown.record is None
    assert answer.items


def test_when_no_title_is_known_the_error_says_what_might_have_been_meant(stories: Any) -> None:
    with pytest.raises(
        InputError, match=r"no title like 'Miftoff' is in the catalogue; did you mean 'Liftoff \("
    ):
        recommend(stories, "Miftoff", "Zzzzzz")


def test_no_five_seasons_of_one_franchise_fill_the_answer(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    seasons = [
        anime(f"Gundam Wing Season {number}", synopsis="robots in space") for number in range(2, 8)
    ]
    others = [
        anime(f"{word} tale", synopsis="robots somewhere")
        for word in ("Red", "Blue", "Green", "Grey")
    ]
    shelved.put(anime("Liked", synopsis="robots in space"), *seasons, *others)
    answer = ids(recommend(shelved, "Liked", limit=5))
    assert sum(name.startswith("Gundam") for name in answer) == 1
    assert len(answer) == 5


def test_the_taste_is_told_by_the_tags_that_set_it_apart(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(
        anime("One", tags=["common", "rare"]),
        anime("Two", tags=["common"]),
        *(anime(f"Other {number}", tags=["common"]) for number in range(10)),
    )
    assert recommend(shelved, "One").taste_tags == ("rare", "common")


def test_ties_are_broken_by_id(shelved: Any, anime: Callable[..., Record]) -> None:
    shelved.put(*(anime(f"{letter} tale of bread", synopsis="same") for letter in "dbca"))
    answer = recommend(shelved, "d tale of bread")
    same = [item for item in answer.items if item.score == answer.items[0].score]
    assert ids(replace(answer, items=tuple(same))) == sorted(str(item.record.id) for item in same)


def test_adult_records_are_recommended_only_for_a_liked_one(
    stories: Any, anime: Callable[..., Record]
) -> None:
    space = "Pilots and engines among distant stars"
    stories.put(
        anime("Night Orbit", synopsis=space, tags=["space", "hentai"]),
        anime("Night Vacuum", synopsis=space, tags=["space", "erotica"]),
    )
    assert {"Night Orbit", "Night Vacuum"}.isdisjoint(ids(recommend(stories, "Liftoff")))
    assert "Night Vacuum" in ids(recommend(stories, "Night Orbit"))
