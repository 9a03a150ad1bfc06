"""The signals of a recommendation, each as it is defined."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stackroom.catalogue.spec import CatalogueSpec, PopularitySpec, RecommendSpec
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.recommend.signals import Signals, popularity, score_signals, taxonomy, temporal

pytestmark = pytest.mark.row("A6")

NAN = math.nan


@pytest.fixture
def spec(anime_spec: CatalogueSpec) -> RecommendSpec:
    assert anime_spec.recommend is not None
    return anime_spec.recommend


def scored(shelved: Any, candidate: Record, *liked: Record) -> Signals[float]:
    """Return the signals of a candidate beside the liked titles, as the shelf's columns give
    them.
    """
    shelved.put(candidate, *liked)
    reader = shelved.shelf.reader()
    keys = reader.find([candidate.id, *(one.id for one in liked)], scope=WHOLE)
    others = [keys[one.id] for one in liked]
    return score_signals(reader, [keys[candidate.id]], [0.5], others, shelved.spec).at(0)


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
    (found,) = taxonomy([frozenset(candidate)], [frozenset(one) for one in liked])
    assert found == pytest.approx(likeness)


@pytest.mark.parametrize(
    ("year", "liked", "nearness"),
    [
        (2000, [2000], 1.0),
        (2005, [2000], math.exp(-0.5)),
        (1990, [2000], math.exp(-2)),
        (2000, [2000, 2005], (1 + math.exp(-0.5)) / 2),
        (2000, [2000, NAN], 1.0),
        (NAN, [2000], 0.0),
        (2000, [NAN], 0.0),
        (2000, [], 0.0),
    ],
)
def test_years_compare_by_a_gaussian_of_five_years(
    year: float, liked: list[float], nearness: float
) -> None:
    (found,) = temporal(np.array([year], dtype=float), np.array(liked, dtype=float), sigma=5)
    assert found == pytest.approx(nearness)


@pytest.mark.parametrize(
    ("candidate", "liked", "likeness"),
    [
        ({"type": "TV", "episodes": 12}, {"type": "TV", "episodes": 12}, 1.0),
        ({"type": "TV", "episodes": 12}, {"type": "TV", "episodes": 24}, (1 + 0.5) / 2),
        ({"type": "MOVIE", "episodes": 1}, {"type": "TV", "episodes": 25}, (0 + 1 / 25) / 2),
        ({"type": "TV", "episodes": None}, {"type": "TV", "episodes": 25}, 0.5),
        ({"type": None, "episodes": 25}, {"type": None, "episodes": 25}, 0.5),
    ],
)
def test_format_is_half_the_type_and_half_the_ratio_of_the_lengths(
    shelved: Any,
    anime: Callable[..., Record],
    candidate: dict[str, Any],
    liked: dict[str, Any],
    likeness: float,
) -> None:
    found = scored(shelved, anime("a", **candidate), anime("b", **liked))
    assert found.format == pytest.approx(likeness)


def test_the_signals_are_read_from_the_fields_that_the_spec_names(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    liked = anime("b", tags=["space", "drama"], year=2005, episodes=24)
    found = scored(shelved, anime("a", tags=["space"], year=2000, episodes=12), liked)
    assert found.semantic == 0.5
    assert found.taxonomy == pytest.approx(0.5)
    assert found.temporal == pytest.approx(math.exp(-0.5))
    assert found.format == pytest.approx(0.75)
    assert found.popularity is None


def test_popularity_grows_with_the_logarithm_up_to_the_most_popular() -> None:
    some, none, famous, unknown = popularity(np.array([10.0, 0.0, 1_000.0, NAN]))
    assert (none, unknown, famous) == (0.0, 0.0, 1.0)
    assert some == pytest.approx(math.log1p(10) / math.log1p(1_000))
    assert popularity(np.array([0.0, NAN])).tolist() == [0.0, 0.0]


def blended(spec: RecommendSpec, *signals: float, popularity: float | None = None) -> float:
    """Return the blend of one candidate's four signals, and its popularity."""
    semantic, taxonomy, temporal, form = signals
    named = Signals(
        semantic=semantic, taxonomy=taxonomy, temporal=temporal, format=form, popularity=popularity
    )
    return named.similarity(spec)


def test_the_blend_is_the_weighted_sum_of_the_four_signals(spec: RecommendSpec) -> None:
    expected = 0.5 * 0.8 + 0.2 * 0.5 + 0.15 * 1.0 + 0.15 * 0.2
    assert blended(spec, 0.8, 0.5, 1.0, 0.2) == pytest.approx(expected)
    assert blended(spec, 1, 1, 1, 1) == pytest.approx(1.0)


def test_popularity_takes_its_share_only_where_the_spec_has_it(spec: RecommendSpec) -> None:
    with_popularity = spec.model_copy(
        update={"popularity": PopularitySpec(weight=0.5, field="popularity")}
    )
    assert blended(with_popularity, 0.4, 0.4, 0.4, 0.4, popularity=1.0) == pytest.approx(0.7)
    assert blended(spec, 0.4, 0.4, 0.4, 0.4) == pytest.approx(0.4)
