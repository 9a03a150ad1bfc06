"""Evidence: how strongly each candidate of a search answers the query, on one scale for every catalogue.

A strength is between 0 and 1. Three things are evidence:
- nearness: by how much the cosine is above that of unrelated queries in the same catalogue (`calibrate`);
- words: which share of the query the record has, each word weighed by its rarity, and how many words that are; words
  that no record of the catalogue has speak against all of them, values that the query names for those that have them;
- names: a query that is the name of a record, exactly or misspelt, or a part of it.
Nearness and words are joined by a logistic function whose weights were fitted on judged questions about catalogues of
several kinds (`docs/reference/quality.md`). A name is evidence by itself. Nothing depends on other candidates, so a
filter that leaves one record does not make it certain.

The strength of one candidate can be explained by parts that add up to it. Those of the logistic function share its rise
above the base, the strength of no evidence at all, in proportion to their addends.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stackroom.model.hits import EVIDENCE_AT
from stackroom.search.calibrate import Calibration
from stackroom.search.candidates import Candidates, Floats
from stackroom.search.words import WeighedWords

OFFSET = -2.05
NEARNESS = 0.67
SHARE_OF_WORDS = 1.55
AMOUNT_OF_WORDS = 2.7
UNKNOWN_WORDS = -2.4
NAMED_VALUES = 0.4
MANY_WORDS = 10
"""The number of words from which a description counts as long."""

WORDS_ALONE = 0.7
"""The strength of a record that has every word of the query, where vectors say nothing."""

CONTENT_AT_MOST = 0.96
"""What a record says is not identical with the query, unless both are the same text."""
SAME_TEXT = 0.95
"""The cosine from which two texts are the same."""

LATIN = re.compile("[a-z]")

FEW_RECORDS = 300
"""Among fewer records than this the nearest to an unrelated query is less near by chance, so more is asked for."""


BASE, WORDS, NAME = "base", "words", "name"
MEANING, FEW, UNKNOWN, NAMED = "meaning", "few_records", "unknown_words", "named_values"
"""The addends of the logistic function beside the words."""
AT_MOST, SAME = "at_most", "same_text"
"""What takes a strength down to that of content at most, or up to that of the same text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedEvidence:
    """The evidence for each candidate."""

    addends: Mapping[str, Floats]
    """The addends of the logistic function by what they are of; none where words alone count."""
    by_words: Floats
    """The strength by words alone."""
    cosine: Floats
    name: Floats
    awaiting: NDArray[np.bool_] | None = None
    """The candidates whose vector is still to come: for them words alone count."""

    def strengths(self) -> Floats:
        """Return the strength of each candidate."""
        return np.maximum(self._by_content(slice(None)), self.name)

    def parts_at(self, row: int) -> dict[str, float]:
        """Return the parts of one candidate's strength; their sum is the strength."""
        one = slice(row, row + 1)
        content = float(self._by_content(one)[0])
        parts = self._logistic_parts(one, content) if self._has_meaning(row) else {WORDS: content}
        return {**parts, NAME: max(float(self.name[row]) - content, 0.0)}

    def _by_content(self, rows: slice) -> Floats:
        if not self.addends:
            return self.by_words[rows]
        by_content = _logistic(self._sum(rows))
        strengths = np.where(self.cosine[rows] >= SAME_TEXT, 1.0, np.minimum(by_content, CONTENT_AT_MOST))
        return strengths if self.awaiting is None else np.where(self.awaiting[rows], self.by_words[rows], strengths)

    def _has_meaning(self, row: int) -> bool:
        return bool(self.addends) and (self.awaiting is None or not self.awaiting[row])

    def _sum(self, rows: slice) -> Floats:
        return sum((addend[rows] for addend in self.addends.values()), np.full(len(self.name[rows]), OFFSET))

    def _logistic_parts(self, one: slice, content: float) -> dict[str, float]:
        base, reached = float(_logistic(np.array([OFFSET]))[0]), float(_logistic(self._sum(one))[0])
        rise = float(self._sum(one)[0]) - OFFSET
        slope = (reached - base) / rise if rise else base * (1 - base)
        shares = {name: slope * float(addend[one][0]) for name, addend in self.addends.items()}
        beyond = SAME if content > reached else AT_MOST
        return {BASE: base, **shares, beyond: content - reached}


def weigh_evidence(
    candidates: Candidates, words: WeighedWords, calibration: Calibration | None, *, record_count: int
) -> WeighedEvidence:
    """Return the evidence for each candidate."""
    covered = _coverage(candidates, words)
    has_meaning = calibration is not None and candidates.has_cosines and _has_latin(words)
    return WeighedEvidence(
        addends=_addends(candidates, covered, words, calibration, record_count) if calibration and has_meaning else {},
        by_words=WORDS_ALONE * covered,
        cosine=candidates.cosine,
        name=candidates.name,
        awaiting=candidates.awaiting,
    )


def _addends(
    candidates: Candidates, covered: Floats, words: WeighedWords, calibration: Calibration, record_count: int
) -> dict[str, Floats]:
    amount = min(len(words.weights), MANY_WORDS) / MANY_WORDS
    count = len(candidates.keys)
    return {
        MEANING: NEARNESS * calibration.nearness_of(candidates.cosine),
        FEW: np.full(count, -NEARNESS * _allowance(record_count)),
        WORDS: (SHARE_OF_WORDS + AMOUNT_OF_WORDS * amount) * covered,
        UNKNOWN: np.full(count, UNKNOWN_WORDS * words.unknown_share),
        NAMED: NAMED_VALUES * candidates.named,
    }


def _has_latin(words: WeighedWords) -> bool:
    """Tell whether a query has Latin letters; of others a model of English makes nothing."""
    return any(LATIN.search(word) for word in words.weights)


def count_with_evidence(strengths: Floats) -> int:
    """Return how many of the candidates have evidence."""
    return int(np.count_nonzero(strengths >= EVIDENCE_AT))


def _coverage(candidates: Candidates, words: WeighedWords) -> Floats:
    """Return the share of the query's words that each candidate has: its BM25 score over that of an average record."""
    return np.minimum(candidates.bm25 / words.total, 1.0) if words.total else np.zeros(len(candidates.keys))


def _allowance(record_count: int) -> float:
    """Return the spreads by which the greatest of few cosines is expected below that of more."""
    here = math.sqrt(2 * math.log(max(record_count, 2)))
    return max(0.0, math.sqrt(2 * math.log(FEW_RECORDS)) - here)


def _logistic(values: Floats) -> Floats:
    logistic: Floats = 1 / (1 + np.exp(-values))
    return logistic
