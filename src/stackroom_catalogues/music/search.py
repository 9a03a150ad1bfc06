"""Searching one music catalogue for artists, albums and tracks: which hits answer, and in which
order.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

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
WITHIN = "within_name"  # what is added to a strength by that, in explanations
NO_EVIDENCE = f"its strength is {{:.2f}}, and only records from {api.EVIDENCE_AT} on are shown"
WITHOUT_WORDS = (
    "only records with words of the query are shown, since it is the name of one or in another"
    " script"
)


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


def find_kinds(
    views: api.ByCatalogue[api.CatalogueView],
    principal: api.Principal,
    params: SearchMusicParams,
) -> dict[str, api.ResultSet]:
    """Return what is found of each kind that is asked for."""
    scoped = scope_search(views, principal, params)

    def find(view: api.CatalogueView) -> dict[str, api.Part]:
        conditions = scoped.scopes[view.name].conditions
        return find_parts(MusicLibrary(view, principal, conditions=conditions), params)

    asked = api.ask_each(scoped.views.found, find)
    found = api.ResultSet(
        parts=[],
        page_size=params.limit,
        most=MOST,
        # what is only spelt the same has no parts to explain
        explains=params.explain and bool(api.fold_name(params.query)),
        unread=[*scoped.views.skipped, *asked.skipped],
        filter_notes=scoped.notes,
    )
    return {
        kind: replace(found, parts=[parts[kind] for parts in asked.found.values()])
        for kind in kinds_of(params)
    }


def find_parts(library: MusicLibrary, params: SearchMusicParams) -> dict[str, api.Part]:
    """Return what is found in one catalogue of each kind that is asked for."""
    reading = api.read_question(library.view, params.query, library.scope())
    vector = library.view.embed(reading.query or params.query)
    kinds = {kind: api.AnyOf(api.KIND_FIELD, (kind,)) for kind in kinds_of(params)}
    return {
        kind: _find_in(library, reading, reading.scope.narrowed(condition), vector)
        for kind, condition in kinds.items()
    }


def kinds_of(params: SearchMusicParams) -> Sequence[str]:
    """Return the kinds that are asked for."""
    return [params.kind] if params.kind else KINDS


def find_nearest(found: api.ResultSet, params: SearchMusicParams) -> list[api.Hit]:
    """Return the nearest records of a kind of which none answers."""
    ranked = [(part, part.ranked) for part in found.parts]
    parts = [replace(part, ranking=one.ranking) for part, one in ranked if one]
    nearest = replace(found, parts=parts, is_whole=True, explains=params.explain)
    return nearest.page(0, NEAREST_OF_KIND)


def notes_of(found: Iterable[api.ResultSet]) -> list[str]:
    """Return what was understood of a query in each catalogue, and what to know of its words beside
    the best hit.
    """
    best: dict[str, api.Part] = {}
    for part in (part for one in found for part in one.parts):
        if part.strength >= best.get(part.view.name, part).strength:
            best[part.view.name] = part
    noted = {name: [*part.reading.notes, *part.word_notes] for name, part in best.items()}
    return api.by_catalogue(noted, among=len(noted))


def _find_in(
    library: MusicLibrary, reading: api.ReadQuestion, scope: api.Scope, vector: api.QueryVector
) -> api.Part:
    """Return the records of a scope that answer."""
    searcher, query = library.catalogue.searcher, reading.query or reading.asked
    # names gain nothing by a share of the neighbours' scores, and time is lost
    spec = searcher.search_spec.model_copy(update={"smoothing_depth": 1})
    found = replace(searcher, override=spec).rank(
        library.reader, query, scope=scope, limit=MOST + 1, query_vector=vector
    )
    ranked = api.in_order(_named_first(found, library, query), library.view, reading)
    ranked, answering = _answering(ranked, library, reading)

    def why_left_out(key: api.Key) -> str:
        if key in answering.keys or key not in ranked.ranking.keys:
            return ""
        strength = float(ranked.ranking.scores[ranked.ranking.keys == key][0])
        return NO_EVIDENCE.format(strength) if strength < api.EVIDENCE_AT else WITHOUT_WORDS

    return api.Part(
        view=library.view,
        reading=replace(reading, scope=scope),
        ranking=answering,
        ranked=ranked,
        left_out=why_left_out,
        again=lambda scope, _limit: _find_in(library, reading, scope, vector),
    )


def _answering(
    ranked: api.Ranked, library: MusicLibrary, reading: api.ReadQuestion
) -> tuple[api.Ranked, api.Ranking]:
    """Return the hits that are evidence: all in scope where nothing but that is asked for.

    Beside a record of the very name, and to a query in another script, nothing answers by its
    meaning alone.
    """
    if reading.is_list:
        return ranked, api.list_records(library.view, replace(reading, scope=ranked.scope))
    name = api.fold_name(reading.query)
    if not name:
        return _spelt_the_same(ranked, library, reading.query)
    ranking, candidates = ranked.ranking, ranked.trace.candidates
    rows = ranked.rows_of(ranking.keys)
    answers = ranking.scores >= api.EVIDENCE_AT
    if (candidates.name[rows[:HEAD]] >= 1.0).any() or not LATIN.search(name):
        answers &= (candidates.bm25[rows] > 0) | (candidates.name[rows] > 0)
    return ranked, _ranking(ranking.keys[answers], ranking.scores[answers])


def _ranking(keys: ArrayLike, scores: ArrayLike) -> api.Ranking:
    every = np.asarray(keys, dtype=np.int64)
    return api.Ranking(keys=every, scores=np.asarray(scores, dtype=float), total=len(every))


def _spelt_the_same(
    ranked: api.Ranked, library: MusicLibrary, query: str
) -> tuple[api.Ranked, api.Ranking]:
    """Return the hits whose name is a query without letters and figures, as "!!!" is."""
    same = library.reader.titles_like(query, scope=ranked.scope, limit=HEAD)
    keys = [match.key for match in same if match.likeness >= 1.0]
    return _raised(ranked, keys, 1.0), _ranking(keys, np.ones(len(keys)))


def _raised(ranked: api.Ranked, keys: Sequence[api.Key], strength: float) -> api.Ranked:
    """Return a ranking with what these records need to have this strength."""
    scores = dict(zip(ranked.ranking.keys.tolist(), ranked.ranking.scores.tolist(), strict=True))
    more = {key: strength - scores[key] for key in keys if scores.get(key, strength) < strength}
    return replace(ranked, raised={key: {WITHIN: one} for key, one in more.items()})


def _named_first(ranked: api.Ranked, library: MusicLibrary, query: str) -> api.Ranked:
    """Return the ranking, among the first hits those before the others that have the whole query in
    a name.

    They are evidence by that. It is for numbers: "Op. 27 No. 2" is of words that many names have;
    who writes so means them in this order.
    """
    phrase = f" {api.fold_name(query)} "
    if len(phrase.split()) < 2 or not FIGURE.search(phrase):
        return ranked
    keys, scores = ranked.ranking.keys, ranked.ranking.scores
    records = library.reader.fetch(keys[:HEAD].tolist(), scope=ranked.scope)
    names = {key: library.catalogue.spec.names_of(record) for key, record in records.items()}
    named = [
        key
        for key in keys[:HEAD].tolist()
        if any(phrase in f" {api.fold_name(name)} " for name in names[key])
    ]
    strength = max([WITHIN_NAME, *scores[:1].tolist()])
    is_named = np.isin(keys, named)
    return _raised(ranked, named, strength).with_order(
        np.concatenate((keys[is_named], keys[~is_named])),
        np.concatenate((np.maximum(scores[is_named], strength), scores[~is_named])),
    )
