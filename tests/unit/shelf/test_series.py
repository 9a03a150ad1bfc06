"""Which records are of one work, and how few of one work are recommended."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Record
from stackroom.packages import PACKAGES
from stackroom.search.ranked import pick_diverse
from stackroom.shelf.series import (
    MIN_INNER_CHARS,
    MIN_SHARED_CHARS,
    MIN_STEM_CHARS,
    _sought,
    same_franchise,
    title_stem,
    work_of,
)


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Mushishi Zoku Shou", "mushishi"),
        ("Mushishi", "mushishi"),
        ("Shingeki no Kyojin Season 2", "shingeki no kyojin"),
        ("Shingeki no Kyojin: The Final Season", "shingeki no kyojin"),
        ("Kaguya-sama wa Kokurasetai? Second Season", "kaguya sama wa kokurasetai"),
        ("Cowboy Bebop: Tengoku no Tobira", "cowboy bebop"),
        ("Mob Psycho 100 II", "mob psycho"),
        ("Fate/Zero", "fate zero"),
        ("86", "86"),
        ("進撃の巨人", "進撃の巨人"),
    ],
)
def test_the_stem_of_a_title_has_no_season_and_no_subtitle(title: str, stem: str) -> None:
    recommend = PACKAGES.get("anime").spec.recommend
    assert recommend is not None
    assert title_stem(title, markers=recommend.series_markers) == stem


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Mushishi", "Mushishi Zoku Shou", True),
        ("Aria the Animation", "Aria the Natural", False),
        ("Monster", "Monster Musume", True),
        ("Given", "Gintama", False),
        ("86", "86 Part 2", True),
        ("Nana", "Nanatsu no Taizai", False),
    ],
)
def test_titles_that_begin_alike_are_of_one_franchise(
    anime: Callable[..., Record], anime_spec: CatalogueSpec, one: str, other: str, same: bool
) -> None:
    works = [work_of(anime(title), anime_spec) for title in (one, other)]
    assert same_franchise(*works) is same
    assert same_franchise(*reversed(works)) is same


def test_records_that_name_each_other_s_pages_are_of_one_franchise(
    anime: Callable[..., Record], anime_spec: CatalogueSpec
) -> None:
    first = work_of(anime("Aria the Animation", sources=("https://a/1",)), anime_spec)
    second = work_of(anime("Undine", relations=("https://a/1",)), anime_spec)
    other = work_of(anime("Bread", relations=("https://a/9",)), anime_spec)
    assert same_franchise(first, second)
    assert same_franchise(second, first)
    assert not same_franchise(first, other)


def test_no_more_of_one_franchise_are_picked_than_allowed_and_the_order_stays(
    anime: Callable[..., Record], anime_spec: CatalogueSpec
) -> None:
    titles = ["Gundam Wing", "Monster", "Gundam Wing 2", "Gundam Wing 3", "Planetes", "Monster 2"]
    works = [work_of(anime(title), anime_spec) for title in titles]
    assert pick_diverse(works, limit=10, per_franchise=1) == [0, 1, 4]
    assert pick_diverse(works, limit=10, per_franchise=2) == [0, 1, 2, 4, 5]
    assert pick_diverse(works, limit=2, per_franchise=2) == [0, 1]
    assert pick_diverse([], limit=2, per_franchise=2) == []


def test_the_words_that_mark_a_part_are_those_of_the_catalogue() -> None:
    assert (
        title_stem("Emma Movie Nights", markers=("season", "part", "series")) == "emma movie nights"
    )
    assert title_stem("Emma Movie Nights", markers=("movie",)) == "emma"
    assert title_stem("Emma 2", markers=()) == "emma"


NARUTO = (
    "NARUTO",
    "NARUTO: Shippuuden",
    "BORUTO: NARUTO THE MOVIE",
    "ROAD TO NINJA: NARUTO THE MOVIE",
    "THE LAST: NARUTO THE MOVIE",
)


@pytest.mark.row("A6")
@pytest.mark.parametrize("title", NARUTO[1:])
def test_a_name_that_opens_any_part_of_a_title_shows_its_series(
    anime: Callable[..., Record], anime_spec: CatalogueSpec, title: str
) -> None:
    first, other, stranger = (
        work_of(anime(one), anime_spec) for one in (NARUTO[0], title, "Narutaru")
    )
    assert same_franchise(first, other)
    assert same_franchise(other, first)
    assert not same_franchise(other, stranger)


@pytest.mark.row("A6")
def test_series_are_counted_through_records_in_between_and_through_the_known_ones(
    anime: Callable[..., Record], anime_spec: CatalogueSpec
) -> None:
    first = anime("Undine", relations=("https://a/1",))
    between = anime("Gondola", sources=("https://a/1",), relations=("https://a/2",))
    last = anime("Neo Venezia", sources=("https://a/2",))
    works = [work_of(one, anime_spec) for one in (first, between, last)]
    assert pick_diverse(works, limit=3, per_franchise=1) == [0]
    assert pick_diverse([works[0], works[2]], limit=3, per_franchise=1) == [0, 1]
    assert pick_diverse([works[0], works[2]], limit=3, per_franchise=1, known=[works[1]]) == [0]


def _phrases(title: str) -> set[str]:
    """Return every phrase of a title that may be the stem of another of its series, one by one."""
    first, *rest = ([*part.split()] for part in title.split(":"))
    starts = {" ".join(first[:end]) for end in range(1, len(first) + 1)}
    found = {one for one in starts if len(one) >= MIN_STEM_CHARS}
    for part in rest:
        starts = {" ".join(part[:end]) for end in range(1, len(part) + 1)}
        found |= {one for one in starts if len(one) >= MIN_SHARED_CHARS}
    for part in (first, *rest):
        inner = {
            " ".join(part[start:end])
            for start in range(1, len(part))
            for end in range(start + 1, len(part) + 1)
        }
        found |= {one for one in inner if " " in one and len(one) >= MIN_INNER_CHARS}
    return found


WORDS = st.sampled_from(["sea", "stars", "of", "the", "lantern", "a", "cosmos"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(WORDS, min_size=1, max_size=4),
)
def test_a_title_opens_with_exactly_the_phrases_that_it_begins_with_or_has_inside(
    anime: Callable[..., Record],
    anime_spec: CatalogueSpec,
    parts: list[list[str]],
    words: list[str],
) -> None:
    title, stem = ":".join(" ".join(part) for part in parts), " ".join(words)
    whole = work_of(anime(title), anime_spec)
    other = whole._replace(stem=stem, marks=frozenset(), sought=_sought(stem), title="")
    alone = whole._replace(sought="")
    assert same_franchise(alone, other) == (stem == whole.stem or stem in _phrases(title))
