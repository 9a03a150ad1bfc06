"""Searching and recommending from a shelf as it is at each call, for tests of either by itself."""

from dataclasses import dataclass

from pinakes.catalogue.spec import SearchSpec
from pinakes.embed.port import Embedder
from pinakes.model.hits import SearchPage
from pinakes.model.scope import Scope
from pinakes.recommend.recommender import Recommendations, Recommender, Request
from pinakes.search.calibrate import Calibration
from pinakes.search.searcher import Reranker, Searcher
from pinakes.shelf.port import Shelf


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
            calibration=self.calibration,
        )
        return searcher.search(self.shelf.reader(), text, scope=scope, limit=limit)


def recommend(shelf: Shelf, embedder: Embedder | None, request: Request, *, scope: Scope) -> Recommendations:
    """Recommend from the shelf as it is now, in the year 2026."""
    recommender = Recommender(spec=shelf.spec, embedder=embedder, this_year=lambda: 2026)
    return recommender.recommend(shelf.reader(), request, scope=scope)
