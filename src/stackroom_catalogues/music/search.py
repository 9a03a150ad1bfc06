"""Searching one music catalogue for artists, albums and tracks: which hits answer, and in which
order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stackroom import api
from stackroom_catalogues.music.grouping import KINDS
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.shapes import MOST, SearchMusicParams

HEAD = 21  # the number of best hits that are looked at for the exact words of a query
NEAREST_OF_KIND = 3
# the least strength of a record that has the whole query, with its numbers, in a name
WITHIN_NAME = 0.8
FIGURE = re.compile(r"\d")
# a query without such letters is of a name: a model of English makes nothing of it
LATIN = re.compile(r"[a-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOfKind:
    """The hits of one kind, the nearest ones that are no answer, the total, and whether more hits
    follow.
    """

    items: list[api.MergedHit]
    nearest: list[api.MergedHit]
    total: int
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundKinds:
    """The hits of each kind, how sure they are, and why the search was degraded."""

    kinds: Mapping[str, FoundOfKind]
    evidence: api.Evidence
    degraded: str | None
    notes: Sequence[str]  # what was understood of the query


def scope_search(
    views: api.ByCatalogue[api.CatalogueView], principal: api.Principal, params: SearchMusicParams
) -> api.CatalogueScopes:
    """Return the scope of a search in each catalogue: without what it excludes."""
    excluded = params.exclude or {}
    api.require_excludable(excluded, [view.spec for view in views.found.values()])
    asked = api.ScopeRequest(
        query=params.query,
        visibility=principal.visibility,
        conditions=lambda spec: api.parse_exclusions(excluded, spec),
    )
    return api.scope_each(views, asked)


def search_kinds(library: MusicLibrary, params: SearchMusicParams) -> FoundKinds:
    """Search each kind by itself; all hits up to the end of the page are read, since other
    catalogues may have some.
    """
    reading = api.read_question(library.view, params.query, library.scope())
    vector = library.view.embed(reading.query or params.query)
    wanted = min(params.offset + params.limit, MOST)
    explain = params.explain and bool(
        api.fold_name(params.query)
    )  # what is only spelt the same has no parts to explain
    kinds: dict[str, FoundOfKind] = {}
    strongest, degraded, notes = 0.0, None, tuple[str, ...]()
    for kind in [params.kind] if params.kind else KINDS:
        ranked = _rank(
            library, reading, reading.scope.narrowed(api.AnyOf(api.KIND_FIELD, (kind,))), vector
        )
        answering = _answering(ranked, library, reading)
        strength = max((one.score for one in answering[:1]), default=0.0)
        if strength >= strongest:
            strongest, notes = (
                strength,
                (*reading.notes, *ranked.notes_on(ranked.read(answering[:1]))),
            )
        hits = ranked.read(answering[:wanted], explain=explain)
        nearest = (
            []
            if answering
            else ranked.read(ranked.ranking[:NEAREST_OF_KIND], explain=params.explain)
        )
        kinds[kind] = FoundOfKind(
            items=[api.MergedHit(view=library.view, hit=hit) for hit in hits],
            nearest=[api.MergedHit(view=library.view, hit=hit) for hit in nearest],
            total=len(answering),
            has_more=len(answering) > wanted,
        )
        degraded = ranked.degraded
    return FoundKinds(
        kinds=kinds, evidence=api.Evidence.of(strongest), degraded=degraded, notes=notes
    )


def search_path(
    library: MusicLibrary, params: SearchMusicParams, kind: str, notes: Sequence[str]
) -> api.SearchPath:
    """Return how `catalog.search` searches one catalogue for records of a kind, or of the one that
    is asked for.
    """
    reading = api.read_question(library.view, params.query, library.scope(params.kind or kind))
    vector = library.view.embed(reading.query or params.query)
    return api.SearchPath(
        view=library.view,
        scope=reading.scope,
        rank=lambda scope: _rank(library, reading, scope, vector),
        show=lambda ranked: _shown(ranked, library, reading),
        limit=MOST,
        page=params.limit,
        searcher=_without_smoothing(library.catalogue.searcher),
        notes=[*notes, *reading.notes],
    )


def _rank(
    library: MusicLibrary, reading: api.ReadQuestion, scope: api.Scope, vector: api.QueryVector
) -> api.Ranked:
    searcher = _without_smoothing(library.catalogue.searcher)
    query = reading.query or reading.asked
    ranked = searcher.rank(library.reader, query, scope=scope, limit=MOST + 1, query_vector=vector)
    return api.in_order(
        replace(ranked, ranking=_named_first(ranked, library, query)), library.view, reading
    )


def _shown(ranked: api.Ranked, library: MusicLibrary, reading: api.ReadQuestion) -> api.ShownHits:
    """Return the hits that answer, and why others do not."""
    answering = _answering(ranked, library, reading)
    shown = {one.key: one for one in answering[:MOST]}
    able = {one.key for one in answering}
    left_out = {one.key: _why_left_out(one) for one in ranked.ranking if one.key not in able}
    strongest = max((one.score for one in answering[:HEAD]), default=0.0)
    return api.ShownHits(
        keys=list(shown), left_out=left_out, raised=shown, evidence=api.Evidence.of(strongest)
    )


def _why_left_out(one: api.RankedKey) -> str:
    if one.score < api.EVIDENCE_AT:
        return (
            f"its strength is {one.score:.2f}, and only records from {api.EVIDENCE_AT} on are shown"
        )
    return (
        "only records with words of the query are shown, since it is the name of one or in another"
        " script"
    )


def _without_smoothing(searcher: api.Searcher) -> api.Searcher:
    """Return a searcher without a share of the neighbours' scores, by which names gain nothing but
    time is lost.
    """
    return replace(
        searcher, override=searcher.search_spec.model_copy(update={"smoothing_depth": 1})
    )


def _answering(
    ranked: api.Ranked, library: MusicLibrary, reading: api.ReadQuestion
) -> list[api.RankedKey]:
    """Return the hits that are evidence: all in scope where nothing but that is asked for.

    Beside a record of the very name, and to a query in another script, nothing answers by its
    meaning alone.
    """
    if reading.is_list:
        return api.list_ranked(library.view, replace(reading, scope=ranked.scope))
    query = reading.query
    if not api.fold_name(query):
        return _spelt_the_same(ranked, library, query)
    ranking = ranked.ranking
    is_named = any(one.reasons["name"] >= 1.0 for one in ranking[:HEAD])
    by_meaning = not is_named and LATIN.search(api.fold_name(query)) is not None
    return [
        one
        for one in ranking
        if one.score >= api.EVIDENCE_AT
        and (by_meaning or one.reasons["bm25"] > 0 or one.reasons["name"] > 0)
    ]


def _spelt_the_same(ranked: api.Ranked, library: MusicLibrary, query: str) -> list[api.RankedKey]:
    """Return the hits whose name is a query without letters and figures, as "!!!" is."""
    same = library.reader.titles_like(query, scope=ranked.scope, limit=HEAD)
    known = {one.key: one for one in ranked.ranking}
    keys = [match.key for match in same if match.likeness >= 1.0]
    by_name = {
        key: api.RankedKey(key, 1.0, api.MatchType.FTS, {"bm25": 0.0, "name": 1.0}) for key in keys
    }
    return [
        known[key].raised(1.0, by="within_name") if key in known else by_name[key] for key in keys
    ]


def _named_first(
    ranked: api.Ranked, library: MusicLibrary, query: str
) -> tuple[api.RankedKey, ...]:
    """Return the ranking, among the first hits those before the others that have the whole query in
    a name.

    They are evidence by that. It is for numbers: "Op. 27 No. 2" is of words that many names have;
    who writes so means them in this order.
    """
    phrase = f" {api.fold_name(query)} "
    if len(phrase.split()) < 2 or not FIGURE.search(phrase):
        return ranked.ranking
    first, rest = ranked.ranking[:HEAD], ranked.ranking[HEAD:]
    names = {hit.key: library.catalogue.spec.names_of(hit.record) for hit in ranked.read(first)}
    named = {
        key
        for key, of_key in names.items()
        if any(phrase in f" {api.fold_name(name)} " for name in of_key)
    }
    strength = max([WITHIN_NAME, *(one.score for one in first[:1])])
    sure = [one.raised(strength, by="within_name") for one in first if one.key in named]
    return (*sure, *(one for one in first if one.key not in named), *rest)
