"""Searching one music catalogue for artists, albums and tracks: which hits answer, and in which order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stackroom.api import (
    EVIDENCE_AT,
    KIND_FIELD,
    AnyOf,
    ByCatalogue,
    CatalogueScopes,
    CatalogueView,
    Evidence,
    Hit,
    MatchType,
    MergedHit,
    Principal,
    QueryVector,
    Ranked,
    RankedKey,
    ReadQuestion,
    Scope,
    ScopeRequest,
    Searcher,
    SearchPath,
    ShownHits,
    fold_name,
    in_order,
    list_ranked,
    parse_exclusions,
    read_question,
    require_excludable,
    scope_each,
)
from stackroom_catalogues.music.grouping import KINDS
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.shapes import MOST, SearchMusicParams

HEAD = 21
"""The number of best hits that are looked at for the exact words of a query."""
NEAREST_OF_KIND = 3
WITHIN_NAME = 0.8
"""The least strength of a record that has the whole query, with its numbers, in a name."""
FIGURE = re.compile(r"\d")
LATIN = re.compile(r"[a-z]")
"""A query without such letters is of a name: a model of English makes nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOfKind:
    """The hits of one kind, the nearest ones that are no answer, the total, and whether more hits follow."""

    items: list[MergedHit]
    nearest: list[MergedHit]
    total: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKinds:
    """The hits of each kind, how sure they are, and why the search was degraded."""

    kinds: Mapping[str, FoundOfKind]
    evidence: Evidence
    degraded: str | None
    notes: Sequence[str]
    """What was understood of the query."""


def scope_search(views: ByCatalogue[CatalogueView], principal: Principal, params: SearchMusicParams) -> CatalogueScopes:
    """Return the scope of a search in each catalogue: without what it excludes."""
    excluded = params.exclude or {}
    require_excludable(excluded, [view.spec for view in views.found.values()])
    asked = ScopeRequest(
        query=params.query, visibility=principal.visibility, conditions=lambda spec: parse_exclusions(excluded, spec)
    )
    return scope_each(views, asked)


def search_kinds(library: MusicLibrary, params: SearchMusicParams) -> FoundKinds:
    """Search each kind by itself; all hits up to the end of the page are read, since other catalogues may have some."""
    reading = read_question(library.view, params.query, library.scope())
    vector = library.view.embed(reading.query or params.query)
    wanted = min(params.offset + params.limit, MOST)
    explain = params.explain and bool(fold_name(params.query))  # what is only spelt the same has no parts to explain
    kinds: dict[str, FoundOfKind] = {}
    strongest, degraded, notes = 0.0, None, tuple[str, ...]()
    for kind in [params.kind] if params.kind else KINDS:
        ranked = _rank(library, reading, reading.scope.narrowed(AnyOf(KIND_FIELD, (kind,))), vector)
        answering = _answering(ranked, library, reading)
        strength = max((one.score for one in answering[:1]), default=0.0)
        if strength >= strongest:
            strongest, notes = strength, (*reading.notes, *ranked.notes_on(ranked.read(answering[:1])))
        nearest = [] if answering else ranked.read(ranked.ranking[:NEAREST_OF_KIND], explain=params.explain)
        kinds[kind] = FoundOfKind(
            items=_merged(library.view, ranked.read(answering[:wanted], explain=explain)),
            nearest=_merged(library.view, nearest),
            total=len(answering),
            has_more=len(answering) > wanted,
        )
        degraded = ranked.degraded
    return FoundKinds(kinds=kinds, evidence=Evidence.of(strongest), degraded=degraded, notes=notes)


def search_path(library: MusicLibrary, params: SearchMusicParams, kind: str, notes: Sequence[str]) -> SearchPath:
    """Return how `catalog.search` searches one catalogue for records of a kind, or of the one that is asked for."""
    reading = read_question(library.view, params.query, library.scope(params.kind or kind))
    vector = library.view.embed(reading.query or params.query)
    return SearchPath(
        view=library.view,
        scope=reading.scope,
        rank=lambda scope: _rank(library, reading, scope, vector),
        show=lambda ranked: _shown(ranked, library, reading),
        limit=MOST,
        page=params.limit,
        searcher=_without_smoothing(library.catalogue.searcher),
        notes=[*notes, *reading.notes],
    )


def _rank(library: MusicLibrary, reading: ReadQuestion, scope: Scope, vector: QueryVector) -> Ranked:
    searcher = _without_smoothing(library.catalogue.searcher)
    query = reading.query or reading.asked
    ranked = searcher.rank(library.reader, query, scope=scope, limit=MOST + 1, query_vector=vector)
    return in_order(replace(ranked, ranking=_named_first(ranked, library, query)), library.view, reading)


def _shown(ranked: Ranked, library: MusicLibrary, reading: ReadQuestion) -> ShownHits:
    """Return the hits that answer, and why others do not."""
    answering = _answering(ranked, library, reading)
    shown = {one.key: one for one in answering[:MOST]}
    able = {one.key for one in answering}
    left_out = {one.key: _why_left_out(one) for one in ranked.ranking if one.key not in able}
    strongest = max((one.score for one in answering[:HEAD]), default=0.0)
    return ShownHits(keys=list(shown), left_out=left_out, raised=shown, evidence=Evidence.of(strongest))


def _why_left_out(one: RankedKey) -> str:
    if one.score < EVIDENCE_AT:
        return f"its strength is {one.score:.2f}, and only records from {EVIDENCE_AT} on are shown"
    return "only records with words of the query are shown, since it is the name of one or in another script"


def _merged(view: CatalogueView, hits: Sequence[Hit]) -> list[MergedHit]:
    return [MergedHit(view=view, hit=hit) for hit in hits]


def _without_smoothing(searcher: Searcher) -> Searcher:
    """Return a searcher without a share of the neighbours' scores, by which names gain nothing but time is lost."""
    return replace(searcher, override=searcher.search_spec.model_copy(update={"smoothing_depth": 1}))


def _answering(ranked: Ranked, library: MusicLibrary, reading: ReadQuestion) -> list[RankedKey]:
    """Return the hits that are evidence: all in scope where nothing but that is asked for.

    Beside a record of the very name, and to a query in another script, nothing answers by its meaning alone.
    """
    if reading.is_list:
        return list_ranked(library.view, replace(reading, scope=ranked.scope))
    query = reading.query
    if not fold_name(query):
        return _spelt_the_same(ranked, library, query)
    ranking = ranked.ranking
    is_named = any(one.reasons["name"] >= 1.0 for one in ranking[:HEAD])
    by_meaning = not is_named and LATIN.search(fold_name(query)) is not None
    return [
        one
        for one in ranking
        if one.score >= EVIDENCE_AT and (by_meaning or one.reasons["bm25"] > 0 or one.reasons["name"] > 0)
    ]


def _spelt_the_same(ranked: Ranked, library: MusicLibrary, query: str) -> list[RankedKey]:
    """Return the hits whose name is a query without letters and figures, as "!!!" is."""
    same = library.reader.titles_like(query, scope=ranked.scope, limit=HEAD)
    known = {one.key: one for one in ranked.ranking}
    keys = [match.key for match in same if match.likeness >= 1.0]
    by_name = {key: RankedKey(key, 1.0, MatchType.FTS, {"bm25": 0.0, "name": 1.0}) for key in keys}
    return [known[key].raised(1.0, by="within_name") if key in known else by_name[key] for key in keys]


def _named_first(ranked: Ranked, library: MusicLibrary, query: str) -> tuple[RankedKey, ...]:
    """Return the ranking, among the first hits those before the others that have the whole query in a name.

    They are evidence by that. It is for numbers: "Op. 27 No. 2" is of words that many names have; who writes so means
    them in this order.
    """
    phrase = f" {fold_name(query)} "
    if len(phrase.split()) < 2 or not FIGURE.search(phrase):
        return ranked.ranking
    first, rest = ranked.ranking[:HEAD], ranked.ranking[HEAD:]
    names = {hit.key: library.catalogue.spec.names_of(hit.record) for hit in ranked.read(first)}
    named = {key for key, of_key in names.items() if any(phrase in f" {fold_name(name)} " for name in of_key)}
    strength = max([WITHIN_NAME, *(one.score for one in first[:1])])
    sure = [one.raised(strength, by="within_name") for one in first if one.key in named]
    return (*sure, *(one for one in first if one.key not in named), *rest)
