"""Why a search finds a record or not: its rank by words and by vectors, and the filters that exclude it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinakes.catalogue.spec import texts_of
from pinakes.model.hits import Ranking
from pinakes.model.record import Key, Record
from pinakes.model.scope import KIND_FIELD, PUBLIC, Scope, Visibility
from pinakes.search.conditions import adult_conditions
from pinakes.search.searcher import QueryVector
from pinakes.shelf.port import ShelfReader
from pinakes.shelf.terms import meets, text_tokens
from pinakes.text.normalise import clean
from pinakes.text.query import MAX_CHARS, analyse_query
from pinakes.tools.catalogue import CatalogueView, OpenCatalogue
from pinakes.tools.filters import KIND, includes_adult, parse_filters
from pinakes.tools.scopes import Asked, scope_of

LOOKED_AT = 100
"""How many results are searched for the record: as many as can be paged to."""
RANKED = 1_000
"""How deep a single ranking is searched for the record."""
SHOWN_VALUES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    """A record's rank and score in one ranking of the search, which has `of` results."""

    rank: int | None
    score: float | None
    of: int


def explain(
    catalogue: OpenCatalogue,
    key: Key,
    record: Record,
    *,
    query: str,
    filters: Mapping[str, Any],
    visibility: Visibility,
) -> dict[str, Any]:
    """Return whether a search with this visibility finds a record, at which rank, and why."""
    view, spec = catalogue.view(), catalogue.spec
    reader = view.reader
    searched, notes = scope_of(view, _asked(query, filters, visibility))
    asked = analyse_query(clean(query[:MAX_CHARS]), synonyms=spec.synonyms)
    query_vector = view.embed(query)
    page = view.search(query, scope=searched, limit=LOOKED_AT, query_vector=query_vector)
    rank = next((place for place, hit in enumerate(page.hits, start=1) if hit.key == key), None)
    hit = None if rank is None else page.hits[rank - 1]
    terms = [term for term, _ in asked.terms]
    here = set(text_tokens(record, spec.searched_fields))
    words = _rank_of(reader.lexical(asked, scope=searched, limit=RANKED), key)
    nearest = _nearest(reader, key, query_vector, searched)
    reasons = [
        *_list_audiences(record),
        *notes,
        *_list_exclusions(view, record, filters, searched),
        *_about_words(terms, here, words),
        *_about_meaning(reader, key, query_vector, nearest, catalogue),
        *([f"the index is older than the records: {reader.stale}"] if reader.stale else []),
    ]
    return {
        "title": spec.title_of(record),
        "kind": record.kind,
        "found": rank is not None,
        "rank": rank,
        "score": None if hit is None else round(hit.score, 4),
        "match": None if hit is None else str(hit.match_type),
        "parts": {} if hit is None else {name: round(value, 4) for name, value in hit.reasons.items()},
        "words": _plain(words),
        "meaning": _plain(nearest),
        "terms": {term: term in here for term in terms},
        "because": reasons,
    }


def _plain(ranked: _Ranked) -> dict[str, Any]:
    return {"rank": ranked.rank, "score": ranked.score, "of": ranked.of}


def _nearest(reader: ShelfReader, key: Key, query_vector: QueryVector, scope: Scope) -> _Ranked:
    if query_vector.vector is None:
        return _Ranked(rank=None, score=None, of=0)
    (ranking,) = reader.nearest(query_vector.vector[None, :], scope=scope, limit=RANKED)
    ranked = _rank_of(ranking, key)
    cosine = float(reader.vectors([key])[0] @ query_vector.vector)
    return _Ranked(rank=ranked.rank, score=round(cosine, 4), of=ranked.of)


def _rank_of(ranking: Ranking, key: Key) -> _Ranked:
    places = np.flatnonzero(ranking.keys == key)
    if not len(places):
        return _Ranked(rank=None, score=None, of=ranking.total)
    at = int(places[0])
    return _Ranked(rank=at + 1, score=round(float(ranking.scores[at]), 4), of=ranking.total)


def _list_audiences(record: Record) -> list[str]:
    """Return the audiences of a restricted record."""
    if not record.audiences or PUBLIC in record.audiences:
        return []
    return [f"only these see it, and ServerAdmin: {', '.join(record.audiences)}"]


def _asked(query: str, filters: Mapping[str, Any], visibility: Visibility) -> Asked:
    return Asked(
        query=query,
        visibility=visibility,
        conditions=lambda spec: parse_filters(filters, spec),
        with_adult=lambda spec: includes_adult(filters, spec),
    )


def _list_exclusions(view: CatalogueView, record: Record, filters: Mapping[str, Any], searched: Scope) -> list[str]:
    """Return the filters that exclude a record, and whether its kind or its mark is only found by a filter."""
    spec = view.spec
    found = []
    for name in filters:
        field = KIND_FIELD if name == KIND else name
        if any(one.field == field and not meets(record, one, spec) for one in searched.conditions):
            value = record.kind if name == KIND else ", ".join(texts_of(record.get(name))[:SHOWN_VALUES])
            found.append(f"the filter '{name}' leaves it out: it has {value or 'no value'}")
    if record.kind in spec.kinds_hidden_from_search and not filters.get(KIND):
        found.append(f"records of the kind '{record.kind}' are found only when 'filters.kind' asks for them")
    if any(one in searched.conditions and not meets(record, one, spec) for one in adult_conditions(spec)):
        found.append("adult records are found only when a search asks for them, as with the filter 'adult'")
    return found


def _about_words(terms: list[str], here: set[str], words: _Ranked) -> list[str]:
    missing = [term for term in terms if term not in here]
    if not terms:
        return ["the query has no words to look for"]
    if len(missing) == len(terms):
        return [f"it has none of the words: {', '.join(missing)}"]
    rank = f"by words it is {_rank_by_words(words)}"
    return [f"{rank}; it lacks: {', '.join(missing)}" if missing else f"{rank}, and has every word"]


def _rank_by_words(words: _Ranked) -> str:
    if words.rank:
        return f"number {words.rank} of {words.of}"
    return f"not among the first {RANKED} of {words.of}" if words.of > RANKED else "not found"


def _about_meaning(
    reader: ShelfReader, key: Key, query_vector: QueryVector, nearest: _Ranked, catalogue: OpenCatalogue
) -> list[str]:
    if query_vector.vector is None:
        return [f"searched by words alone: {query_vector.problem}"]
    if not np.any(reader.vectors([key])):
        return ["it has no vector: it was not embedded"]
    depth = max(catalogue.searcher.search_spec.depth, LOOKED_AT)
    if nearest.rank is None:
        return [f"by meaning it is not among the first {RANKED}"]
    if nearest.rank > depth:
        return [f"by meaning it is number {nearest.rank}; a search looks at the first {depth}"]
    return [f"by meaning it is number {nearest.rank}"]
