"""The signals of a recommendation, each as it is defined."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from pinakes.catalogue.spec import CatalogueSpec, RecommendSpec
from pinakes.model.record import Record
from pinakes.recommend.signals import Signals, blend, format_likeness, popularity, tag_set, taxonomy, temporal

pytestmark = pytest.mark.row("A6")


@pytest.fixture
def spec(anime_spec: CatalogueSpec) -> RecommendSpec:
    assert anime_spec.recommend is not None
    return anime_spec.recommend


def test_the_weights_are_those_of_the_specification(spec: RecommendSpec) -> None:
    assert (spec.semantic, spec.taxonomy, spec.temporal, spec.format) == (0.50, 0.20, 0.15, 0.15)
    assert (spec.temporal_sigma, spec.neighbours, spec.popularity) == (5, 50, 0)


@pytest.mark.parametrize(
    ("candidate", "liked", "likeness"),
    [
        ({"a", "b"}, [{"a", "b"}], 1.0),
        ({"a", "b"}, [{"b", "c"}], 1 / 3),
        ({"a"}, [{"b"}], 0.0),
        ({"a"}, [{"b"}, {"a", "b"}], 0.5),
        (set(), [set()], 0.0),
        ({"a"}, [], 0.0),
    ],
)
def test_tags_compare_by_jaccard_with_the_nearest_liked_title(
    candidate: set[str], liked: list[set[str]], likeness: float
) -> None:
    assert taxonomy(frozenset(candidate), [frozenset(one) for one in liked]) == pytest.approx(likeness)


def test_the_tags_compared_are_those_of_the_fields_that_the_spec_names(
    anime: Callable[..., Record], spec: RecommendSpec
) -> None:
    assert tag_set(anime("a", tags=["space", "drama"]), spec) == {"space", "drama"}


@pytest.mark.parametrize(
    ("year", "liked", "nearness"),
    [
        (2000, [2000], 1.0),
        (2005, [2000], math.exp(-0.5)),
        (1990, [2000], math.exp(-2)),
        (2000, [2000, 2005], (1 + math.exp(-0.5)) / 2),
        (None, [2000], 0.0),
        (2000, [], 0.0),
    ],
)
def test_years_compare_by_a_gaussian_of_five_years(year: int | None, liked: list[float], nearness: float) -> None:
    assert temporal(year, liked, sigma=5) == pytest.approx(nearness)


@pytest.mark.parametrize(
    ("candidate", "liked", "likeness"),
    [
        ({"type": "TV", "episodes": 12}, {"type": "TV", "episodes": 12}, 1.0),
        ({"type": "TV", "episodes": 12}, {"type": "TV", "episodes": 24}, (1 + 0.5) / 2),
        ({"type": "MOVIE", "episodes": 1}, {"type": "TV", "episodes": 25}, (0 + 1 / 25) / 2),
        ({"type": "TV", "episodes": None}, {"type": "TV", "episodes": 25}, 0.5),
    ],
)
def test_format_is_half_the_type_and_half_the_ratio_of_the_lengths(
    anime: Callable[..., Record], spec: RecommendSpec, candidate: dict, liked: dict, likeness: float
) -> None:
    found = format_likeness(anime("a", **candidate), [anime("b", **liked)], spec)
    assert found == pytest.approx(likeness)


def test_format_is_the_mean_over_the_liked_titles(anime: Callable[..., Record], spec: RecommendSpec) -> None:
    liked = [anime("b", type="TV", episodes=10), anime("c", type="MOVIE", episodes=10)]
    assert format_likeness(anime("a", type="TV", episodes=10), liked, spec) == pytest.approx(0.75)
    assert format_likeness(anime("a"), [], spec) == 0.0


def test_popularity_grows_with_the_logarithm_up_to_the_most_popular() -> None:
    assert popularity(1_000, most=1_000) == 1.0
    assert popularity(None, most=1_000) == popularity(0, most=10) == popularity(5, most=0) == 0.0
    assert 0 < popularity(10, most=1_000) < popularity(100, most=1_000) < 1


def test_the_blend_is_the_weighted_sum_of_the_four_signals(spec: RecommendSpec) -> None:
    signals = Signals(semantic=0.8, taxonomy=0.5, temporal=1.0, format=0.2)
    assert blend(signals, spec) == pytest.approx(0.5 * 0.8 + 0.2 * 0.5 + 0.15 * 1.0 + 0.15 * 0.2)
    assert blend(Signals(semantic=1, taxonomy=1, temporal=1, format=1), spec) == pytest.approx(1.0)


def test_popularity_takes_its_share_only_where_the_spec_has_it(spec: RecommendSpec) -> None:
    content = Signals(semantic=0.4, taxonomy=0.4, temporal=0.4, format=0.4)
    with_popularity = replace(spec, popularity=0.5)
    assert blend(replace(content, popularity=1.0), with_popularity) == pytest.approx(0.7)
    assert blend(content, spec) == pytest.approx(0.4)
