"""What reads give back: scored keys, rankings, hits with the reasons for their rank."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pinakes.model.record import Key, Record


class Scored(NamedTuple):
    """A record's key and its score in one ranking."""

    key: Key
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The best of one ranking, best first, and how many records matched in all."""

    best: tuple[Scored, ...]
    total: int


class TitleMatch(NamedTuple):
    """A record with a name like the one asked for, and how alike the two are (0–1)."""

    key: Key
    likeness: float


@dataclass(frozen=True, slots=True)
class FacetCount:
    """How many records in scope have this value."""

    category: str
    value: str
    count: int


class MatchType(StrEnum):
    """The arms of the search that found a record."""

    FTS = "fts"
    VECTOR = "vector"
    HYBRID = "hybrid"


class SearchMode(StrEnum):
    """The arms of the search that ran."""

    HYBRID = "hybrid"
    FTS_ONLY = "fts_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One ranked record. `reasons` names each part of the score, for explanations."""

    key: Key
    record: Record
    score: float
    match_type: MatchType
    reasons: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The answer to a search: the hits, how many there are in all, and how they were found."""

    hits: tuple[Hit, ...]
    total_matches: int
    mode: SearchMode
    degraded: str | None = None
    """Why the search was not hybrid, or answered from older data; None when all is well."""
