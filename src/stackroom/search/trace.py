"""The trace of a search: what each arm, term, name, value and prior gave to a candidate, in parts that add up.

A search keeps its arrays until its page is made; here the row of one record is read out of them, so that what is
explained is what was computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.model.hits import Hit, Why
from stackroom.model.record import Key, Record
from stackroom.model.vectors import Vector
from stackroom.search.candidates import Candidates, Floats
from stackroom.search.evidence import WORDS, WeighedEvidence
from stackroom.search.fuse import FusionSteps
from stackroom.search.words import WeighedWords
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import text_tokens
from stackroom.text.query import TextQuery

WORD = "word:"
"""The beginning of the part that one term gives."""
REASONS = frozenset({"bm25", "name", "known", "named", "cosine", "fused", "rerank"})
"""The reasons that a search itself gives for a hit; any other is what a tool added to its strength, by name."""


class KeyedRecord(NamedTuple):
    """A record with its key and the spec that it follows."""

    key: Key
    record: Record
    spec: CatalogueSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The candidates of a search, their evidence and their fusion, with the query they were found by."""

    text: str
    query: TextQuery
    """The terms that the lexical arm looked for, synonyms among them."""
    words: WeighedWords
    vector: Vector | None
    candidates: Candidates
    evidence: WeighedEvidence
    fusion: FusionSteps
    scores: Floats
    """The fused scores."""
    depth: int
    """How many records each arm contributed at most."""

    def find_row(self, key: Key) -> int | None:
        """Return the row of a record among the candidates; None where no arm found it."""
        row = int(np.searchsorted(self.candidates.keys, key))
        return row if row < len(self.candidates.keys) and self.candidates.keys[row] == key else None

    def explain(self, reader: ShelfReader, hits: Sequence[Hit], spec: CatalogueSpec) -> list[Hit]:
        """Return hits of this search with their explanations."""
        terms = reader.term_scores(self.query, [hit.key for hit in hits])
        return [
            replace(hit, why=self._why(row, hit, dict(zip(self._tokens(), scores, strict=True)), spec))
            for hit, scores in zip(hits, terms.tolist(), strict=True)
            if (row := self.find_row(hit.key)) is not None
        ]

    def _why(self, row: int, hit: Hit, terms: Mapping[str, float], spec: CatalogueSpec) -> Why:
        raised = {name: value for name, value in hit.reasons.items() if name not in REASONS}
        return Why(
            strength={**split_words(self.evidence.parts_at(row), terms), **raised},
            order=self.fusion.parts_at(row),
            lacks=lacking(self.words, hit.record, spec),
        )

    def explain_weighed(self, reader: ShelfReader, evidence: WeighedEvidence, found: "KeyedRecord") -> Why:
        """Explain the evidence for one record that no arm found: it is not ordered."""
        (scores,) = reader.term_scores(self.query, [found.key]).tolist()
        parts = split_words(evidence.parts_at(0), dict(zip(self._tokens(), scores, strict=True)))
        return Why(strength=parts, order={}, lacks=lacking(self.words, found.record, found.spec))

    def _tokens(self) -> list[str]:
        return [token for token, _ in self.query.terms]


def split_words(parts: Mapping[str, float], terms: Mapping[str, float]) -> dict[str, float]:
    """Return the parts with that of the words split over the terms, in proportion to their scores."""
    total = sum(terms.values())
    if not total:
        return dict(parts)
    words = {f"{WORD}{term}": parts[WORDS] * score / total for term, score in terms.items() if score}
    return {**{name: part for name, part in parts.items() if name != WORDS}, **words}


def lacking(words: WeighedWords, record: Record, spec: CatalogueSpec) -> tuple[str, ...]:
    """Return the terms of a query that no searched text of a record has."""
    here = set(text_tokens(record, spec.searched_fields))
    return tuple(term for term in words.weights if term not in here)
