"""Merge the passages that several collections found: without repeats, and in the order of each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from stackroom.api import (
    NEAREST_SHOWN,
    CatalogueView,
    Evidence,
    Hit,
    Ranked,
    Record,
    RecordId,
    Scope,
    SearchPage,
    SearchPath,
    ShownHits,
    usual_path,
)

DOCUMENT = "document"
PASSAGE = "passage"
SPARE = 2
"""Factor of passages fetched per wanted one, so that enough remain after repeats are removed."""

MOST_SHARED = 0.5
"""A passage of which a better one of its file has more than this share is a repeat."""

ANCHOR_CHARS = 40
"""The beginning of a passage by which an overlap is found in another."""


REPEATS = "it repeats a passage that is shown before it"


def passage_id(path: str, position: int) -> RecordId:
    """Return the id of a file's passage; passages are counted from 1."""
    return RecordId(f"{path}#{position}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageHit:
    """A passage that a collection found."""

    source: str
    hit: Hit

    @property
    def record(self) -> Record:
        """The passage."""
        return self.hit.record


def merged(pages: Mapping[str, SearchPage], *, limit: int) -> list[PassageHit]:
    """Merge the results of the collections, without repeats, at most `limit` of each; few where nothing answers.

    Ties go by rank and then by name.
    """
    ranked = [
        (-hit.score, rank, source, PassageHit(source=source, hit=hit))
        for source, page in pages.items()
        for rank, hit in enumerate(page.hits)
    ]
    in_order = [one for *_, one in sorted(ranked, key=lambda entry: entry[:3])]
    found = list(_at_most(limit, without_repeats(in_order)))
    return found[:NEAREST_SHOWN] if evidence_of(pages) is Evidence.NONE else found


def evidence_of(pages: Mapping[str, SearchPage]) -> Evidence:
    """Return the evidence of the collection that has the strongest."""
    return Evidence.best(page.evidence for page in pages.values())


def _at_most(limit: int, found: Iterable[PassageHit]) -> Iterator[PassageHit]:
    """Yield the first passages of each source."""
    taken: dict[str, int] = {}
    for one in found:
        taken[one.source] = taken.get(one.source, 0) + 1
        if taken[one.source] <= limit:
            yield one


def without_repeats(found: Iterable[PassageHit]) -> list[PassageHit]:
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


def passages_path(view: CatalogueView, query: str, scope: Scope, *, n_results: int) -> SearchPath:
    """Return how passages of one collection are searched for, without repeats."""

    def show(ranked: Ranked) -> ShownHits:
        page = ranked.page(SPARE * n_results)
        pages = {view.name: page}
        found = merged(pages, limit=n_results)
        kept = {
            without_repeat.hit.key
            for without_repeat in without_repeats(PassageHit(source=view.name, hit=hit) for hit in page.hits)
        }
        repeats = {hit.key: REPEATS for hit in page.hits if hit.key not in kept}
        return ShownHits(keys=[one.hit.key for one in found], left_out=repeats, evidence=evidence_of(pages))

    path = usual_path(view, query, scope=scope, limit=SPARE * n_results, page=n_results)
    return replace(path, show=show, limit=n_results)
