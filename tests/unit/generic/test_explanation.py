"""Why a record is in an answer or not: each cut, by a small catalogue that has it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from stackroom.generic.explain import Cut, ExplainResult, explain_record
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE, Scope
from stackroom.search.evidence import calibrate
from stackroom.search.question import plain_reading
from stackroom.search.result_set import ResultSet
from stackroom.search.values import adult_conditions
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.finding import find_part
from support.served import open_shelf

pytestmark = pytest.mark.row("N3")

TREES = (
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


class LastFirst:
    """Implements `Reranker`: the last of the first ten is the best."""

    depth = 10
    failures = 0

    def scores(self, _query: str, texts: Sequence[str]) -> list[float]:
        """Return a greater score for each next text."""
        return [float(place) for place in range(len(texts))]

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def view(shelved: Any, anime: Callable[..., Record]) -> CatalogueView:
    """A long series that fits the query best, other stories that fit it too, and many that do
    not.
    """
    shelved.put(
        *(
            anime(f"Emberfall {part}", synopsis="A dragon guards the mountain.", year=2000)
            for part in range(1, 9)
        ),
        *(
            anime(name, synopsis="A dragon guards the mountain of somebody else.", year=2010)
            for name in TREES
        ),
        *(
            anime(f"Tale {number}", synopsis=f"A ship sails to island {number}.")
            for number in range(120)
        ),
    )
    calibration = calibrate(shelved.shelf.reader(), shelved.embedder)
    opened = open_shelf(shelved.shelf, shelved.embedder, calibration=calibration)
    return opened.view()


def explain(
    view: CatalogueView,
    record_id: str,
    query: str = QUERY,
    *,
    scope: Scope = WHOLE,
    limit: int = 10,
) -> ExplainResult:
    found = ResultSet(parts=[find_part(view, plain_reading(query, scope))], most=limit)
    (key,) = view.reader.find([RecordId(record_id)], scope=WHOLE).values()
    record = view.reader.fetch([key], scope=WHOLE)[key]
    return explain_record(found, view.catalogue, record, tool="search")


def shown(view: CatalogueView, query: str = QUERY, limit: int = 10) -> list[str]:
    return [str(hit.record.id) for hit in view.search(query, scope=WHOLE).hits(limit)]


def test_what_is_put_off_for_others_of_its_series_is_said_to_be(view: CatalogueView) -> None:
    told = explain(view, "Emberfall 8")
    assert (told.rank, told.cut) == (None, Cut.SERIES)
    assert told.whole.rank is not None
    assert told.whole.rank <= 10
    assert "at most 3 of one series" in told.because[0]
    longer = explain(view, "Emberfall 8", limit=20)
    assert longer.rank is not None
    assert longer.rank > told.whole.rank
    assert any("put off behind others" in one for one in longer.because)


def test_a_record_that_was_moved_by_a_reranker_has_its_new_rank(view: CatalogueView) -> None:
    searcher = replace(view.catalogue.searcher, reranker=LastFirst())
    reranked = replace(view.catalogue, searcher=searcher).view()
    first = shown(reranked)[0]
    told = explain(reranked, first)
    assert told.rank == 1
    assert told.parts["rerank"] == 9.0
    assert first != shown(view)[0]


def test_an_adult_record_is_said_to_be_found_only_when_it_is_asked_for(
    shelved: Any, view: CatalogueView, anime: Callable[..., Record]
) -> None:
    shelved.put(anime("Night", synopsis="A dragon guards the mountain at night.", tags=["hentai"]))
    told = explain(
        view.catalogue.view(), "Night", scope=Scope(conditions=tuple(adult_conditions(view.spec)))
    )
    assert told.cut is Cut.CONDITION
    assert told.because[0].startswith("adult records are found only when a search asks for them")
