"""The grade of a catalogue: how well it answers its golden questions, and whether an index answers
them worse.

Questions are asked of one view of a catalogue: candidates are found once, and ranked by any weights
afterwards. Each kind of question and each arm has a grade, with intervals.

Of two indexes, only what both have is compared, and what is lost has to be beyond noise. A question
counts as long as the fields that it was made from are unchanged in its records, and both rankings
are taken without records that are new or gone: so an update that adds, corrects or removes records
is no regression, while an index that finds the same records worse is one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from stackroom.catalogue.spec import CatalogueSpec, SearchSpec
from stackroom.checksums import dump_checked, load_checked
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, StorageError
from stackroom.frozen import frozen
from stackroom.grading.golden_set import Question, default_scope, spread
from stackroom.grading.metrics import FIRST, NDCG, Quality, build_figure, measure, ndcg
from stackroom.library import replace_file
from stackroom.model.record import Key, RecordId
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId, Vector, centre
from stackroom.search.fuse import STEPS, Candidates, Floats
from stackroom.search.searcher import Searcher
from stackroom.shelf.port import ShelfReader

DEPTH = 50  # the number of hits that are looked at for an answer
GRADE_FILE = "grade.json"
ALL = "all"
BY_WORDS = "words alone"
BY_VECTORS = "vectors alone"
MOST_QUESTIONS = 120
"""The number of questions that are asked of both; enough to see a fall that matters, in a few
seconds.
"""
LEAST_QUESTIONS = 8
LEAST_FALL = 0.05
LEAST_FALL_OF_PART = 0.2
"""A smaller fall of the mean, of all questions or of one kind or arm, is no reason to refuse an
index.
"""
MOST_DEPTH = 400

# returns the vector of a query for one view; None where there is none
EmbedQuery = Callable[[str], Vector | None]
# returns the embedder of a model, or the default one
GetEmbedder = Callable[[ModelId | None], Embedder]


@frozen
class AskedQuestion:
    """A question with the keys of its answers, and what the arms of a search found for it."""

    question: Question
    answers: frozenset[int]
    candidates: Candidates
    vector: Vector | None = None
    depth: int = DEPTH

    def rank(self, search: SearchSpec) -> list[int]:
        """Return the keys of the best hits with these weights."""
        return self._best(STEPS[search.fusion](self.candidates, self.vector, search).scores())

    def rank_by_words(self) -> list[int]:
        """Return the keys of the best hits by words alone."""
        return self._best(self.candidates.bm25, above=0.0)

    def rank_by_vectors(self) -> list[int]:
        """Return the keys of the best hits by vectors alone."""
        is_near = np.where(self.candidates.in_vector_arm, self.candidates.cosine, -np.inf)
        return self._best(is_near, above=-np.inf)

    def _best(self, scores: Floats, *, above: float = -np.inf) -> list[int]:
        order = np.argsort(-scores, kind="stable")[: self.depth]
        keys: list[int] = self.candidates.keys[order[scores[order] > above]].tolist()
        return keys


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Asks questions of one view of a catalogue."""

    reader: ShelfReader
    spec: CatalogueSpec
    weights: SearchSpec  # those that it is searched with
    embed: EmbedQuery
    # the number of hits that are ranked; each arm contributes at least twice as many
    depth: int = DEPTH

    def ask(self, questions: Iterable[Question]) -> Iterator[AskedQuestion]:
        """Yield each question as it was asked; those whose answers are not in the catalogue are
        left out.
        """
        depth = max(self.spec.search.depth, 2 * self.depth)
        search = self.spec.search.model_copy(update={"depth": depth})
        searcher = Searcher(spec=self.spec, override=search)
        for question in questions:
            answers = frozenset(self.reader.find(question.expected, scope=WHOLE).values())
            if not answers:
                continue
            vector, scope = self.embed(question.query), default_scope(self.spec)
            yield AskedQuestion(
                question=question,
                answers=frozenset(map(int, answers)),
                candidates=searcher.find_candidates(
                    self.reader, question.query, vector, scope=scope, limit=self.depth
                ),
                vector=vector,
                depth=self.depth,
            )


def embed_for(reader: ShelfReader, get_embedder: GetEmbedder) -> EmbedQuery:
    """Return the embedding of queries for a view, by the model of its vectors and centred as they
    are.
    """
    embedder = get_embedder(reader.model)

    def embed(text: str) -> Vector | None:
        if reader.model is None or embedder.model != reader.model:
            return None
        try:
            vector = embedder.embed_query(text)
        except ExpectedError:
            return None
        return vector if reader.mean is None else centre(vector, reader.mean)

    return embed


@frozen
class Grade:
    """A catalogue's grade at one moment."""

    at: datetime
    records: int
    model: str
    # the grade of all questions, of each kind, and of the arms alone
    kinds: Mapping[str, Quality]


STORED = TypeAdapter(Grade)


def grade_questions(asked: Sequence[AskedQuestion], search: SearchSpec) -> dict[str, Quality]:
    """Return the grades of all questions, of each kind, and of words and vectors alone."""
    judged: dict[str, list[tuple[list[int], dict[int, float]]]] = {ALL: []}
    by_words, by_vectors = [], []
    for one in asked:
        gains = dict.fromkeys(one.answers, 1.0)
        found = one.rank(search), gains
        judged[ALL].append(found)
        judged.setdefault(str(one.question.kind), []).append(found)
        by_words.append((one.rank_by_words(), gains))
        if one.vector is not None:
            by_vectors.append((one.rank_by_vectors(), gains))
    judged |= {BY_WORDS: by_words, BY_VECTORS: by_vectors}
    return {kind: measure(some, depth=DEPTH) for kind, some in judged.items() if some}


def save_grade(grade: Grade, path: Path) -> None:
    """Write a grade, with the values of single questions; replaces the file as a whole."""
    replace_file(path, dump_checked(STORED.dump_python(grade, mode="json")))


def find_grade(path: Path) -> Grade | None:
    """Read the last grade of a catalogue; None where it was never graded."""
    if not path.is_file():
        return None
    try:
        return STORED.validate_python(load_checked(path.read_bytes(), None))
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{path} is damaged; remove it, and grade the catalogue again: stackroom eval"
        ) from error


def describe_grade(grade: Grade) -> str:
    """Return a grade in one line: nDCG@10 with its interval, and when it was measured."""
    ndcgs = grade.kinds[ALL][NDCG]
    return f"nDCG@10 {ndcgs} on {len(ndcgs.values)} questions, {grade.at:%Y-%m-%d}"


@frozen
class Fall:
    """A fall of nDCG@10 beyond noise: of all questions, of a kind, or of an arm alone."""

    name: str
    questions: int
    before: float
    after: float

    def __str__(self) -> str:
        return f"{self.name}: {self.before:.3f} → {self.after:.3f} ({self.questions} questions)"


def find_regressions(before: Asker, after: Asker, questions: Sequence[Question]) -> list[Fall]:
    """Return by how much the answers to the same questions fell, where that is beyond noise."""
    fair = list(_fair_questions(before, after, spread(questions, MOST_QUESTIONS)))
    if len(fair) < LEAST_QUESTIONS:
        return []
    readers = before.reader, after.reader
    counts = [reader.count(WHOLE) for reader in readers]
    # new records must not crowd out those that are compared
    growth = max(counts) / max(min(counts), 1)
    depth = min(round(before.depth * growth), MOST_DEPTH)
    old, new = _rankings(before, fair, depth), _rankings(after, fair, depth)
    found = sorted(
        {
            record_id
            for one in (old, new)
            for ids in one.values()
            for some in ids.values()
            for record_id in some
        }
    )
    in_both = set.intersection(*({*reader.find(found, scope=WHOLE)} for reader in readers))
    return list(_falls(fair, old, new, in_both))


Found = Mapping[int, list[RecordId]]  # number of a question → the ids that were found for it
Rankings = Mapping[str, Found]  # name of a way to rank → what it found


def _fair_questions(
    before: Asker, after: Asker, questions: Iterable[Question]
) -> Iterator[Question]:
    """Yield the questions about records that both have, as far as the fields they were made from
    are the same.
    """
    for question in questions:
        old, new = _records(before, question), _records(after, question)
        expected = tuple(
            one for one in question.expected if one in old and one in new and old[one] == new[one]
        )
        if expected:
            yield replace(question, expected=expected)


def _records(asker: Asker, question: Question) -> dict[RecordId, list[object]]:
    """Return the values that a question was made from, of the records that should answer it."""
    keys = asker.reader.find(question.expected, scope=WHOLE)
    records = asker.reader.fetch(list(keys.values()), scope=WHOLE)
    return {
        one: [records[key].get(name) for name in question.made_from]
        for one, key in keys.items()
        if key in records
    }


def _rankings(asker: Asker, questions: Sequence[Question], depth: int) -> Rankings:
    """Return the ids that each way of ranking finds for each question."""
    found: dict[str, dict[int, list[RecordId]]] = {ALL: {}, BY_WORDS: {}, BY_VECTORS: {}}
    asker = replace(asker, depth=depth)
    for number, question in enumerate(questions):
        for asked in asker.ask([question]):
            ranked = asked.rank(asker.weights), asked.rank_by_words(), asked.rank_by_vectors()
            for name, keys in zip(found, ranked, strict=True):
                found[name][number] = asker.reader.ids([Key(key) for key in keys])
    return found


def _falls(
    questions: Sequence[Question], old: Rankings, new: Rankings, in_both: set[RecordId]
) -> Iterator[Fall]:
    values = {name: _values(questions, old[name], new[name], in_both) for name in old}
    groups: dict[str, list[tuple[float, float]]] = {
        name: list(pairs.values()) for name, pairs in values.items()
    }
    for kind in dict.fromkeys(question.kind for question in questions):
        groups[str(kind)] = [
            pair for number, pair in values[ALL].items() if questions[number].kind is kind
        ]
    for name, pairs in groups.items():
        if len(pairs) < LEAST_QUESTIONS:
            continue
        before, after = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
        is_large = before - after >= (LEAST_FALL if name == ALL else LEAST_FALL_OF_PART)
        if is_large and build_figure([new - old for old, new in pairs]).high < 0:
            yield Fall(name=name, questions=len(pairs), before=before, after=after)


def _values(
    questions: Sequence[Question], old: Found, new: Found, in_both: set[RecordId]
) -> dict[int, tuple[float, float]]:
    """Return nDCG@10 of each question before and after, among records that are in both."""

    def value(number: int, ids: Sequence[RecordId]) -> float:
        expected = {*questions[number].expected}
        kept = [record_id for record_id in ids if record_id in in_both]
        return ndcg(kept, dict.fromkeys(expected, 1.0), depth=FIRST)

    return {
        number: (value(number, ids), value(number, new.get(number, [])))
        for number, ids in old.items()
    }
