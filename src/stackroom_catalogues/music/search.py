"""Searching one music catalogue for artists, albums and tracks: which hits answer, and in which
order.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from stackroom import api
from stackroom.api import ranking
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
NO_EVIDENCE = f"its strength is {{:.2f}}, and only records from {ranking.EVIDENCE_AT} on are shown"
WITHOUT_WORDS = (
    "only records with words of the query are shown, since it is the name of one or in another"
    " script"
)


def find_kinds(call: api.Call, params: SearchMusicParams) -> dict[str, api.ResultSet]:
    """Return what is found of each kind that is asked for."""
    scoped = api.Views.of(call).scoped(params.query, exclude=params.exclude)

    def find(view: api.CatalogueView) -> dict[str, ranking.Part]:
        conditions = scoped.scopes[view.name].conditions
        return find_parts(MusicLibrary(view, call.principal, conditions=conditions), params)

    asked = scoped.views.ask(find)
    found = api.ResultSet(
        parts=[],
        page_size=params.limit,
        most=MOST,
        # what is only spelt the same has no parts to explain
        explains=params.explain and bool(api.fold_name(params.query)),
        unread=asked.skipped,
        filter_notes=scoped.notes,
    )
    return {
        kind: replace(found, parts=[parts[kind] for parts in asked.found.values()])
        for kind in kinds_of(params)
    }


def find_parts(library: MusicLibrary, params: SearchMusicParams) -> dict[str, ranking.Part]:
    """Return what is found in one catalogue of each kind that is asked for."""
    reading = ranking.read_question(library.view, params.query, library.scope())
    query = reading.query or reading.asked
    vector = library.view.embed(reading.query or params.query)
    # names gain nothing by a share of the neighbours' scores, and time is lost
    searcher = library.catalogue.searcher
    spec = searcher.search_spec.model_copy(update={"smoothing_depth": 1})
    searcher = replace(searcher, override=spec)

    def find_in(scope: api.Scope) -> ranking.Part:
        """Return the records of a scope that answer."""
        found = searcher.rank(
            library.reader, query, scope=scope, limit=MOST + 1, query_vector=vector
        )
        named = _named_first(found, library, query)
        ranked = ranking.in_order(named, library.view, reading)
        if reading.is_list:  # all in scope, where nothing but that is asked for
            answering = ranking.list_records(library.view, replace(reading, scope=ranked.scope))
        elif name := api.fold_name(reading.query):
            answering = _answering(ranked, name)
        else:
            ranked, answering = _spelt_the_same(ranked, library, reading.query)

        def why_left_out(key: ranking.Key) -> str:
            if key in answering.keys or key not in ranked.ranking.keys:
                return ""
            strength = float(ranked.ranking.scores[ranked.ranking.keys == key][0])
            is_weak = strength < ranking.EVIDENCE_AT
            return NO_EVIDENCE.format(strength) if is_weak else WITHOUT_WORDS

        return ranking.Part(
            view=library.view,
            reading=replace(reading, scope=scope),
            ranking=answering,
            ranked=ranked,
            left_out=why_left_out,
            again=lambda scope, _limit: find_in(scope),
        )

    kinds = {kind: api.AnyOf(api.KIND_FIELD, (kind,)) for kind in kinds_of(params)}
    return {kind: find_in(reading.scope.narrowed(condition)) for kind, condition in kinds.items()}


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
    best: dict[str, ranking.Part] = {}
    for part in (part for one in found for part in one.parts):
        if part.strength >= best.get(part.view.name, part).strength:
            best[part.view.name] = part
    noted = {name: [*part.reading.notes, *part.word_notes] for name, part in best.items()}
    return ranking.by_catalogue(noted, among=len(noted))


def _answering(ranked: ranking.Ranked, name: str) -> ranking.Ranking:
    """Return the hits that are evidence.

    Beside a record of the very name, and to a query in another script, nothing answers by its
    meaning alone.
    """
    found, candidates = ranked.ranking, ranked.trace.candidates
    rows = candidates.keys.searchsorted(found.keys)
    answers = found.scores >= ranking.EVIDENCE_AT
    if (candidates.name[rows[:HEAD]] >= 1.0).any() or not LATIN.search(name):
        answers &= (candidates.bm25[rows] > 0) | (candidates.name[rows] > 0)
    return _ranking(found.keys[answers], found.scores[answers])


def _ranking(keys: ArrayLike, scores: ArrayLike) -> ranking.Ranking:
    every = np.asarray(keys, dtype=np.int64)
    return ranking.Ranking(keys=every, scores=np.asarray(scores, dtype=float), total=len(every))


def _spelt_the_same(
    ranked: ranking.Ranked, library: MusicLibrary, query: str
) -> tuple[ranking.Ranked, ranking.Ranking]:
    """Return the hits whose name is a query without letters and figures, as "!!!" is."""
    same = library.reader.titles_like(query, scope=ranked.scope, limit=HEAD)
    keys = [match.key for match in same if match.likeness >= 1.0]
    return _raised(ranked, keys, 1.0), _ranking(keys, np.ones(len(keys)))


def _raised(ranked: ranking.Ranked, keys: Sequence[ranking.Key], strength: float) -> ranking.Ranked:
    """Return a ranking with what these records need to have this strength."""
    scores = dict(zip(ranked.ranking.keys.tolist(), ranked.ranking.scores.tolist(), strict=True))
    more = {key: strength - scores[key] for key in keys if scores.get(key, strength) < strength}
    return replace(ranked, raised={key: {WITHIN: one} for key, one in more.items()})


def _named_first(ranked: ranking.Ranked, library: MusicLibrary, query: str) -> ranking.Ranked:
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
