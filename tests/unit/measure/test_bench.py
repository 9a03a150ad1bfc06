"""Timing a catalogue and a server's start: what has nothing to be timed is refused, and no wait is without end."""

import sys
from typing import Any

import pytest

from stackroom.assembly.build import package_recipe
from stackroom.errors import InputError, UnavailableError
from stackroom.measure.bench import bench, time_start
from stackroom.packages import PACKAGES
from stackroom.recommend.recommender import Recommender
from stackroom.search.searcher import Searcher
from stackroom.tools.catalogue import OpenCatalogue
from support.memory_shelf import MemoryShelf

ANSWERING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"id": asked["id"], "result": {}}), flush=True)
"""
SILENT = "import sys; sys.stdin.read()"


def test_an_empty_catalogue_is_refused(embedder: Any) -> None:
    spec = package_recipe(PACKAGES.get("papers")).loaded.spec
    shelf = MemoryShelf(spec)
    catalogue = OpenCatalogue(
        name="empty",
        spec=spec,
        shelf=shelf,
        searcher=Searcher(spec=shelf.spec, embedder=embedder),
        recommender=Recommender(spec=shelf.spec, embedder=embedder, this_year=lambda: 2026),
    )
    with pytest.raises(InputError, match="'empty' is empty"):
        bench(catalogue, queries=20)


def test_a_server_is_timed_to_its_answer() -> None:
    seconds, _memory_mb = time_start([sys.executable, "-c", ANSWERING], "search", {"query": "x"})
    assert 0 < seconds < 60


@pytest.mark.parametrize("program", [SILENT, "import sys; sys.stdin.readline()"])
def test_a_server_that_does_not_answer_is_given_up(program: str) -> None:
    with pytest.raises(UnavailableError, match="did not answer initialize"):
        time_start([sys.executable, "-c", program], "search", {}, timeout_s=0.5)
