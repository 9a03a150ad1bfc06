"""Searching several catalogues at once, and merging their hits into one list."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import chain

from pinakes.model.hits import FacetCount, Hit, SearchMode, SearchPage
from pinakes.model.vectors import ModelId
from pinakes.search.searcher import QueryVector
from pinakes.tools.catalogue import UNREADABLE, CatalogueView, Gathered, ask_each

MERGED_HEAD = 10

Search = Callable[[CatalogueView, QueryVector], SearchPage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A hit of one catalogue in a merged list, with its strength and label."""

    view: CatalogueView
    hit: Hit
    strength: float
    label: str | None


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

    @property
    def mode(self) -> SearchMode:
        """Hybrid where at least one catalogue was searched by vectors."""
        modes = {page.mode for page in self.pages.values()}
        return SearchMode.HYBRID if SearchMode.HYBRID in modes else SearchMode.FTS_ONLY

    @property
    def degraded(self) -> str | None:
        """Why the answer is degraded, None where it is not."""
        skipped = [f"{name}: {UNREADABLE}" for name in self.unread]
        reasons = dict.fromkeys([*skipped, *(page.degraded for page in self.pages.values() if page.degraded)])
        return "; ".join(reasons) or None


def search_each(
    views: Gathered[CatalogueView], query: str, search: Search, *, is_graded: bool, pool: Executor | None = None
) -> MergedPage:
    """Search every view, skip those whose storage fails, and merge the hits by strength.

    Hits are graded where they have to be compared, or where the caller wants their labels.
    """
    vectors = _embed_once(views.found, query)
    has_grades = is_graded or len(views.found) > 1

    def ask(view: CatalogueView) -> tuple[SearchPage, list[Merged]]:
        page = search(view, vectors[view.name])
        return page, _graded(view, page, query, has_grades=has_grades)

    asked = ask_each(views.found, ask, pool=pool)
    return MergedPage(
        items=merge([items for _, items in asked.found.values()]),
        pages={name: page for name, (page, _) in asked.found.items()},
        unread=[*views.skipped, *asked.skipped],
    )


def merge(lists: Sequence[Sequence[Merged]]) -> list[Merged]:
    """Merge the lists of several catalogues by strength, so that scores of different catalogues compare.

    A catalogue's own order holds. Its first few have the strengths of those few, the strongest first; after them none
    is taken to be stronger than the one before. Ties go by rank and then by name, so that equals take turns. A longer
    list begins as a shorter one does, so pages are consistent.
    """
    ranked: list[tuple[float, int, str, Merged]] = []
    for items in lists:
        strengths = sorted((item.strength for item in items[:MERGED_HEAD]), reverse=True)
        strengths += [item.strength for item in items[MERGED_HEAD:]]
        least = 1.0
        for rank, (item, strength) in enumerate(zip(items, strengths, strict=True)):
            least = min(least, strength)
            ranked.append((-least, rank, item.view.name, replace(item, strength=least)))
    return [item for *_, item in sorted(ranked, key=lambda one: one[:3])]


def _graded(view: CatalogueView, page: SearchPage, query: str, *, has_grades: bool) -> list[Merged]:
    if not has_grades:
        return [Merged(view=view, hit=hit, strength=hit.score, label=None) for hit in page.hits]
    return [
        Merged(view=view, hit=hit, strength=grade.strength, label=grade.label)
        for hit, grade in zip(page.hits, view.grade(query, page.hits), strict=True)
    ]


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
