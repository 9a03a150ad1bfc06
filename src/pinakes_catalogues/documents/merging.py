"""Merge the passages that several collections found: scores that compare, no repeats, and the order of each kept."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from pinakes.api import Hit, Record, SearchPage

MOST_SHARED = 0.5
"""A passage of which a better one of its file has more than this share is a repeat."""

ANCHOR_CHARS = 40
"""The beginning of a passage by which an overlap is found in another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A passage that a collection found, with a score that can be compared between collections."""

    source: str
    record: Record
    score: float


def merged(pages: Mapping[str, SearchPage], *, limit: int) -> list[Found]:
    """Merge the results of the collections, without repeats, at most `limit` of each.

    A collection's own order holds: a passage stands as high as the best score at its rank or after it. Ties go by rank
    and then by name.
    """
    ranked = []
    for source, found in comparable(pages).items():
        best_from_here = list(accumulate((one.score for one in reversed(found)), max))[::-1]
        for rank, one in enumerate(found):
            ranked.append((-best_from_here[rank], rank, source, one))
    in_order = [one for *_, one in sorted(ranked, key=lambda entry: entry[:3])]
    return list(_at_most(limit, without_repeats(in_order)))


def _at_most(limit: int, found: Iterable[Found]) -> Iterator[Found]:
    """Yield the first passages of each source."""
    taken: dict[str, int] = {}
    for one in found:
        taken[one.source] = taken.get(one.source, 0) + 1
        if taken[one.source] <= limit:
            yield one


def comparable(pages: Mapping[str, SearchPage]) -> dict[str, list[Found]]:
    """Return the hits of each collection in its order, with scores that mean the same in every collection.

    A fused score says how good a passage is among those of its own collection, whose best is near 1 even where nothing
    answers. So it is scaled by the best cosine that the collection reached, and the score is the mean of that and the
    passage's own cosine. Where a collection has no vectors, the fused score is scaled by how far its best BM25 is from
    the best of all collections, and by the best cosine that those with vectors reached; alone, it stays as it is.
    """
    best_words = max((_best(page, "bm25") for page in pages.values()), default=0.0)
    cosines = [_best(page, "cosine") for page in pages.values() if _has_vectors(page)]
    found = {}
    for source, page in pages.items():
        if _has_vectors(page):
            scale, own_share = _best(page, "cosine"), 0.5
        else:
            scale, own_share = _best(page, "bm25") / (best_words or 1.0) * max(cosines, default=1.0), 0.0
        scores = [own_share * _reason(hit, "cosine") + (1 - own_share) * hit.score * scale for hit in page.hits]
        found[source] = [
            Found(source=source, record=hit.record, score=min(score, 1.0))
            for hit, score in zip(page.hits, scores, strict=True)
        ]
    return found


def without_repeats(found: Iterable[Found]) -> list[Found]:
    """Drop passages that repeat an earlier one: the same text, or one of its file that has more than half of theirs."""
    texts: set[str] = set()
    of_file: dict[tuple[str, str], list[str]] = {}
    kept = []
    for one in found:
        text = str(one.record.get("content"))
        words = " ".join(text.lower().split())
        others = of_file.setdefault((one.source, str(one.record.get("path"))), [])
        if words in texts or any(_is_mostly_shared(text, other) for other in others):
            continue
        texts.add(words)
        others.append(text)
        kept.append(one)
    return kept


def _is_mostly_shared(one: str, other: str) -> bool:
    """Tell whether two parts of a text overlap by more than half of the shorter one."""
    shared = max(_overlap(one, other), _overlap(other, one))
    return shared > MOST_SHARED * min(len(one), len(other))


def _overlap(before: str, after: str) -> int:
    """Return how many characters at the beginning of a passage another one has, at its end or within it."""
    anchor = after[:ANCHOR_CHARS]
    at = before.find(anchor) if anchor else -1
    while at >= 0:
        rest = before[at : at + len(after)]
        if after.startswith(rest):
            return len(rest)
        at = before.find(anchor, at + 1)
    return 0


def _has_vectors(page: SearchPage) -> bool:
    return page.mode.value == "hybrid"


def _best(page: SearchPage, reason: str) -> float:
    return max((_reason(hit, reason) for hit in page.hits), default=0.0)


def _reason(hit: Hit, name: str) -> float:
    return max(hit.reasons.get(name, 0.0), 0.0)


def notes_of(pages: Mapping[str, SearchPage]) -> list[str]:
    """Return a note for each collection that was searched by words alone, with the reason."""
    by_words: dict[str, list[str]] = {}
    for name, page in pages.items():
        if not _has_vectors(page):
            by_words.setdefault(page.degraded or "", []).append(name)
    reasons = {", ".join(names): f" ({why})" if why else "" for why, names in by_words.items()}
    return [f"{names}: searched by words alone{reason}" for names, reason in reasons.items()]
