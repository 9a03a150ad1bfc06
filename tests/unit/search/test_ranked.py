"""Pages of a ranking: how many of one series are on each, and how pages fit together."""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.model.record import Record
from support.searching import ShelfSearcher, searcher_of

pytestmark = pytest.mark.row("A4")

OTHERS = (
    "Alder",
    "Birch",
    "Cedar",
    "Elm",
    "Fir",
    "Hazel",
    "Larch",
    "Maple",
    "Oak",
    "Pine",
    "Rowan",
    "Willow",
)
QUERY = "a dragon guards the mountain"


def put_series(shelved: Any, anime: Callable[..., Record], parts: int, others: Any = ()) -> Any:
    """Put one long series that fits the query best, and other stories that fit it too."""
    shelved.put(
        *(
            anime(f"Emberfall {part}", synopsis="A dragon guards the mountain.")
            for part in range(1, parts + 1)
        ),
        *(
            anime(name, synopsis="A dragon guards the mountain of somebody else.")
            for name in others
        ),
    )
    return shelved


@pytest.fixture
def searcher(shelved: Any, anime: Callable[..., Record]) -> ShelfSearcher:
    """A searcher of a series of thirty and twelve other stories."""
    return searcher_of(put_series(shelved, anime, 30, OTHERS), is_graded=True)


def of_series(found: list[str]) -> int:
    return sum(title.startswith("Emberfall") for title in found)


def test_a_description_finds_at_most_three_of_one_series_where_others_are_near(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    found = searcher_of(put_series(shelved, anime, 8, OTHERS)).ids(QUERY, limit=10)
    assert of_series(found) == 3
    assert found[0].startswith("Emberfall")
    assert len(found) == len(set(found)) == 10


@pytest.mark.parametrize("query", ["Emberfall 1", "emberfall"])
def test_a_query_that_is_a_name_finds_the_whole_series(searcher: ShelfSearcher, query: str) -> None:
    found = searcher.ids(query, limit=10)
    assert of_series(found) > 3


def test_a_series_fills_the_page_where_nothing_else_is_near(
    shelved: Any, anime: Callable[..., Record]
) -> None:
    found = searcher_of(put_series(shelved, anime, 30)).ids(QUERY, limit=10)
    assert of_series(found) == len(found) == 10


@pytest.mark.parametrize("limit", [1, 3, 10, 11, 19, 25, 41])
def test_a_longer_page_begins_as_a_shorter_one_does(searcher: ShelfSearcher, limit: int) -> None:
    everything = searcher.ids(QUERY, limit=60)
    assert len(everything) == len(set(everything)) == 42
    assert searcher.ids(QUERY, limit=limit) == everything[:limit]
