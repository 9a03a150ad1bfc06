"""How much an answer takes, in calls of functions: the same on every machine. `make bench` has the
milliseconds.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.recommend.recommender import Request
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Embedding, Put
from stackroom.tools.result_text import result_text
from support.searching import ShelfSearcher
from support.work import count_calls, record

pytestmark = pytest.mark.row("A14")

RECORDS = 30_000
MOST_BY_WORDS, MOST_HYBRID, MOST_RECOMMENDED = 10_000, 20_000, 60_000


@pytest.mark.model
def test_on_the_sample_text_hybrid_and_recommendation_take_no_more_than_so_many_calls(
    sample: Any,
) -> None:
    catalogue = sample.app.open_catalogue("anime")
    by_words = ShelfSearcher(shelf=catalogue.shelf)
    request = Request(titles=("Cowboy Bebop", "Mushishi"), preferences="post-2000, not horror")
    for most, action in (
        (MOST_BY_WORDS, lambda query: by_words.search(query, scope=WHOLE, limit=10)),
        (MOST_HYBRID, lambda query: catalogue.view().search(query, scope=WHOLE).hits(10)),
        (MOST_RECOMMENDED, lambda _query: catalogue.view().recommend(request, scope=WHOLE)),
    ):
        action("a quiet village")  # what is read once is read
        assert count_calls(lambda action=action: action("robots at war")) < most


def test_thirty_thousand_vectors_are_searched_exactly_and_without_a_call_for_each(
    tmp_path: Path, anime_spec: CatalogueSpec, anime: Callable[..., Record]
) -> None:
    model = ModelId(name="random", dimension=384)
    rows = np.random.default_rng(1).normal(size=(RECORDS, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    shelf = create_shelf(tmp_path / "shelf", anime_spec, model=model)
    puts = [
        Put(record=anime(f"t{i}"), embedding=Embedding(digest=i.to_bytes(4, "big"), vector=rows[i]))
        for i in range(RECORDS)
    ]
    shelf.apply(puts)
    shelf.publish()
    reader = shelf.reader()
    query = rows[:1]
    (ranking,) = reader.nearest(query, scope=WHOLE, limit=50)
    assert count_calls(lambda: reader.nearest(query, scope=WHOLE, limit=50)) < RECORDS / 30
    exact = np.argsort(-(rows @ rows[0]), kind="stable")[:50]
    assert reader.ids([hit.key for hit in ranking.best])[:10] == [f"t{i}" for i in exact[:10]]
    shelf.close()


MOST_OWN_CALLS, MOST_OWN_CALLS_CACHED = 2_810, 43
MOST_STATEMENTS, MOST_STATEMENTS_CACHED = 7, 1
MOST_FILES = 2
"""The settings and the calibration of a catalogue, each looked at once a second at most."""
MOST_RENDERS = 2
"""The whole answer, whose length says how it is to be cut, and the cut one."""


@pytest.mark.model
def test_a_warm_call_makes_no_more_than_so_many_calls_looks_at_files_statements_and_renders(
    sample: Any,
) -> None:
    """The bounds are a tenth above what was measured.

    Where a call does more for a reason, or less, print `search.own.total()` and the others here,
    and write them with a tenth more above. `PYTHONPATH=tests python benchmarks/call_path.py
    --library HOME --list` names the functions.
    """
    for query in ("a quiet village", "robots at war"):
        sample.call("search_anime", query=query)  # what is read once is read
    search = record(
        lambda: sample.call("search_anime", query="a lonely girl and her robot in space")
    )
    assert search.own.total() <= MOST_OWN_CALLS
    assert search.files.total() <= MOST_FILES, search.files
    assert search.statements <= MOST_STATEMENTS
    assert search.times(result_text) <= MOST_RENDERS
    cached = record(
        lambda: sample.call("search_anime", query="a lonely girl and her robot in space")
    )
    assert cached.own.total() <= MOST_OWN_CALLS_CACHED
    assert cached.statements <= MOST_STATEMENTS_CACHED
    assert (cached.files.total(), cached.times(result_text)) == (0, 0)
