"""How the judoka tools search, for explanations of what they find: with synonyms, and with filters as a list."""

from dataclasses import replace

from pinakes.api import CatalogueView, Ranked, Scope, SearchPath, Shown, show_first
from pinakes_catalogues.judoka.filters import argument_of
from pinakes_catalogues.judoka.synonyms import rank_expanded


def expanded_path(view: CatalogueView, query: str, scope: Scope, *, limit: int, page: int) -> SearchPath:
    """Return how a query is searched for with its synonyms."""
    vector = view.embed(query)
    return SearchPath(
        view=view,
        query=query,
        scope=scope,
        rank=lambda within: rank_expanded(view, query, vector, scope=within, limit=limit),
        show=lambda ranked: show_first(ranked, limit),
        limit=limit,
        page=page,
        searcher=view.catalogue.searcher,
        label=argument_of,
    )


def shown_whole(path: SearchPath) -> SearchPath:
    """Return the same path, showing all hits even where nothing answers: filters ask for a list."""

    def show(ranked: Ranked) -> Shown:
        page = ranked.page(path.limit)
        return Shown(keys=[hit.key for hit in page.hits], evidence=page.evidence)

    return replace(path, show=show)
