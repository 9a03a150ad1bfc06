"""Grading: how well each hit of a search answers the query, in words and as a number to compare across catalogues."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.model.hits import Hit
from pinakes.model.scope import WHOLE
from pinakes.search.calibrate import Calibration, Label
from pinakes.shelf.port import ShelfReader
from pinakes.shelf.terms import text_tokens
from pinakes.text.normalise import fold_name
from pinakes.text.query import TextQuery, analyse_query

COVERED = 0.6
"""The weighted share of the query's words that makes a record relevant whose cosine is above the floor only."""

WORDS_ALONE = 0.5
"""The strength of a record with every word of the query, in a catalogue without vectors."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A hit's label, None where it does not answer the query, and its strength, 0–1."""

    label: Label | None
    strength: float


def grade(
    hits: Sequence[Hit], query: str, *, reader: ShelfReader, spec: CatalogueSpec, calibration: Calibration | None
) -> list[Grade]:
    """Grade the hits of one search."""
    words = _Words(query, reader, spec)
    has_cosines = any("cosine" in hit.reasons for hit in hits)  # none where the search was lexical only
    return [_grade(hit, query, words, spec, calibration if has_cosines else None) for hit in hits]


def _grade(hit: Hit, query: str, words: "_Words", spec: CatalogueSpec, calibration: Calibration | None) -> Grade:
    title = hit.reasons.get("title", 0.0)
    if fold_name(query) and fold_name(query) == fold_name(spec.title_of(hit.record)):
        return Grade(Label.IDENTICAL, 1.0)
    if calibration is None:
        covered = words.covered_by(hit)
        label = Label.RELEVANT if covered >= 1.0 else None
        return Grade(label, max(WORDS_ALONE * covered, title))
    cosine = hit.reasons.get("cosine", 0.0)
    label = calibration.label_of(cosine)
    if label is None and cosine >= calibration.floor and words.covered_by(hit) >= COVERED:
        label = Label.RELEVANT
    return Grade(label, max(calibration.strength_of(cosine), title))


class _Words:
    """The query's words, weighted by rarity."""

    def __init__(self, query: str, reader: ShelfReader, spec: CatalogueSpec) -> None:
        self._query = query
        self._reader = reader
        self._spec = spec
        self._weights: dict[str, float] | None = None

    def covered_by(self, hit: Hit) -> float:
        """Return the weighted share of the query's words that a hit has."""
        if self._weights is None:
            self._weights = self._weigh()
        total = sum(self._weights.values())
        if not total:
            return 0.0
        there = set(text_tokens(hit.record, self._spec.searched_fields))
        return sum(weight for token, weight in self._weights.items() if token in there) / total

    def _weigh(self) -> dict[str, float]:
        """Weigh each word by its inverse document frequency."""
        count = self._reader.count(WHOLE)
        weights = {}
        for token, _ in analyse_query(self._query, synonyms={}).terms:
            having = self._reader.lexical(TextQuery(terms=((token, 1.0),)), scope=WHOLE, limit=1).total
            weights[token] = math.log(1 + (count - having + 0.5) / (having + 0.5))
        return weights
