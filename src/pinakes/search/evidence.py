"""Evidence: how strongly each candidate of a search answers the query, on one scale for every catalogue.

A strength is between 0 and 1. Three things are evidence:
- nearness: by how much the cosine is above that of unrelated queries in the same catalogue (`calibrate`);
- words: which share of the query the record has, each word weighed by its rarity;
- names: a query that is the name of a record, exactly or misspelt.
Nearness and words are joined by a logistic function whose weights were fitted on judged questions about catalogues of
several kinds (`docs/quality.md`). A name is evidence by itself.
"""

import numpy as np

from pinakes.model.hits import EVIDENCE_AT
from pinakes.search.calibrate import Calibration
from pinakes.search.candidates import Candidates, Floats
from pinakes.search.words import WeighedWords

NEARNESS = 1.0
WORDS = 3.33
OFFSET = -3.17

WORDS_ALONE = 0.7
"""The strength of a record that has every word of the query, where there are no vectors."""


def measure_strengths(candidates: Candidates, words: WeighedWords, calibration: Calibration | None) -> Floats:
    """Return the strength of each candidate."""
    covered = _coverage(candidates, words)
    if calibration is None or not candidates.has_cosines:
        by_content = WORDS_ALONE * covered**2
    else:
        nearness = (candidates.cosine - calibration.middle) / calibration.spread
        by_content = _logistic(NEARNESS * nearness + WORDS * covered + OFFSET)
    return np.maximum(by_content, candidates.name)


def count_with_evidence(strengths: Floats) -> int:
    """Return how many of the candidates have evidence."""
    return int(np.count_nonzero(strengths >= EVIDENCE_AT))


def _coverage(candidates: Candidates, words: WeighedWords) -> Floats:
    """Return the share of the query's words that each candidate has: its BM25 score over that of an average record."""
    return np.minimum(candidates.bm25 / words.total, 1.0) if words.total else np.zeros(len(candidates.keys))


def _logistic(values: Floats) -> Floats:
    logistic: Floats = 1 / (1 + np.exp(-values))
    return logistic
