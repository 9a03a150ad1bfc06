"""Records similar to an artist, album or track: by vectors, shared tags and years."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from stackroom.api import InputError, NameChoice, Record, Request, Tag
from stackroom_catalogues.music.grouping import TRACK
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.names import work_key

SPARE = 4
"""Candidates for each wanted record, so that enough are left of different artists."""
SAME_ARTIST_SHARE = 4
"""At every rank at most two of the tracks so far, or one in this many, are by the same artist."""
LOOKED_AT = 400
YEARS_APART = 8.0
TIME_SHARE = 0.3


def find_similar(library: MusicLibrary, record: Record, *, limit: int) -> list[tuple[Record, float]]:
    """Return the most similar records of the same kind, each with its similarity, 0–1."""
    found = _by_meaning(library, record, limit) if library.reader.model else _by_tags(library, record)
    fit = [(other, score) for other, score in found if score > 0 and not _is_the_same(other, record)]
    return _varied(fit, limit=limit) if record.kind == TRACK else fit[:limit]


def _by_meaning(library: MusicLibrary, record: Record, limit: int) -> list[tuple[Record, float]]:
    key = library.reader.find([record.id], scope=library.scope())[record.id]
    chosen = NameChoice(asked=record.id, key=key, record=record, title=str(record.get("name")), likeness=1.0)
    request = Request(titles=(record.id,), limit=SPARE * limit)
    recommender, scope = library.catalogue.recommender, library.scope(record.kind)
    answer = recommender.recommend_for(library.reader, [chosen], request, scope=scope)
    return [(item.record, item.score) for item in answer.items]


def _by_tags(library: MusicLibrary, record: Record) -> list[tuple[Record, float]]:
    """Rank records by shared tags, rare ones counting more, and by their years."""
    keys = library.keys(record.kind)
    wanted = {tag.value.lower() for tag in record.get("genres") or () if isinstance(tag, Tag)}
    if not wanted:
        raise InputError(f"'{record.id}' has no genres and the catalogue no vectors: there is nothing to compare it by")
    terms = library.reader.terms("genres", keys)
    counts = Counter(term for some in terms for term in some)
    rarity = {term: float(np.log1p(len(keys) / count)) for term, count in counts.items()}
    years = library.reader.numbers("year", keys)
    nearness = np.exp(-((years - float(record.get("year") or np.nan)) ** 2) / (2 * YEARS_APART**2))
    scores = []
    for place, some in enumerate(terms):
        whole = sum(rarity[term] for term in some | (wanted & rarity.keys()))
        shared = sum(rarity[term] for term in some & wanted) / whole if whole else 0.0
        time = 0.0 if np.isnan(nearness[place]) else float(nearness[place])
        scores.append(((1 - TIME_SHARE) * shared + TIME_SHARE * time) if shared else 0.0)
    places = [place for place in range(len(keys)) if scores[place]]
    best = sorted(places, key=lambda place: (-scores[place], keys[place]))[:LOOKED_AT]
    records = library.fetch([keys[place] for place in best])
    return [(record, scores[place]) for record, place in zip(records, best, strict=True)]


def _is_the_same(one: Record, other: Record) -> bool:
    """Tell whether two records are the same, or recordings of the same work by the same artists."""
    if one.id == other.id:
        return True
    by_same = set(one.get("artist_ids") or ()) == set(other.get("artist_ids") or ())
    return by_same and work_key(str(one.get("name"))) == work_key(str(other.get("name")))


def _varied(found: Sequence[tuple[Record, float]], *, limit: int) -> list[tuple[Record, float]]:
    """Return the best records with a bound on those by the same artist, where there are others."""
    counts: Counter[str] = Counter()
    waiting = list(found)
    kept: list[tuple[Record, float]] = []
    while waiting and len(kept) < limit:
        most = max(2, len(kept) // SAME_ARTIST_SHARE)
        fitting = (one for one in waiting if all(counts[artist] < most for artist in _artists_of(one[0])))
        best = next(fitting, waiting[0])
        waiting.remove(best)
        counts.update(_artists_of(best[0]))
        kept.append(best)
    return kept


def _artists_of(record: Record) -> Iterable[str]:
    return record.get("artist_ids") or record.get("artists") or ()
