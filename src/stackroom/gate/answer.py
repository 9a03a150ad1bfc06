"""The answer of a tool call, and the cache of answers: the same call by a caller who sees the same
is answered once.

A key has everything that an answer follows from: the tool, its arguments, the versions of the
catalogues that the call reads, and the caller's audiences where some record is not public. So
nothing is ever invalidated: after a change the key is another, and the least recently used entry is
evicted.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import orjson

from stackroom.errors import (
    ExpectedError,
    ForbiddenError,
    OverloadedError,
    RateLimitedError,
    UnauthenticatedError,
    UnknownResourceError,
    UnknownToolError,
)
from stackroom.frozen import frozen
from stackroom.model.principal import Outcome
from stackroom.model.record import Flag
from stackroom.search.result_set import notes_by_reason
from stackroom.text.instructions import safe_message
from stackroom.tools.resources import ResourceContent
from stackroom.tools.spec import NotedResult, ToolResult
from stackroom.tools.toolbox import Toolbox, Versions

REFUSALS = (UnknownToolError, UnknownResourceError, UnauthenticatedError, ForbiddenError)


class ResultSummary(NamedTuple):
    """The audited part of a result: its size, its digest, and how many records it has."""

    size_bytes: int
    digest: str
    records: int | None = None


NO_SUMMARY = ResultSummary(0, "")


class Summarised(Protocol):
    """A result of which the audit keeps a summary."""

    @property
    def summary(self) -> ResultSummary:
        """The summary that the audit keeps."""


class Shown(NamedTuple):
    """A result as a surface sends it, and what the audit keeps of it."""

    reply: Any
    summary: ResultSummary = NO_SUMMARY


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Structured content, its text form, and the error of a failed call."""

    structured: dict[str, Any] | None
    text: str
    error: ExpectedError | None = None
    is_partial: bool = False  # whether a catalogue that could not be read was left out
    # the number of records found, as the tool counts them; None where it does not
    count: int | None = None
    flags: tuple[Flag, ...] = ()  # the places whose text reads like an instruction
    encodings: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)
    """The forms of it that transports have made, by the revision of the protocol."""

    @classmethod
    def of_error(cls, error: ExpectedError) -> "Answer":
        """Return the answer of a foreseen failure."""
        return cls(
            structured=None, text=safe_message(f"{error.code}: {error.message}"), error=error
        )

    @property
    def is_error(self) -> bool:
        """Tell whether the call failed in a foreseen way."""
        return self.error is not None

    @property
    def error_code(self) -> str | None:
        """The failure's stable code."""
        return self.error.code if self.error else None

    @cached_property
    def encoded(self) -> bytes:
        """The structured content as JSON."""
        return orjson.dumps(self.structured)

    @cached_property
    def summary(self) -> ResultSummary:
        """The summary that the audit keeps, with the SHA-256 of the structured content."""
        digest = hashlib.sha256(self.encoded).hexdigest()
        return ResultSummary(len(self.encoded), digest, self.count)


def outcome_of(error: Exception | None) -> Outcome:
    """Return how a call ended, by its error."""
    if error is None:
        return Outcome.OK
    if isinstance(error, RateLimitedError):
        return Outcome.LIMITED
    if isinstance(error, OverloadedError):
        return Outcome.OVERLOADED
    if isinstance(error, REFUSALS):
        return Outcome.REFUSED
    return Outcome.ERROR if isinstance(error, ExpectedError) else Outcome.FAILED


@frozen
class CacheStatistics:
    """Hits and misses of the cache."""

    entries: int
    size: int
    hits: int
    misses: int
    hit_rate: float  # the share of look-ups that were hits; 0 before the first


class AnswerCache:
    """An LRU cache of answers. Thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._guard = threading.Lock()
        self._hits = 0
        self._misses = 0

    def find(self, key: Hashable) -> Answer | None:
        """Return the answer of this key, and count the hit or miss."""
        with self._guard:
            answer = self._answers.get(key)
            if answer is None:
                self._misses += 1
                return None
            self._hits += 1
            self._answers.move_to_end(key)
            return answer

    def keep(self, key: Hashable, answer: Answer) -> None:
        """Keep an answer; evict the least recently used one where the cache is full."""
        with self._guard:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)

    def clear(self) -> None:
        """Forget every answer: a catalogue that was replaced may have the change number of the
        former one.
        """
        with self._guard:
            self._answers.clear()

    def statistics(self) -> CacheStatistics:
        """Return the counters."""
        with self._guard:
            hits, misses = self._hits, self._misses
        rate = round(hits / (hits + misses), 4) if hits else 0.0
        return CacheStatistics(
            entries=len(self._answers), size=self._size, hits=hits, misses=misses, hit_rate=rate
        )


def with_age_notes(result: ToolResult, versions: Versions | None) -> ToolResult:
    """Return an answer with a note on the catalogues that were read as they had been some time
    before.
    """
    notes = _age_notes(versions)
    if not notes or not isinstance(result, NotedResult):
        return result
    return result.model_copy(update={"notes": [*result.notes, *notes]})


def with_age_of(content: ResourceContent, toolbox: Toolbox, catalogue: str) -> ResourceContent:
    """Return the content of a resource with such a note on the catalogue of this name, if there is
    one.
    """
    versions = toolbox.find_versions([catalogue], may_wait=True)
    return replace(content, notes=tuple(_age_notes(versions)))


def _age_notes(versions: Versions | None) -> list[str]:
    return notes_by_reason((version.name, version.stale or "") for version in versions or ())
