"""More records than there are: the real ones first, then copies with noise on the vector and text
mixed with another's.

`benchmarks/README.md` says what they control for.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from real_anime import RealAnime

from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.vectors import Vector

NOISE = 0.7
"""Length of the random vector added to each unit vector before it is made a unit again: cosine to
the original 0.82.
"""

BATCH = 2_000


def iter_batches(
    anime: RealAnime, count: int, *, seed: int = 0
) -> Iterator[tuple[list[Record], Vector]]:
    """Yield records with their vectors, a batch at a time."""
    generator = np.random.default_rng(seed)
    for start in range(0, count, BATCH):
        numbers = np.arange(start, min(start + BATCH, count))
        originals = numbers % len(anime.records)
        others = generator.integers(len(anime.records), size=len(numbers))
        vectors = _noisy(anime.vectors[originals], generator)
        each = zip(numbers.tolist(), originals.tolist(), others.tolist(), strict=True)
        yield (
            [_copy(anime, number, original, other, generator) for number, original, other in each],
            vectors,
        )


def _noisy(vectors: Vector, generator: np.random.Generator) -> Vector:
    noise = generator.standard_normal(vectors.shape, dtype=np.float32) * np.float32(
        NOISE / vectors.shape[1] ** 0.5
    )
    moved = vectors + noise
    unit: Vector = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


def _copy(
    anime: RealAnime, number: int, original: int, other: int, generator: np.random.Generator
) -> Record:
    """Return the original itself the first time round, afterwards a mixture of it with another
    record.
    """
    one, two = anime.records[original], anime.records[other]
    record_id = RecordId(f"{one.id}-{number}")
    if number == original:
        return Record(id=record_id, fields=one.fields)
    mixed: dict[str, Any] = dict(one.fields)
    mixed["title"] = _mixed_words(one.get("title"), two.get("title"), 0.7, generator)
    mixed["alternatives"] = _half(one.get("alternatives"), generator) + _half(
        two.get("alternatives"), generator
    )
    mixed["synopsis"] = _mixed_words(one.get("synopsis"), two.get("synopsis"), 0.6, generator)
    tags: list[Tag] = [*(one.get("tags") or ()), *(two.get("tags") or ())[:2]]
    mixed["tags"] = tuple(dict.fromkeys(tags))
    return Record(id=record_id, fields={name: value for name, value in mixed.items() if value})


def _mixed_words(
    one: str | None, two: str | None, share: float, generator: np.random.Generator
) -> str:
    """Return words of both texts, shuffled: each of the first with probability `share`, of the
    second with the rest.
    """
    words = (one or "").split()
    others = (two or "").split()
    keep = generator.random(len(words) + len(others))
    kept = [word for word, luck in zip(words, keep, strict=False) if luck < share]
    kept += [word for word, luck in zip(others, keep[len(words) :], strict=True) if luck > share]
    return " ".join(kept[place] for place in generator.permutation(len(kept))) or (one or "")


def _half(names: tuple[str, ...] | None, generator: np.random.Generator) -> tuple[str, ...]:
    keep = generator.random(len(names or ())) < 0.5
    return tuple(name for name, kept in zip(names or (), keep, strict=True) if kept)
