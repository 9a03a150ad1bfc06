"""Rows A7 and N7: what a wish asks for is recommended where the catalogue can check it, and said
where it cannot.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.catalogue.spec import CatalogueSpec, KnownSpec, RecommendSpec
from stackroom.errors import ModelError
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.recommend.recommender import Recommendations, Recommender, Request
from support.memory_shelf import MemoryShelf
from support.searching import recommend as recommend_from

pytestmark = pytest.mark.row("A7")

PILOTS = "Pilots and engines among distant stars"
WORDS = (
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
    "sigma",
    "omega",
)


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    """Return a shelf where the sixty nearest neighbours of a title have nothing that a wish could
    ask for.
    """
    near = [
        anime(f"{one} {other}", synopsis=f"{PILOTS} {one}", tags=["action"], year=2000)
        for one in WORDS[:6]
        for other in WORDS[2:]
    ]
    shelved.put(
        anime("Liked", synopsis=PILOTS, tags=["action"], year=2000, episodes=12),
        *near,
        *(
            anime(f"{word} laughs", synopsis=f"jokes of {word}", tags=["comedy"], year=1980)
            for word in WORDS
        ),
        *(
            anime(f"{word} bleeds", synopsis=f"{PILOTS} {word}", tags=["gore", "action"], year=2000)
            for word in WORDS
        ),
        *(
            anime(f"{word} plays", synopsis=f"toys of {word}", tags=["kids", "action"], year=1990)
            for word in WORDS
        ),
    )
    return shelved


def recommend(stories: Any, preferences: str = "", **wishes: Any) -> Recommendations:
    request = Request(titles=("Liked",), preferences=preferences, **wishes)
    return recommend_from(stories.shelf, stories.embedder, request, scope=WHOLE)


def share(answer: Recommendations, tag: str) -> float:
    has = [any(one.value == tag for one in item.record.get("tags") or ()) for item in answer.items]
    return sum(has) / len(has)


@pytest.mark.parametrize(
    ("wish", "tag"),
    [
        ("more comedy", "comedy"),
        ("lighthearted", "comedy"),
        ("for kids", "kids"),
        ("violent", "gore"),
    ],
)
def test_a_wish_that_names_a_tag_brings_records_with_it_however_far_they_are(
    stories: Any, wish: str, tag: str
) -> None:
    assert share(recommend(stories), tag) < 0.5
    assert share(recommend(stories, wish), tag) >= share(recommend(stories), tag) + 0.25


@pytest.mark.parametrize(
    "wish", ["less violent", "not too violent", "less gore", "no gore", "family friendly"]
)
def test_a_wish_for_less_removes_what_it_names(stories: Any, wish: str) -> None:
    assert share(recommend(stories, wish), "gore") == 0


def test_each_item_tells_how_well_it_meets_the_wish_beside_its_similarity(stories: Any) -> None:
    answer = recommend(stories, "more comedy")
    for item in answer.items:
        has = any(one.value == "comedy" for one in item.record.get("tags") or ())
        assert item.signals.wish == (1.0 if has else 0.0)
        parts = item.signals
        blended = (
            0.5 * parts.semantic
            + 0.2 * parts.taxonomy
            + 0.15 * parts.temporal
            + 0.15 * parts.format
        )
        assert item.score == pytest.approx(blended)
    assert [item.score for item in answer.items] == sorted(
        (item.score for item in answer.items), reverse=True
    )
    assert all(item.signals.wish is None for item in recommend(stories).items)


def test_a_demand_is_a_filter_and_an_indifference_changes_nothing(stories: Any) -> None:
    assert share(recommend(stories, "comedy is a must"), "comedy") == 1
    plain = [item.record.id for item in recommend(stories).items]
    for indifferent in ("comedy is fine", "I don't mind comedy", "not necessarily recent"):
        assert [item.record.id for item in recommend(stories, indifferent).items] == plain


def test_without_an_embedder_tags_are_scored_all_the_same_and_only_descriptions_are_given_back(
    stories: Any,
) -> None:
    request = Request(
        titles=("Liked",), preferences="more comedy, bittersweet, with flying carpets"
    )
    answer = recommend_from(stories.shelf, None, request, scope=WHOLE)
    assert share(answer, "comedy") == 1
    said = [one.text for one in answer.preferences.understood]
    assert "more comedy" in said[0]
    assert not any("flying carpets" in one or "bittersweet" in one for one in said)
    assert "bittersweet" in answer.preferences.not_understood


@pytest.mark.row("N7")
def test_a_disliked_title_is_left_out_with_its_series_and_pushes_away(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    shelved.put(
        anime("Liked", synopsis="robots and love"),
        anime("Gundam Wing", synopsis="robots at war in robots"),
        anime("Gundam Wing 2", synopsis="robots and love"),
        anime("Iron", synopsis="robots at war in robots again"),
        anime("Rose", synopsis="love in spring"),
    )
    answer = recommend(shelved, "nothing like Gundam Wing", limit=1)
    assert [item.record.id for item in answer.items] == ["Rose"]
    assert [choice.title for choice in answer.excluded] == ["Gundam Wing"]


@pytest.mark.row("N7")
def test_a_wish_for_something_different_spreads_the_recommendations(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    alike = [anime(f"{word} same", synopsis="bread and butter and a bakery") for word in WORDS[:6]]
    shelved.put(
        anime("Liked", synopsis="bread and butter and a bakery"),
        anime("Liked Season 2", synopsis="bread and butter and a bakery"),
        *alike,
        anime("Other", synopsis="bread in orbit among stars"),
    )
    plain = {item.record.id for item in recommend(shelved, limit=2).items}
    varied = {item.record.id for item in recommend(shelved, "surprise me", limit=2).items}
    assert "Other" not in plain
    assert "Other" in varied
    assert "Liked Season 2" not in varied


@pytest.mark.row("A6")
def test_of_equally_similar_records_those_of_which_more_is_known_are_chosen(
    anime_spec: CatalogueSpec,
    new_shelved: Callable[[CatalogueSpec], Any],
    anime: Callable[..., Record],
) -> None:
    assert anime_spec.recommend is not None
    known = {"relations": KnownSpec(weight=1, full=3)}
    spec = replace(
        anime_spec, known=known, recommend=anime_spec.recommend.model_copy(update={"known": 0.3})
    )
    shelved = new_shelved(spec)
    pages = tuple(f"https://a/{number}" for number in range(3))
    shelved.put(
        anime("Liked", synopsis="robots in space"),
        anime("A bare one", synopsis="robots in space"),
        anime("Well known", synopsis="robots in space", relations=pages),
    )
    (item,) = recommend(shelved, limit=1).items
    assert item.record.id == "Well known"
    assert item.signals.known == pytest.approx(1.0)


@pytest.mark.row("A6")
def test_the_error_of_a_catalogue_without_vectors_names_the_catalogue(
    anime_spec: CatalogueSpec,
) -> None:
    spec = replace(anime_spec, recommend=RecommendSpec())
    recommender = Recommender(spec=spec, this_year=lambda: 2026, catalogue="mine")
    with pytest.raises(ModelError, match="catalogue 'mine' has no vectors"):
        recommender.recommend(MemoryShelf(anime_spec).reader(), Request(titles=("x",)), scope=WHOLE)
