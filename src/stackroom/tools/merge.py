"""Searching several catalogues at once, and merging their hits into one list."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from stackroom.errors import InputError
from stackroom.model.hits import Evidence, FacetCount, Hit, SearchMode, SearchPage
from stackroom.model.scope import Scope
from stackroom.model.vectors import ModelId
from stackroom.search.searcher import QueryVector
from stackroom.tools.catalogue import CatalogueView, Gathered, ask_each, unread_notes

MERGED_HEAD = 10
NEAREST_SHOWN = 5
"""The number of hits that are shown where nothing answers."""

FURTHEST = 99
"""The last result that paging reaches: as deep as both arms of a search look, so that pages are consistent."""

Search = Callable[[CatalogueView, QueryVector], SearchPage]


class Merged(NamedTuple):
    """A hit of one catalogue in a merged list."""

    view: CatalogueView
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPage:
    """The hits of several catalogues, the page of each, and the catalogues that could not be read."""

    items: list[Merged]
    pages: Mapping[str, SearchPage]
    unread: list[str]

    @property
    def total_matches(self) -> int:
        """The total of matches."""
        return sum(page.total_matches for page in self.pages.values())

    def first(self, limit: int) -> list[Merged]:
        """Return the first hits; only a few where none is evidence."""
        return self.items[: min(limit, NEAREST_SHOWN) if self.evidence is Evidence.NONE else limit]

    def page(self, start: int, limit: int, *, is_list: bool = False) -> list[Merged]:
        """Return a page of the hits; only a few where none is evidence, unless a list of all is wanted."""
        end = min(start + limit, FURTHEST + 1)
        return (self.items[:end] if is_list else self.first(end))[start:]

    def cursor_after(self, end: int, *, is_list: bool = False) -> str | None:
        """Return the cursor of the page that begins after so many hits; None where there is none."""
        is_continued = is_list or self.evidence is not Evidence.NONE
        return str(end) if is_continued and len(self.items) > end and end < FURTHEST else None

    @property
    def evidence(self) -> Evidence:
        """The evidence of the catalogue that has the strongest."""
        return Evidence.best(page.evidence for page in self.pages.values())

    @property
    def mode(self) -> SearchMode:
        """Hybrid where at least one catalogue was searched by vectors."""
        modes = {page.mode for page in self.pages.values()}
        return SearchMode.HYBRID if SearchMode.HYBRID in modes else SearchMode.FTS_ONLY

    @property
    def degraded(self) -> str | None:
        """Why the answer is degraded, None where it is not."""
        reasons = dict.fromkeys(
            [*unread_notes(self.unread), *(page.degraded for page in self.pages.values() if page.degraded)]
        )
        return "; ".join(reasons) or None


def depth_for(start: int, limit: int) -> int:
    """Return how many hits of each catalogue a page is made from; InputError for a page that is too far."""
    if start > FURTHEST:
        raise InputError(f"'cursor' is not valid here; a search has pages up to its result {FURTHEST}")
    return max(min(start + limit + 1, FURTHEST), MERGED_HEAD)


def search_each(
    views: Gathered[CatalogueView], query: str, search: Search, *, pool: Executor | None = None
) -> MergedPage:
    """Search every view, skip those whose storage fails, and merge the hits by strength."""
    vectors = _embed_once(views.found, query)
    asked = ask_each(views.found, lambda view: (view, search(view, vectors[view.name])), pool=pool)
    return MergedPage(
        items=merge([[Merged(view=view, hit=hit) for hit in page.hits] for view, page in asked.found.values()]),
        pages={name: page for name, (_, page) in asked.found.items()},
        unread=[*views.skipped, *asked.skipped],
    )


def search_scopes(
    views: Gathered[CatalogueView],
    scopes: Mapping[str, Scope],
    query: str,
    *,
    limit: int,
    explain: bool = False,
    pool: Executor | None = None,
) -> MergedPage:
    """Search every view in the usual way, each in its own scope."""
    return search_each(
        views,
        query,
        lambda view, vector: view.search(
            query, scope=scopes[view.name], limit=limit, query_vector=vector, explain=explain
        ),
        pool=pool,
    )


def merge(lists: Sequence[Sequence[Merged]]) -> list[Merged]:
    """Merge the lists of several catalogues by strength; each catalogue's own order holds.

    Ties go by rank and then by name, so that equals take turns. A longer list begins as a shorter one does, so pages
    are consistent.
    """
    ranked = [
        (-level, rank, item.view.name, item)
        for items in lists
        for rank, (item, level) in enumerate(zip(items, _levels([item.hit.score for item in items]), strict=True))
    ]
    return [item for *_, item in sorted(ranked, key=lambda one: one[:3])]


def _levels(strengths: Sequence[float]) -> list[float]:
    """Return falling numbers near the strengths of a list, which need not fall: rising runs get their mean.

    That holds for the first few; after them a hit is never put above one that precedes it.
    """
    runs: list[tuple[float, int]] = []
    for strength in strengths[:MERGED_HEAD]:
        runs.append((strength, 1))
        while len(runs) > 1 and runs[-2][0] < runs[-1][0]:
            (later, more), (earlier, some) = runs.pop(), runs.pop()
            runs.append(((later * more + earlier * some) / (more + some), more + some))
    levels = [mean for mean, count in runs for _ in range(count)]
    for strength in strengths[MERGED_HEAD:]:
        levels.append(min(strength, levels[-1]))
    return levels


def _embed_once(views: Mapping[str, CatalogueView], query: str) -> dict[str, QueryVector]:
    """Return the query's vector for each catalogue, embedded once for all whose vectors are by the same model.

    Vectors that are centred differ by catalogue; their model embeds the query once all the same.
    """
    known: dict[tuple[ModelId | None, str], QueryVector] = {}
    keys = {name: (view.reader.model, name if view.reader.mean is not None else "") for name, view in views.items()}
    for name, view in views.items():
        if keys[name] not in known:
            known[keys[name]] = view.embed(query)
    return {name: known[key] for name, key in keys.items()}


def merge_facets(lists: Iterable[Sequence[FacetCount]]) -> list[FacetCount]:
    """Add up the counts of several catalogues, most frequent first; a single list keeps its order."""
    counts: Counter[tuple[str, str]] = Counter()
    for facet in chain.from_iterable(lists):
        counts[facet.category, facet.value] += facet.count
    return [FacetCount(category, value, count) for (category, value), count in counts.most_common()]
