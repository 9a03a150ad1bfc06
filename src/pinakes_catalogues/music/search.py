"""Searching one music catalogue for artists, albums and tracks: which hits answer, and in which order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pinakes.api import CatalogueView, Hit, Merged, Ranked, RankedKey, Searcher, fold_name
from pinakes_catalogues.music.grouping import KINDS
from pinakes_catalogues.music.library import MusicLibrary
from pinakes_catalogues.music.shapes import MOST, SearchParams

HEAD = 21
"""The number of best hits that are judged for relevance, and for the exact words of a query."""
FIGURE = re.compile(r"\d")
LATIN = re.compile(r"[a-z]")
"""A query without such letters is of a name: a model of English makes nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOfKind:
    """The hits of one kind, the total, and whether there are more hits than were read."""

    items: list[Merged]
    total: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKinds:
    """The hits of each kind, and why the search was degraded."""

    kinds: Mapping[str, FoundOfKind]
    degraded: str | None


def search_kinds(library: MusicLibrary, params: SearchParams, *, is_merged: bool) -> FoundKinds:
    """Search each kind by itself.

    The page that is asked for is read; where it is to be merged with other catalogues, all hits up to its end, graded.
    """
    vector = library.view.embed(params.query)
    searcher = _without_smoothing(library.catalogue.searcher)
    wanted = min(params.offset + params.limit, MOST)
    kinds: dict[str, FoundOfKind] = {}
    degraded = None
    for kind in [params.kind] if params.kind else KINDS:
        ranked = searcher.rank(
            library.reader,
            params.query,
            scope=library.scope(kind),
            limit=max(wanted + 1, HEAD),
            query_vector=vector,
        )
        answering, total = _answering(ranked, library, params.query)
        hits = ranked.read(answering[0 if is_merged else params.offset : wanted])
        items = _graded(library.view, params.query, hits) if is_merged else _ungraded(library.view, hits)
        kinds[kind] = FoundOfKind(items=items, total=total, has_more=len(answering) > wanted)
        degraded = ranked.degraded
    return FoundKinds(kinds=kinds, degraded=degraded)


def _graded(view: CatalogueView, query: str, hits: Sequence[Hit]) -> list[Merged]:
    return [
        Merged(view=view, hit=hit, strength=grade.strength, label=grade.label)
        for hit, grade in zip(hits, view.grade(query, hits), strict=True)
    ]


def _ungraded(view: CatalogueView, hits: Sequence[Hit]) -> list[Merged]:
    return [Merged(view=view, hit=hit, strength=1.0, label=None) for hit in hits]


def _without_smoothing(searcher: Searcher) -> Searcher:
    """Return a searcher without a share of the neighbours' scores, by which names gain nothing but time is lost."""
    return replace(searcher, override=replace(searcher.search_spec, smoothing_depth=1))


def _answering(ranked: Ranked, library: MusicLibrary, query: str) -> tuple[Sequence[RankedKey], int]:
    """Return the hits that answer, and their total: where one of the first does not, those before it, else all.

    Beside a record of the very name, and to a query in another script, nothing answers by its meaning alone. Only
    the first are judged, however many are wanted, so that pages fit together and the total is the same on each.
    """
    ranking = _named_first(ranked, library, query)
    is_named = any(one.reasons.get("title", 0) >= 1.0 for one in ranking[:HEAD])
    by_meaning = not is_named and LATIN.search(fold_name(query)) is not None
    answers = partial(_answers, library=library, by_meaning=by_meaning)
    end = next((rank for rank, one in enumerate(ranking[:HEAD]) if not answers(one)), None)
    return (ranking, ranked.total_matches) if end is None else (ranking[:end], end)


def _named_first(ranked: Ranked, library: MusicLibrary, query: str) -> Sequence[RankedKey]:
    """Return the ranking, among the first hits those before the others that have the whole query in a name.

    That is for numbers: "Op. 27 No. 2" is of words that many names have; who writes so means them in this order.
    """
    phrase = f" {fold_name(query)} "
    if len(phrase.split()) < 2 or not FIGURE.search(phrase):
        return ranked.ranking
    first, rest = ranked.ranking[:HEAD], ranked.ranking[HEAD:]
    names = {hit.key: library.catalogue.spec.names_of(hit.record) for hit in ranked.read(first)}
    named = {key for key, of_key in names.items() if any(phrase in f" {fold_name(name)} " for name in of_key)}
    return [*sorted(first, key=lambda one: one.key not in named), *rest]


def _answers(one: RankedKey, *, library: MusicLibrary, by_meaning: bool) -> bool:
    """Tell whether a hit has the query's words or name, or a relevant similarity."""
    if one.reasons.get("bm25", 0) > 0 or one.reasons.get("title", 0) > 0:
        return True
    if not by_meaning:
        return False
    calibration = library.catalogue.calibration
    return calibration is None or calibration.label_of(one.reasons.get("cosine", 0)) is not None
