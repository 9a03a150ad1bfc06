"""`search_papers`, through the gate: its shape, its limits, and that filters come before
ranking.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.embed.remote import RemoteEmbedder
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import Target, ingest_batch
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.packages import PACKAGES
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Shelf
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.toolbox import Toolbox
from stackroom_catalogues.papers.rows import MAPPING
from stackroom_catalogues.papers.tools import TOOLS
from support.memory_shelf import MemoryShelf
from support.served import open_shelf

pytestmark = pytest.mark.row("P1")

SPEC = PACKAGES.get("papers").spec


def row(number: int, title: str, abstract: str = "", **more: Any) -> dict[str, Any]:
    return {"id": f"p{number}", "title": title, "abstract": abstract, **more}


ROWS = [
    row(
        1,
        "Graph networks",
        "We study networks of graphs.",
        year=2018,
        authors=[{"name": "Ada", "affiliations": ["X"]}],
    ),
    row(2, "Graph transformers", "Transformers on graphs.", year=2020, keywords=["attention"]),
    row(3, "Protein folding", "Structure from sequence, with a network.", year=2021),
    row(4, "Undated notes on graphs", "A networking note."),
    row(5, "C++ compilers", "How a compiler reads C++ templates.", year=1999),
    row(
        6,
        "Graphen",
        "Zur Theorie der Netzwerke; グラフ理論入門.",
        year=1936,
        authors=["Dénes Kőnig"],
    ),
]


def grown(count: int) -> list[dict[str, Any]]:
    """Return many papers on one topic; the last of them, and few others, have a word of their
    own.
    """
    return [
        row(n, f"Deep learning {n}", "learning " * 3 + ("quaternions" if n % 50 == 49 else ""))
        for n in range(count)
    ]


@dataclass(kw_only=True)
class Served:
    """A catalogue of papers behind its gate."""

    catalogue: OpenCatalogue
    gate: Gate

    def call(self, principal: Principal = LOCAL_USER, **arguments: Any) -> Answer:
        return self.gate.call(principal, "search_papers", arguments)

    def search(self, principal: Principal = LOCAL_USER, **arguments: Any) -> dict[str, Any]:
        answer = self.call(principal, **arguments)
        assert answer.structured is not None, answer.text
        return dict(answer.structured)

    def titles(self, **arguments: Any) -> list[str]:
        return [paper["title"] for paper in self.search(**arguments)["papers"]]


def served(shelf: Shelf, embedder: Any = None) -> Served:
    catalogue = open_shelf(shelf, embedder)
    return Served(catalogue=catalogue, gate=Gate(Toolbox(TOOLS, catalogues=[catalogue])))


def fill(shelf: Any, rows: list[dict[str, Any]], embedder: Any) -> None:
    target = Target(
        spec=SPEC, mapping=MAPPING, writer=shelf.writer(), ledger=Ledger(), embedder=embedder
    )
    assert ingest_batch(rows, target).inserted == len(rows)


@pytest.fixture
def serve(embedder: Any) -> Callable[..., Served]:
    """Serve rows from memory, with vectors or without."""

    def make(rows: list[dict[str, Any]] = ROWS, *, embed: bool = True) -> Served:
        shelf = MemoryShelf(SPEC, model=embedder.model if embed else None)
        fill(shelf, rows, embedder if embed else None)
        return served(shelf, embedder if embed else None)

    return make


def test_the_answer_has_the_fixed_shape(serve: Callable[..., Served]) -> None:
    found = serve().search(query="graph networks")
    assert (found["searchMode"], found["degraded"]) == ("hybrid", None)
    assert found["papers"][0] == {
        "title": "Graph networks",
        "authors": [{"name": "Ada", "affiliations": ["X"]}],
        "abstract": "We study networks of graphs.",
        "relevance": "IDENTICAL",
        "score": 1.0,
        "id": "p1",
        "year": 2018,
        "venue": None,
        "url": None,
    }


def test_without_vectors_the_answer_says_that_it_goes_by_words(
    serve: Callable[..., Served],
) -> None:
    found = serve(embed=False).search(query="proteins", keywords=["fold"])
    assert found["searchMode"] == "fts_only"
    assert "no vectors" in found["degraded"]
    assert [paper["title"] for paper in found["papers"]] == ["Protein folding"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            {"query": "x", "publish_year_range": [2020, 2010]},
            "'publish_year_range': 2020 is after 2010",
        ),
        ({"query": "x", "publish_year_range": [0, 10**400]}, "'publish_year_range"),
        ({"query": "x", "publish_year_range": [-5, 2000]}, "at most four digits"),
        ({"query": "x", "keywords": ["?!"]}, "'keywords': '\\?!' has no letter or digit in it"),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(
    serve: Callable[..., Served], arguments: dict[str, Any], told: str
) -> None:
    answer = serve().call(**arguments)
    assert answer.error_code == "invalid_input"
    assert re.search(told, answer.text), answer.text


def test_a_range_of_years_has_both_its_ends_and_no_undated_paper(
    serve: Callable[..., Served],
) -> None:
    papers = serve()
    assert set(papers.titles(query="graph", publish_year_range=[2018, 2020])) == {
        "Graph networks",
        "Graph transformers",
    }
    assert papers.titles(query="graph", publish_year_range=[2018, 2018]) == ["Graph networks"]
    by_both = {"keywords": ["graph"], "publish_year_range": [1900, 2019]}
    assert papers.titles(query="graphs", **by_both) == ["Graph networks"]
    assert papers.search(query="graph", publish_year_range=[1700, 1800])["papers"] == []


@pytest.mark.parametrize(
    ("keywords", "titles"),
    [
        (["NETWORKS", "graph"], {"Graph networks", "Undated notes on graphs"}),
        (["graph network"], {"Graph networks", "Undated notes on graphs"}),
        (["attention"], {"Graph transformers"}),
        (["a"], {"Protein folding", "Undated notes on graphs", "C++ compilers"}),
        (["C++"], {"C++ compilers"}),
        (["グラフ理論"], {"Graphen"}),
        (["graph", "protein"], set()),
    ],
)
def test_every_keyword_occurs_whatever_its_case_and_ending(
    serve: Callable[..., Served], keywords: list[str], titles: set[str]
) -> None:
    assert set(serve().titles(query="graphs", keywords=keywords)) == titles


def test_keywords_can_be_excluded_and_one_that_no_paper_has_is_named(
    serve: Callable[..., Served],
) -> None:
    papers = serve()
    every = set(papers.titles(query="graphs", paper_count=50))
    having = set(papers.titles(query="graphs", keywords=["graph"], paper_count=50))
    assert having
    assert (
        set(papers.titles(query="graphs", exclude_keywords=["Graph"], paper_count=50))
        == every - having
    )
    none = papers.call(query="graphs", keywords=["graph", "transfomer"])
    assert none.structured is not None
    assert none.structured["notes"] == ["no paper has the keyword 'transfomer'"]
    assert "no paper has the keyword 'transfomer'" in none.text


@pytest.mark.row("P8")
def test_the_nearest_papers_are_those_that_every_vector_compared_gives(
    tmp_path: Path, embedder: Any
) -> None:
    shelf = create_shelf(tmp_path, SPEC, model=embedder.model)
    fill(shelf, grown(300), embedder)
    reader = shelf.reader()
    keys = reader.scan(scope=WHOLE, limit=1_000)
    asked = embedder.embed_query("deep quaternions 149")
    cosines = reader.vectors(keys) @ asked
    best = [keys[place] for place in np.lexsort((keys, -cosines))[:20]]
    assert reader.nearest(asked[None, :], scope=WHOLE, limit=20)[0].keys.tolist() == best
    shelf.close()


@pytest.fixture
def openai(embedding_server: Any) -> Iterator[tuple[Any, RemoteEmbedder]]:
    """A server that answers as OpenAI's embeddings endpoint does, and the embedder that the
    settings make of it.
    """
    embedding_server.model = ModelId(name="text-embedding-3-small", dimension=1536)
    settings = embedding_server.settings(kind="openai", api_key="secret")
    embedder = RemoteEmbedder(settings)
    yield embedding_server, embedder
    embedder.close()


@pytest.mark.row("P7")
def test_papers_are_built_and_queried_through_the_model_that_the_settings_name(openai: Any) -> None:
    server, embedder = openai
    shelf = MemoryShelf(SPEC, model=embedder.model)
    fill(shelf, ROWS, embedder)
    assert server.texts["graph transformers. transformers on graphs."] == 1
    found = served(shelf, embedder).search(query="graph transformers")
    assert (found["searchMode"], found["papers"][0]["title"]) == ("hybrid", "Graph transformers")
    assert server.texts["graph transformers"] == 1
    assert shelf.reader().model == ModelId(name="text-embedding-3-small", dimension=1536)


@pytest.mark.row("P7")
@pytest.mark.parametrize(
    "change",
    [
        str,
        lambda text: f"  {text}\n",
        lambda text: text.replace(" ", " \u00a0\t"),
        str.upper,
    ],
)
def test_a_text_is_sent_in_the_same_form_when_it_is_stored_and_when_it_is_asked_for(
    openai: Any, change: Callable[[str], str]
) -> None:
    server, embedder = openai
    shelf = MemoryShelf(SPEC, model=embedder.model)
    fill(shelf, [row(1, " Graph  transformers", "Transformers\n on graphs.")], embedder)
    stored = set(server.texts)
    server.texts.clear()
    served(shelf, embedder).search(query=change("Graph transformers. Transformers on graphs."))
    assert set(server.texts) == stored
