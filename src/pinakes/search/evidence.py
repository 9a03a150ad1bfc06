"""Evidence: how strongly each candidate of a search answers the query, on one scale for every catalogue.

A strength is between 0 and 1. Three things are evidence:
- nearness: by how much the cosine is above that of unrelated queries in the same catalogue (`calibrate`);
- words: which share of the query the record has, each word weighed by its rarity, and how many words that are; words
  that no record of the catalogue has speak against all of them, values that the query names for those that have them;
- names: a query that is the name of a record, exactly or misspelt, or a part of it.
Nearness and words are joined by a logistic function whose weights were fitted on judged questions about catalogues of
several kinds (`docs/quality.md`). A name is evidence by itself. Nothing depends on the other candidates, so a filter
that leaves one record does not make it certain.
"""

import math
import re

import numpy as np

from pinakes.model.hits import EVIDENCE_AT
from pinakes.search.calibrate import Calibration
from pinakes.search.candidates import Candidates, Floats
from pinakes.search.words import WeighedWords

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


def measure_strengths(
    candidates: Candidates, words: WeighedWords, calibration: Calibration | None, *, record_count: int
) -> Floats:
    """Return the strength of each candidate."""
    covered = _coverage(candidates, words)
    by_words = WORDS_ALONE * covered
    if calibration is None or not candidates.has_cosines:
        return np.maximum(by_words, candidates.name)
    nearness = calibration.nearness_of(candidates.cosine) - _allowance(record_count)
    amount = covered * min(len(words.weights), MANY_WORDS) / MANY_WORDS
    by_content = _logistic(
        OFFSET
        + NEARNESS * nearness
        + SHARE_OF_WORDS * covered
        + AMOUNT_OF_WORDS * amount
        + UNKNOWN_WORDS * words.unknown_share
        + NAMED_VALUES * candidates.named
    )
    by_content = np.where(candidates.cosine >= SAME_TEXT, 1.0, np.minimum(by_content, CONTENT_AT_MOST))
    if not any(LATIN.search(word) for word in words.weights):  # a model of English makes nothing of it
        by_content = by_words
    return np.maximum(by_content, candidates.name)


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
