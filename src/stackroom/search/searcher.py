"""A search, end to end, over one view of a shelf, and the embedder of one catalogue."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, SearchSpec, embedding_text
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError
from stackroom.frozen import frozen
from stackroom.model.hits import (
    EVIDENCE_AT,
    IDENTICAL_AT,
    MatchType,
    Ranking,
    SearchMode,
    Why,
    build_ranking,
)
from stackroom.model.record import Key
from stackroom.model.scope import KNOWN_FIELD, WHOLE, AnyOf, Scope
from stackroom.model.vectors import ModelId, Vector
from stackroom.search.evidence import (
    Calibration,
    WeighedEvidence,
    WeighedWords,
    weigh_evidence,
    weigh_words,
)
from stackroom.search.fuse import (
    STEPS,
    Candidates,
    Floats,
    Keys,
    candidate_keys,
    line_up,
    shorten_little_known,
)
from stackroom.search.moods import read_moods, score_checks
from stackroom.search.names import find_names
from stackroom.search.ranked import (
    TIERS,
    KeyedRecord,
    Ranked,
    SearchQuery,
    Trace,
    falling,
    order_rows,
    rows_for,
)
from stackroom.search.values import field_values
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import term_of
from stackroom.text.analyser import MAX_CHARS, analyse_query, with_synonyms, with_words
from stackroom.text.normalise import clean
from stackroom.text.safe import hide_places

logger = logging.getLogger(__name__)

RERANK_CHARS = 1_000
FURTHEST = 99
"""The last result that paging reaches: as deep as both arms of a search look, so that pages are
consistent.
"""
DEEPER = 3
"""Where as many hits are wanted as a ranking contributes, this many times as many: the last ones
are often in both.
"""
HAVING_WORDS = 2
"""Of how many times as many records as a ranking contributes the words are looked up; others have
fewer of them.
"""
ARMS_AT_ONCE = 4

ARMS_APART_ABOVE = 200_000  # in a smaller catalogue, a second thread costs more than it saves

NOTHING_FOUND = build_ranking((), (), limit=0)


def share_of_named(
    reader: ShelfReader,
    spec: CatalogueSpec,
    text: str,
    keys: Sequence[Key],
    *,
    fields: Sequence[str],
) -> Floats:
    """Return for each record the share of the values named by the text that it has; zeros where
    none is named.
    """
    named, shares = 0, np.zeros(len(keys))
    for name in fields:
        wanted = {term_of(one.value) for one in field_values(reader, spec, name).named_in(text)}
        if wanted and keys:
            named += len(wanted)
            shares += reader.count_terms(name, wanted, keys)
    return shares / named if named else shares


class Reranker(Protocol):
    """The reranking port: scores the texts of the best hits against a query. Off unless one is
    configured.
    """

    depth: int  # the number of best hits to rescore
    failures: int  # the number of failures so far

    def scores(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """Return one score per text, higher is better, or None on failure or timeout."""

    def close(self) -> None:
        """Close the connections."""


@frozen
class QueryVector:
    """The query's vector, or the reason why there is none."""

    vector: Vector | None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Searcher:
    """Searches one catalogue."""

    spec: CatalogueSpec
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    calibration_of: Callable[[ModelId | None], Calibration | None] = lambda _model: None
    """Returns the meaning of a cosine of vectors by a model, which may change while it is served;
    None where it was never measured, or there are no vectors.
    """
    override: SearchSpec | None = None  # replaces the search section of the catalogue's spec
    find_tuned: Callable[[], SearchSpec | None] | None = None
    """Returns the search section with tuned weights, which may change while it is served; None
    where none were.
    """
    pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(ARMS_AT_ONCE, "arm")
    )
    """Runs the vector and title arms of a large catalogue beside the lexical arm."""

    @property
    def search_spec(self) -> SearchSpec:
        """The search section in force."""
        return self.override or (self.find_tuned() if self.find_tuned else None) or self.spec.search

    def rank(
        self,
        reader: ShelfReader,
        text: str,
        *,
        scope: Scope,
        limit: int = FURTHEST,
        query_vector: QueryVector | None = None,
        also: Collection[str] = (),
    ) -> Ranked:
        """Return the best records in scope for a query in plain words; of a very long one, for its
        beginning.

        `query_vector` is what `embed` gave for this text, where it is known already; `also` are
        words to look for beside those of the text.
        """
        wanted = max(limit, self.reranker.depth if self.reranker else 0)
        reader = reader.seen_by(scope.visibility)
        embedded = query_vector or self.embed(reader, text)
        query = self._analysed(reader, text, embedded.vector, also=also)
        trace = self._trace(reader, query, scope=scope, depth=self._depth(wanted))
        rows = best_rows(trace, reader, rows_for(wanted))
        ranked = Ranked(
            ranking=Ranking(
                keys=trace.candidates.keys[rows],
                scores=trace.scores[rows],
                total=int(np.count_nonzero(trace.scores >= EVIDENCE_AT)),
            ),
            mode=SearchMode.FTS_ONLY if query.vector is None else SearchMode.HYBRID,
            degraded=embedded.problem or about_awaited_vectors(reader) or "",
            reader=reader,
            scope=scope,
            spec=self.spec,
            trace=trace,
        )
        return _reranked(ranked, self.reranker, query.text, self.spec) if self.reranker else ranked

    def embed(self, reader: ShelfReader, text: str) -> QueryVector:
        """Return the vector of a query for this catalogue, or the reason why there is none."""
        return embed_query(self.embedder, reader, clean(text[:MAX_CHARS]))

    def find_candidates(
        self, reader: ShelfReader, text: str, vector: Vector | None, *, scope: Scope, limit: int
    ) -> Candidates:
        """Return what the arms find for a query, not yet scored: for callers that score it in
        several ways.
        """
        reader = reader.seen_by(scope.visibility)
        return self._find(reader, self._analysed(reader, text, vector), scope, self._depth(limit))

    def _analysed(
        self, reader: ShelfReader, text: str, vector: Vector | None, *, also: Collection[str] = ()
    ) -> SearchQuery:
        asked = clean(text[:MAX_CHARS])
        words = analyse_query(asked, synonyms={})
        looked_for = with_synonyms(words, asked, self.spec.synonyms)
        looked_for = with_words(looked_for, also) if also else looked_for
        moods = read_moods(reader, self.spec, asked) if vector is not None else None
        return SearchQuery(
            text=asked,
            terms=looked_for,
            words=weigh_words(reader, words, looked_for),
            vector=vector,
            moods=moods,
        )

    def _trace(self, reader: ShelfReader, query: SearchQuery, *, scope: Scope, depth: int) -> Trace:
        """Run the arms, weigh what they found, and fuse it."""
        candidates, search = self._find(reader, query, scope, depth), self.search_spec
        fusion = STEPS[search.fusion](candidates, query.vector, search)
        evidence, fused = self._weigh(reader, candidates, query.words), fusion.scores()
        strengths, scores = evidence.strengths(), np.empty(len(fused))
        order = order_rows(strengths, fused, tiers=TIERS if evidence.addends else (IDENTICAL_AT,))
        scores[order] = falling(strengths[order])
        return Trace(
            query=query,
            candidates=candidates,
            evidence=evidence,
            fusion=fusion,
            fused=fused,
            scores=scores,
            depth=depth,
        )

    def weigh_one(self, reader: ShelfReader, query: SearchQuery, key: Key) -> WeighedEvidence:
        """Weigh the evidence for one record that no arm of a search has found."""
        score = float(reader.term_scores(query.terms, [key]).sum())
        weights = [weight for _, weight in query.words.terms.terms]
        has_term = reader.term_scores(query.words.terms, [key])[0] > 0
        found = self._line_up(
            reader,
            query,
            np.array([key], dtype=np.int64),
            lexical=build_ranking([key], [score], limit=1) if score > 0 else NOTHING_FOUND,
            having=build_ranking([key], [has_term @ weights], limit=1),
            names={},
            nearest=NOTHING_FOUND,
        )
        return self._weigh(reader, found, query.words)

    def _weigh(
        self, reader: ShelfReader, candidates: Candidates, words: WeighedWords
    ) -> WeighedEvidence:
        calibration = self.calibration_of(reader.model)
        return weigh_evidence(candidates, words, calibration, record_count=reader.count(WHOLE))

    def _depth(self, wanted: int) -> int:
        """Return how many records each ranking contributes; the same for all pages of an ordinary
        search.
        """
        depth = self.search_spec.depth
        return depth if wanted < depth else DEEPER * wanted

    def _find(
        self, reader: ShelfReader, query: SearchQuery, scope: Scope, depth: int
    ) -> Candidates:
        """Run the arms and line up what they found."""
        is_large, arm = reader.count(WHOLE) > ARMS_APART_ABOVE, (reader, query.vector, scope, depth)
        vector_arm = self.pool.submit(_nearest, *arm) if is_large else None
        lexical = reader.lexical(query.terms, scope=scope, limit=depth, counted=False)
        having = reader.having_words(query.words.terms, scope=scope, limit=HAVING_WORDS * depth)
        names = find_names(reader, self.spec, query.text, query.words, lexical=lexical, scope=scope)
        nearest = vector_arm.result() if vector_arm else _nearest(*arm)
        felt = NOTHING_FOUND.keys
        if query.moods is not None:  # the nearest of the records that have what they ask for
            wanted = [
                AnyOf(checks.field, checks.sought or checks.near) for checks in query.moods.checks
            ]
            felt = _nearest(reader, query.vector, scope.narrowed(*wanted), depth).keys
        keys = candidate_keys(
            lexical.keys, np.array(list(names), dtype=np.int64), nearest.keys, felt
        )
        return self._line_up(
            reader, query, keys, lexical=lexical, having=having, names=names, nearest=nearest
        )

    def _line_up(
        self,
        reader: ShelfReader,
        query: SearchQuery,
        keys: Keys,
        *,
        lexical: Ranking,
        having: Ranking,
        names: Mapping[Key, float],
        nearest: Ranking,
    ) -> Candidates:
        found, search, moods = keys.tolist(), self.search_spec, query.moods
        vectors = np.zeros((len(keys), 0), np.float32)
        if query.vector is not None:
            vectors = reader.vectors(found)
        known, discount = np.zeros(len(keys)), 0.0
        if self.spec.known:
            known, discount = reader.numbers(KNOWN_FIELD, found), search.little_known_discount
        return line_up(
            keys,
            lexical=lexical,
            having=having,
            names=names,
            nearest=nearest,
            vectors=shorten_little_known(vectors, known, discount),
            query=query.vector,
            known=known,
            named=share_of_named(reader, self.spec, query.text, found, fields=search.named),
            mood=np.mean([score_checks(reader, found, one) for one in moods.checks], axis=0)
            if moods
            else None,
            is_mood=moods is not None and moods.is_whole,
            full_score=query.words.total,
            some_await_vectors=reader.awaiting_vectors > 0,
        )


def about_awaited_vectors(reader: ShelfReader) -> str | None:
    """Return which part of the records can be found by meaning, while the others are being
    embedded.
    """
    if not reader.awaiting_vectors:
        return None
    records = reader.count(WHOLE)
    share = 100 * (records - reader.awaiting_vectors) // max(records, 1)
    return f"{share} % of the records can be found by meaning so far"


def embed_query(embedder: Embedder | None, reader: ShelfReader, text: str) -> QueryVector:
    """Return the query's vector, or the reason why the search is lexical only."""
    if reader.model is None:
        problem = "the catalogue has no vectors"
    elif embedder is None:
        problem = "no embedder is configured"
    elif embedder.model != reader.model:
        problem = (
            f"the catalogue's vectors are by {reader.model}, the embedder is {embedder.model};"
            f" install that model: stackroom model pull {reader.model.name} --from FOLDER, or set"
            " its embedder"
        )
    else:
        try:
            return QueryVector(vector=embedder.embed_query(text))
        except ExpectedError as error:
            logger.warning("vector search is off: %s", error.full_message)
            problem = hide_places(error.message)
    return QueryVector(vector=None, problem=problem)


def _nearest(reader: ShelfReader, vector: Vector | None, scope: Scope, depth: int) -> Ranking:
    return (
        NOTHING_FOUND
        if vector is None
        else reader.nearest(vector[None, :], scope=scope, limit=depth)[0]
    )


def best_rows(trace: Trace, reader: ShelfReader, limit: int) -> list[int]:
    """Return the rows of the best scores, ties broken by the fused score and by record id."""
    scores, fused = trace.scores, trace.fused
    order = np.lexsort((-fused, -scores))
    if len(order) > limit:
        order = order[scores[order] >= scores[order[limit - 1]]]
    rows: list[int] = order.tolist()
    later, before = order[1:], order[:-1]
    if ((scores[later] == scores[before]) & (fused[later] == fused[before])).any():
        ids = dict(zip(rows, reader.ids(trace.candidates.keys[rows].tolist()), strict=True))
        rows.sort(key=lambda row: (-scores[row], -fused[row], ids[row]))
    return rows[:limit]


NOT_RERANKED = (
    "the reranker did not answer, so the order is that of the search; to see why, run: stackroom"
    " doctor"
)


def _reranked(ranked: Ranked, reranker: Reranker, text: str, spec: CatalogueSpec) -> Ranked:
    """Reorder the first hits by the reranker's scores, identical ones first; keep the order where
    it fails.
    """
    keys, head = ranked.ranking.keys, reranker.depth
    first = keys[:head].tolist()
    if not first:
        return ranked
    records = ranked.reader.fetch(first, scope=ranked.scope)
    whole = [embedding_text(spec.embed, records[key]) if spec.embed else "" for key in first]
    by_reranker = reranker.scores(text, [one[:RERANK_CHARS] for one in whole])
    if by_reranker is None:
        return replace(ranked, degraded=ranked.degraded or NOT_RERANKED)
    strengths = ranked.ranking.scores[:head]
    order = order_rows(strengths, np.array(by_reranker), tiers=[IDENTICAL_AT])
    again = ranked.with_order(
        np.concatenate((keys[order], keys[head:])),
        np.concatenate((falling(strengths[order]), ranked.ranking.scores[head:])),
    )
    return replace(again, reranked=dict(zip(first, by_reranker, strict=True)))


RANKED = 50_000  # how deep an arm is searched for a record


@frozen
class RankIn:
    """A record's rank and score in one ranking of `of` records; no rank where it is not in it, or
    too far down.
    """

    rank: int | None
    score: float | None
    of: int
    searched: int = 0  # how many of the ranking were looked through


@frozen
class Standing:
    """The ranks of a record in scope: in each arm of a search, and in the whole."""

    words: RankIn
    meaning: RankIn
    whole: RankIn  # the place among all candidates, by the fused score
    strength: float
    why: Why
    match_type: MatchType | None  # the arms that found it; None where none did
    reasons: Mapping[str, float]  # the measures that the search took of it


def find_standing(
    searcher: Searcher, ranked: Ranked, ranking: Ranking, found: KeyedRecord
) -> Standing:
    """Return where a record of the scope of a search stands in it; `ranking` is what is shown."""
    trace, reader = ranked.trace, ranked.reader
    words = reader.lexical(trace.query.terms, scope=ranked.scope, limit=RANKED)
    row, match_type = trace.find_row(found.key), None
    if row is None:
        evidence = searcher.weigh_one(reader, trace.query, found.key)
        strength = float(evidence.strengths()[0])
        why = trace.explain_weighed(reader, evidence, found)
    else:
        at = np.flatnonzero(ranking.keys == found.key)
        strength = float(ranking.scores[at[0]] if len(at) else trace.scores[row])
        (match_type,) = ranked.match_types(np.array([found.key]))
        (explained,) = ranked.explain([found.key], [strength], [found.record])
        assert explained is not None, "it is a candidate"
        why = explained
    return Standing(
        words=_rank_in(words, found.key),
        meaning=_rank_by_meaning(ranked, found.key),
        whole=_rank_in_whole(ranked, found.key, row),
        strength=strength,
        why=why,
        match_type=match_type,
        reasons=ranked.measures_of(found.key),
    )


def _rank_by_meaning(ranked: Ranked, key: Key) -> RankIn:
    vector = ranked.trace.query.vector
    if vector is None:
        return RankIn(rank=None, score=None, of=0)
    (ranking,) = ranked.reader.nearest(vector[None, :], scope=ranked.scope, limit=RANKED)
    cosine = float(ranked.reader.vectors([key])[0] @ vector)
    count = ranked.reader.count(ranked.scope)
    return RankIn(
        rank=_rank_in(ranking, key).rank, score=cosine, of=count, searched=len(ranking.keys)
    )


def _rank_in(ranking: Ranking, key: Key) -> RankIn:
    places = np.flatnonzero(ranking.keys == key)
    if not len(places):
        return RankIn(rank=None, score=None, of=ranking.total, searched=len(ranking.keys))
    at = int(places[0])
    return RankIn(rank=at + 1, score=float(ranking.scores[at]), of=ranking.total)


def _rank_in_whole(ranked: Ranked, key: Key, row: int | None) -> RankIn:
    """Return the place in the order of the page, which a reranker may have changed at its
    beginning.
    """
    trace = ranked.trace
    count = len(trace.candidates.keys)
    if row is None:
        return RankIn(rank=None, score=None, of=count)
    places = np.flatnonzero(ranked.ranking.keys == key).tolist()
    at = places[0] if places else best_rows(trace, ranked.reader, count).index(row)
    return RankIn(rank=at + 1, score=float(trace.fused[row]), of=count)
