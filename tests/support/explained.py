"""Explanations checked by brute force: against whole answers of the tools, and against scans of
whole catalogues.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import texts_of
from stackroom.generic.explain import WhyParams, explain_call
from stackroom.model.hits import EVIDENCE_AT
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Key, Record
from stackroom.model.scope import KIND_FIELD, WHOLE, AnyOf, Scope
from stackroom.search.result_set import Part, ResultSet
from stackroom.shelf.series import same_franchise, work_of
from stackroom.shelf.terms import meets, text_tokens
from stackroom.text.analyser import analyse_query
from stackroom.tools.catalogue import CatalogueView, FoundRecord
from stackroom.tools.operation import Call, identity_of
from stackroom.tools.reading import read_question
from support.libraries import Library

NEAR = 1.1e-4
"""How far a sum of rounded parts may be from the rounded whole: the last digit of a tie."""
DEPTH = 100
GIBBERISH = ("xqzv wvrk", "asdkjh qweoiu zmxnbc")
FOREIGN = ("宇宙", "カウボーイ", "война")

Ids = Callable[[Mapping[str, Any]], list[str]]


@dataclass(frozen=True, kw_only=True)
class SearchTool:
    """A search tool as a test calls it: the arguments of all pages, and where its answer has the
    ids.
    """

    name: str
    catalogue: str
    ids: Ids
    pages: tuple[Mapping[str, Any], ...] = ({"limit": 50}, {"limit": 50, "cursor": "50"})
    kind: str | None = None
    """The only kind of which records are asked for."""
    filters: Callable[[random.Random, Record], dict[str, Any]] = lambda _chance, _record: {}
    """Draws arguments beside the query."""


@dataclass
class Counts:
    """How many explanations were checked, by what was found or what kept a record out."""

    pairs: int = 0
    found: int = 0
    by_cut: dict[str, int] = field(default_factory=dict)
    worst: float = 0.0
    """The greatest difference between a sum of parts and its whole."""

    @property
    def missing(self) -> int:
        """The number of records that were not in the answer."""
        return self.pairs - self.found


def assert_rank(rank: int, scores: NDArray[np.float64], at: int, *, within: float) -> None:
    """Require that a score has this rank among all; scores that differ by rounding may be in any
    order.
    """
    better = np.count_nonzero(scores > scores[at] + within)
    no_worse = np.count_nonzero(scores >= scores[at] - within)
    assert better < rank <= no_worse, (rank, better, no_worse)


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """A query's search of one scope, and every record there with its scores by brute force."""

    found: ResultSet
    keys: list[Key]
    by_words: NDArray[np.float64]
    by_meaning: NDArray[np.float64] | None


class ExplanationCheck:
    """Draws queries and records, explains them, and compares every statement with a brute-force
    answer.
    """

    def __init__(self, library: Library, tool: SearchTool, *, seed: int = 1) -> None:
        self._library = library
        self._tool = tool
        self._chance = random.Random(seed)
        self._view: CatalogueView = library.app.open_catalogue(tool.catalogue).view()
        self._keys = self._view.reader.scan(scope=WHOLE, limit=1_000_000)
        self._scanned: dict[tuple[Scope, str], Scanned] = {}
        self.counts = Counts()

    def run(self, queries: int, *, each: int) -> Counts:
        """Check so many queries, each with records that are in its answer and as many that are
        not.
        """
        for _ in range(queries):
            like = self._record(self._chance.choice(self._keys))
            query, more = self._query(like), self._tool.filters(self._chance, like)
            answer = self._answer(query, more)
            self._scanned.clear()
            for record in self._draw(query, answer, each):
                self._check(query, more, record, answer)
        return self.counts

    def _record(self, key: Key) -> Record:
        return self._view.reader.fetch([key], scope=WHOLE)[key]

    def _query(self, record: Record) -> str:
        title = self._view.spec.title_of(record)
        words = [
            word
            for text in record.fields.values()
            for one in texts_of(text)
            for word in one.split()
        ]
        some = (
            self._chance.sample(words, min(len(words), self._chance.randint(1, 5))) if words else []
        )
        forms = [
            title,
            title[:-1] or title,
            " ".join(some),
            " ".join(some),
            f"a story of {' '.join(some[:2])}",
        ]
        drawn = self._chance.choice([*forms, *forms, *FOREIGN, *GIBBERISH])
        is_ranked = (
            analyse_query(drawn, synonyms={}).terms
            and not read_question(self._view, drawn, WHOLE).is_list
        )
        return drawn if is_ranked else title

    def _answer(self, query: str, more: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ids of every page in order, with the scores and evidence of the first."""
        ids: list[str] = []
        first: dict[str, Any] = {}
        for page in self._tool.pages:
            if page.get("cursor") and len(ids) < 50:
                break
            structured = self._library.structured(
                self._tool.name, **{"query": query, **more, **page}
            )
            first = first or structured
            ids += [one for one in self._tool.ids(structured) if one not in ids]
        return {"ids": ids, "evidence": first.get("evidence")}

    def _draw(self, query: str, answer: Mapping[str, Any], each: int) -> Iterator[Record]:
        """Yield records of the answer, others that share words with the query, and any others."""
        ids: list[str] = answer["ids"]
        shown = self._chance.sample(ids, min(len(ids), each // 2))
        found = self._view.reader.find([*shown], scope=WHOLE)  # type: ignore[list-item]
        yield from (self._record(key) for key in found.values())
        by_words = self._view.reader.lexical(
            analyse_query(query, synonyms={}), scope=WHOLE, limit=400
        ).keys.tolist()
        near = self._chance.sample(by_words, min(len(by_words), each // 4))
        others = [*near, *self._chance.sample(self._keys, min(len(self._keys), 20 * each))]
        records = (self._record(key) for key in others)
        wanted = (
            one for one in records if one.id not in ids and self._tool.kind in (None, one.kind)
        )
        for _, record in zip(range(each - len(found)), wanted, strict=False):
            yield record

    def _check(
        self, query: str, more: Mapping[str, Any], record: Record, answer: Mapping[str, Any]
    ) -> None:
        question = WhyParams(id=record.id, tool=self._tool.name, arguments={**more, "query": query})
        call = Call(identity=identity_of(), server=self._library.gate.toolbox_of(LOCAL_USER))
        found = FoundRecord(self._view, record)
        told = explain_call(found, call, question).model_dump(mode="json")
        place = answer["ids"].index(record.id) + 1 if record.id in answer["ids"] else None
        assert told["rank"] == place, (
            f"{query!r} {more} {record.id}: said {told['rank']}, is {place}: {told}"
        )
        self._check_sums(told)
        self._check_terms(told, record)
        self.counts.pairs += 1
        self.counts.found += place is not None
        if place is None:
            cut = str(told["cut"])
            self.counts.by_cut[cut] = self.counts.by_cut.get(cut, 0) + 1
        self._check_cut(query, more, record, answer, told)

    def _check_sums(self, told: Mapping[str, Any]) -> None:
        gaps = [abs(sum(told["strength"].values()) - told["score"])]
        if told["order"]:
            gaps.append(abs(sum(told["order"].values()) - told["parts"]["fused"]))
        self.counts.worst = max(self.counts.worst, *gaps)
        assert max(gaps) < NEAR, told

    def _check_terms(self, told: Mapping[str, Any], record: Record) -> None:
        here = set(text_tokens(record, self._view.spec.searched_fields))
        assert told["terms"] == {term: term in here for term in told["terms"]}
        counted = {
            part.removeprefix("word:") for part in told["strength"] if part.startswith("word:")
        }
        assert counted <= here

    def _check_cut(
        self,
        query: str,
        more: Mapping[str, Any],
        record: Record,
        answer: Mapping[str, Any],
        told: Mapping[str, Any],
    ) -> None:
        """Check the reason of a missing record, and the ranks, by scans of every record in
        scope.
        """
        found, part = self._part(query, more, record)
        failed = [
            one
            for one in part.reading.scope.all_conditions()
            if not meets(record, one, self._view.spec)
        ]
        assert (told["cut"] == "condition") == bool(failed), told
        left = tuple(one for one in part.reading.scope.conditions if one not in failed)
        scope = Scope(conditions=left, visibility=part.reading.scope.visibility)
        if (scope, record.kind) not in self._scanned:
            again = replace(found, parts=[part.found_again(scope)])
            self._scanned[scope, record.kind] = self._scan(again, scope)
        scanned = self._scanned[scope, record.kind]
        (key,) = self._view.reader.find([record.id], scope=WHOLE).values()
        assert key in scanned.keys, (
            "without the conditions that it does not meet, a record is in scope"
        )
        self._check_ranks(told, scanned, scanned.keys.index(key))
        if told["cut"] == "condition":
            shown = scanned.found.keys()
            otherwise = (
                f"be number {shown.index(key) + 1}" if key in shown else "be out all the same: "
            )
            assert any(
                one.startswith(f"otherwise it would {otherwise}") for one in told["because"]
            ), told
        elif told["cut"]:
            self._check_below(told, record, answer, found.most)

    def _part(self, query: str, more: Mapping[str, Any], record: Record) -> tuple[ResultSet, Part]:
        """Return what the tool finds, and the part of it that has records of this kind."""
        (tool,) = [
            one
            for one in self._library.gate.toolbox_of(LOCAL_USER).tools.values()
            if one.name == self._tool.name
        ]
        assert tool.operation.finds is not None
        call = Call(
            identity=identity_of(),
            server=self._library.gate.toolbox_of(LOCAL_USER),
            catalogues=[self._view.catalogue],
            chosen=self._tool.catalogue,
        )
        found = tool.operation.finds(call, tool.params.model_validate({"query": query, **more}))
        kinds = [AnyOf(KIND_FIELD, (record.kind,))]
        of_kind = [one for one in found.parts if kinds[0] in one.reading.scope.conditions]
        return found, (of_kind or list(found.parts))[0]

    def _scan(self, found: ResultSet, scope: Scope) -> Scanned:
        (part,), reader = found.parts, self._view.reader
        assert part.ranked is not None
        keys, query = reader.scan(scope=scope, limit=1_000_000), part.ranked.trace.query
        meaning = (
            None
            if query.vector is None
            else (reader.vectors(keys) @ query.vector).astype(np.float64)
        )
        by_words = reader.term_scores(query.terms, keys).sum(axis=1)
        return Scanned(found=found, keys=keys, by_words=by_words, by_meaning=meaning)

    def _check_ranks(self, told: Mapping[str, Any], scanned: Scanned, at: int) -> None:
        scores = scanned.by_words
        if scores[at] > 0:
            assert_rank(told["words"]["rank"], scores, at, within=1e-5 * scores[at])
        else:
            assert told["words"]["rank"] is None, told
        if scanned.by_meaning is not None:
            assert_rank(told["meaning"]["rank"], scanned.by_meaning, at, within=1e-6)

    def _check_below(
        self, told: Mapping[str, Any], record: Record, answer: Mapping[str, Any], limit: int
    ) -> None:
        place, shown = told["whole"]["rank"], answer["ids"]
        words, meaning = told["words"]["rank"], told["meaning"]["rank"]
        match told["cut"]:
            case "depth":
                assert place is None
                assert words is None or words > DEPTH
                assert meaning is None or meaning > DEPTH
            case "limit":
                assert place > limit
            case "evidence":
                assert answer["evidence"] == "none"
                assert place > len(shown)
            case "series":
                assert place <= limit
                found = self._view.reader.find(shown, scope=WHOLE).values()
                works = [work_of(self._record(one), self._view.spec) for one in found]
                own = work_of(record, self._view.spec)
                assert any(same_franchise(own, other) for other in works)
            case "tool":
                because = " ".join(told["because"])
                assert (
                    told["score"] < EVIDENCE_AT
                    or "words of the query" in because
                    or "repeats" in because
                )
