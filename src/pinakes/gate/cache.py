"""Answers that were given already, for the same question by somebody who sees the same.

A key has everything that an answer follows from: the tool, its arguments, the catalogues that the caller sees with how
far each has changed, and their audiences where some record is not for everybody. So nothing need be cleared: what has
changed has another key, and the old one is the first to go.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

from pinakes.gate.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatistics:
    """How often an answer was there already."""

    entries: int
    size: int
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float:
        """The share of questions that were answered from the cache; 0 before the first."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class AnswerCache:
    """The answers used last, up to a number of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._guard = threading.Lock()
        self._hits = 0
        self._misses = 0

    def find(self, key: Hashable) -> Answer | None:
        """Return the answer of this key, and count whether there was one."""
        with self._guard:
            answer = self._answers.get(key)
            if answer is None:
                self._misses += 1
                return None
            self._hits += 1
            self._answers.move_to_end(key)
            return answer

    def keep(self, key: Hashable, answer: Answer) -> None:
        """Keep an answer; the one that was used longest ago makes room."""
        with self._guard:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)

    def statistics(self) -> CacheStatistics:
        """Return how often an answer was there."""
        with self._guard:
            return CacheStatistics(entries=len(self._answers), size=self._size, hits=self._hits, misses=self._misses)
