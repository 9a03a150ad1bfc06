"""Retrieval quality on a judged collection: each ranker alone, and both ways of fusing them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackroom.assembly.app import App
from stackroom.assembly.model_choice import ModelChoice, want_model
from stackroom.assembly.workshop import CatalogueEmbedder
from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import Fusion, SearchSpec
from stackroom.embed.port import Embedder
from stackroom.grading.metrics import Figure, build_figure, ndcg, recall, reciprocal_rank
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.mapping import RowMapping
from stackroom.ingest.pipeline import Progress, Target, ingest
from stackroom.measure.beir import DECLARATION, Collection, document_of
from stackroom.model.scope import WHOLE
from stackroom.search.evidence import calibrate
from stackroom.search.searcher import QueryVector, Searcher, embed_query
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.port import ShelfReader

DEPTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The three metrics of one search method."""

    ndcg_10: Figure
    recall_100: Figure
    mrr_10: Figure


def want_evaluated_model(app: App, asked: str | None = None) -> ModelChoice:
    """Return the model to evaluate: the one asked for, the endpoint of the settings, or the one for prose."""
    return want_model(app, compile_text(DECLARATION, origin="beir"), None, asked=asked)


def evaluate(collection: Collection, *, embedder: Embedder, work: Path, progress: Progress) -> dict[str, Quality]:
    """Index the collection under `work` (once) and measure every search method."""
    spec = compile_text(DECLARATION, origin="beir")
    shelf = EmbeddedShelf.create(work, spec, model=embedder.model)
    try:
        target = Target(
            spec=spec,
            mapping=RowMapping(records_of=lambda row: (document_of(row),)),
            writer=shelf,
            ledger=Ledger(),
            embedder=embedder,
        )
        ingest(collection.corpus(), target, progress=progress)
        reader = shelf.reader()
        asked = CatalogueEmbedder(shelf, lambda _model: embedder)
        vectors = {query: embed_query(asked, reader, text) for query, text in collection.queries.items()}
        searcher = Searcher(spec=spec, calibration=calibrate(reader, asked))
        return {name: _quality(collection, rank) for name, rank in _ways(reader, searcher, collection, vectors).items()}
    finally:
        shelf.close()


def _ways(
    reader: ShelfReader,
    searcher: Searcher,
    collection: Collection,
    vectors: Mapping[str, QueryVector],
) -> dict[str, Callable[[str], list[str]]]:
    """Return the search methods: each ranks documents for a query's id."""

    def vector(query: str) -> list[str]:
        query_vector = vectors[query].vector
        if query_vector is None:
            return []
        return list(reader.ids(reader.nearest(query_vector[None, :], scope=WHOLE, limit=DEPTH)[0].keys.tolist()))

    search = searcher.spec.search

    def fused(query: str, query_vector: QueryVector, search: SearchSpec) -> list[str]:
        by = replace(searcher, override=search)
        page = by.search(reader, collection.queries[query], scope=WHOLE, limit=DEPTH, query_vector=query_vector)
        return [hit.record.id for hit in page.hits]

    return {
        "lexical": lambda query: fused(query, QueryVector(vector=None), search),
        "vector": vector,
        "rrf": lambda query: fused(query, vectors[query], replace(search, fusion=Fusion.RRF)),
        "hybrid": lambda query: fused(query, vectors[query], search),
    }


def _quality(collection: Collection, rank: Callable[[str], Sequence[str]]) -> Quality:
    rankings = {query: rank(query) for query in collection.queries}
    judged = [(rankings[query], collection.grades[query]) for query in collection.queries]
    return Quality(
        ndcg_10=build_figure([ndcg(ranked, grades, depth=10) for ranked, grades in judged]),
        recall_100=build_figure([recall(ranked, relevant, depth=100) for ranked, relevant in judged]),
        mrr_10=build_figure([reciprocal_rank(ranked, relevant, depth=10) for ranked, relevant in judged]),
    )
