"""How the document tools search one collection, for explanations of what they find."""

from pinakes.api import CatalogueView, Ranked, Scope, SearchPath, Shown
from pinakes_catalogues.documents.merging import SPARE, Found, evidence_of, merged, without_repeats

REPEATS = "it repeats a passage that is shown before it"


def passages_path(view: CatalogueView, query: str, scope: Scope, *, n_results: int) -> SearchPath:
    """Return how passages of one collection are searched for, without repeats."""
    searcher = view.catalogue.searcher

    def show(ranked: Ranked) -> Shown:
        page = ranked.page(SPARE * n_results)
        pages = {view.name: page}
        found = merged(pages, limit=n_results)
        kept = {one.hit.key for one in without_repeats(Found(source=view.name, hit=hit) for hit in page.hits)}
        repeats = {hit.key: REPEATS for hit in page.hits if hit.key not in kept}
        return Shown(keys=[one.hit.key for one in found], left_out=repeats, evidence=evidence_of(pages))

    return SearchPath(
        view=view,
        query=query,
        scope=scope,
        rank=lambda within: searcher.rank(view.reader, query, scope=within, limit=SPARE * n_results),
        show=show,
        limit=n_results,
        page=n_results,
        searcher=searcher,
    )
