"""Searching and recommending from a shelf as it is at each call, for tests of either by itself."""

from dataclasses import dataclass

from stackroom.catalogue.spec import SearchSpec
from stackroom.embed.port import Embedder
from stackroom.model.hits import SearchPage
from stackroom.model.scope import Scope
from stackroom.recommend.recommender import Recommendations, Recommender, Request
from stackroom.search.evidence import Calibration
from stackroom.search.searcher import Reranker, Searcher
from stackroom.shelf.port import Shelf


@dataclass(frozen=True, kw_only=True)
class ShelfSearcher:
    """A searcher together with the shelf that it reads."""

    shelf: Shelf
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    override: SearchSpec | None = None
    calibration: Calibration | None = None

    def search(self, text: str, *, scope: Scope, limit: int) -> SearchPage:
        """Search the shelf as it is now."""
        searcher = Searcher(
            spec=self.shelf.spec,
            embedder=self.embedder,
            reranker=self.reranker,
            override=self.override,
            calibration_of=lambda _model: self.calibration,
        )
        return searcher.search(self.shelf.reader(), text, scope=scope, limit=limit)


def recommend(
    shelf: Shelf, embedder: Embedder | None, request: Request, *, scope: Scope
) -> Recommendations:
    """Recommend from the shelf as it is now, in the year 2026."""
    recommender = Recommender(spec=shelf.spec, embedder=embedder, this_year=lambda: 2026)
    return recommender.recommend(shelf.reader(), request, scope=scope)
