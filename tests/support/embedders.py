"""Embedders for tests: one that hashes words, deterministic and in memory."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stackroom.errors import UnavailableError
from stackroom.model.vectors import ModelId, Vector

WORD = re.compile(r"\w+")
WORD_MODEL = ModelId(name="word-hash", dimension=64)


def word_vector(text: str, dimension: int) -> Vector:
    """Return a unit vector that is the same for the same words, and nearer the more words two texts
    share.
    """
    total = sum(
        (_of_word(word, dimension) for word in WORD.findall(text.lower()) or [text]),
        np.zeros(dimension),
    )
    return (total / np.linalg.norm(total)).astype(np.float32)


@lru_cache(maxsize=10_000)
def _of_word(word: str, dimension: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=dimension)


class WordEmbedder:
    """Implements `Embedder` by hashing words, and counts what it is asked for."""

    def __init__(self, model: ModelId = WORD_MODEL) -> None:
        self.model = model
        self.documents: Counter[str] = Counter()
        self.queries: list[str] = []
        self.problem: str | None = None

    def check(self) -> str | None:
        return self.problem

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        self._require_well()
        self.documents.update(texts)
        rows = [word_vector(text, self.model.dimension) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.model.dimension)

    def embed_query(self, text: str) -> Vector:
        self._require_well()
        self.queries.append(text)
        return word_vector(text, self.model.dimension)

    def _require_well(self) -> None:
        if self.problem:
            raise UnavailableError(self.problem)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
