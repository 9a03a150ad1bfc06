"""Regression: whether an index answers the same questions worse than the one before it, beyond noise.

Only what both have is compared. A question counts as long as the fields that it was made from are unchanged in its
records, and both rankings are taken without records that are new or gone: so an update that adds, corrects or removes
records is no regression, while an index that finds the same records worse is one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stackroom.catalogue.spec import SearchSpec
from stackroom.grading.asking import Asker
from stackroom.grading.golden_set import spread
from stackroom.grading.grade import BY_VECTORS, BY_WORDS
from stackroom.grading.metrics import build_figure, ndcg
from stackroom.grading.questions import Question
from stackroom.model.record import Key, RecordId
from stackroom.model.scope import WHOLE

MOST_QUESTIONS = 120
"""The number of questions that are asked of both; enough to see a fall that matters, in a few seconds."""
LEAST_QUESTIONS = 8
LEAST_FALL = 0.05
LEAST_FALL_OF_PART = 0.2
"""A smaller fall of the mean, of all questions or of one kind or arm, is no reason to refuse an index."""
MOST_DEPTH = 400
FIRST = 10
HYBRID = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """A fall of nDCG@10 beyond noise: of all questions, of a kind, or of an arm alone."""

    name: str
    questions: int
    before: float
    after: float

    def __str__(self) -> str:
        return f"{self.name}: {self.before:.3f} → {self.after:.3f} ({self.questions} questions)"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedView:
    """A view of a catalogue, and the weights that it is searched with."""

    asker: Asker
    search: SearchSpec


def find_regressions(before: GradedView, after: GradedView, questions: Sequence[Question]) -> list[Fall]:
    """Return by how much the answers to the same questions fell, where that is beyond noise."""
    fair = list(_fair_questions(before.asker, after.asker, spread(questions, MOST_QUESTIONS)))
    if len(fair) < LEAST_QUESTIONS:
        return []
    readers = before.asker.reader, after.asker.reader
    counts = [reader.count(WHOLE) for reader in readers]
    growth = max(counts) / max(min(counts), 1)  # new records must not crowd out those that are compared
    depth = min(round(before.asker.depth * growth), MOST_DEPTH)
    old, new = _rankings(before, fair, depth), _rankings(after, fair, depth)
    found = sorted(
        {record_id for one in (old, new) for ids in one.values() for some in ids.values() for record_id in some}
    )
    in_both = set.intersection(*({*reader.find(found, scope=WHOLE)} for reader in readers))
    return list(_falls(fair, old, new, in_both))


Found = Mapping[int, list[RecordId]]
"""Number of a question → the ids that were found for it."""
Rankings = Mapping[str, Found]
"""Name of a way to rank → what it found."""


def _fair_questions(before: Asker, after: Asker, questions: Iterable[Question]) -> Iterator[Question]:
    """Yield the questions about records that both have, as far as the fields they were made from are the same."""
    for question in questions:
        old, new = _records(before, question), _records(after, question)
        expected = tuple(one for one in question.expected if one in old and one in new and old[one] == new[one])
        if expected:
            yield replace(question, expected=expected)


def _records(asker: Asker, question: Question) -> dict[RecordId, list[object]]:
    """Return the values that a question was made from, of the records that should answer it."""
    keys = asker.reader.find(question.expected, scope=WHOLE)
    records = asker.reader.fetch(list(keys.values()), scope=WHOLE)
    return {one: [records[key].get(name) for name in question.made_from] for one, key in keys.items() if key in records}


def _rankings(view: GradedView, questions: Sequence[Question], depth: int) -> Rankings:
    """Return the ids that each way of ranking finds for each question."""
    found: dict[str, dict[int, list[RecordId]]] = {HYBRID: {}, BY_WORDS: {}, BY_VECTORS: {}}
    asker = replace(view.asker, depth=depth)
    for number, question in enumerate(questions):
        for asked in asker.ask([question]):
            ranked = asked.rank(view.search), asked.rank_by_words(), asked.rank_by_vectors()
            for name, keys in zip(found, ranked, strict=True):
                found[name][number] = asker.reader.ids([Key(key) for key in keys])
    return found


def _falls(questions: Sequence[Question], old: Rankings, new: Rankings, in_both: set[RecordId]) -> Iterator[Fall]:
    values = {name: _values(questions, old[name], new[name], in_both) for name in old}
    groups: dict[str, list[tuple[float, float]]] = {name: list(pairs.values()) for name, pairs in values.items()}
    for kind in dict.fromkeys(question.kind for question in questions):
        groups[str(kind)] = [pair for number, pair in values[HYBRID].items() if questions[number].kind is kind]
    for name, pairs in groups.items():
        fall = _find_fall(name, pairs, least=LEAST_FALL if name == HYBRID else LEAST_FALL_OF_PART)
        if fall is not None:
            yield fall


def _values(
    questions: Sequence[Question], old: Found, new: Found, in_both: set[RecordId]
) -> dict[int, tuple[float, float]]:
    """Return nDCG@10 of each question before and after, among records that are in both."""

    def value(number: int, ids: Sequence[RecordId]) -> float:
        expected = {*questions[number].expected}
        kept = [record_id for record_id in ids if record_id in in_both]
        return ndcg(kept, dict.fromkeys(expected, 1.0), depth=FIRST)

    return {number: (value(number, ids), value(number, new.get(number, []))) for number, ids in old.items()}


def _find_fall(name: str, pairs: Sequence[tuple[float, float]], *, least: float) -> Fall | None:
    if len(pairs) < LEAST_QUESTIONS:
        return None
    before, after = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    if before - after < least or build_figure([new - old for old, new in pairs]).high >= 0:
        return None
    return Fall(name=name, questions=len(pairs), before=before, after=after)
