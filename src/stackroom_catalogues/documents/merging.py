"""Merge the passages that several collections found: without repeats, and in the order of each."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from stackroom import api

DOCUMENT = "document"
PASSAGE = "passage"
# factor of passages fetched per wanted one, so that enough remain after repeats are removed
SPARE = 2

# a passage of which a better one of its file has more than this share is a repeat
MOST_SHARED = 0.5

ANCHOR_CHARS = 40  # the beginning of a passage by which an overlap is found in another

REPEATS = "it repeats a passage that is shown before it"


def passage_id(path: str, position: int) -> api.RecordId:
    """Return the id of a file's passage; passages are counted from 1."""
    return api.RecordId(f"{path}#{position}")


def choose_passages(
    found: Iterable[api.MergedHit], *, limit: int, evidence: api.Evidence
) -> list[api.MergedHit]:
    """Return the merged passages without repeats, at most `limit` of each collection; few where
    nothing answers.
    """
    taken: Counter[str] = Counter()
    chosen = []
    for one in without_repeats(found):
        taken[one.view.name] += 1
        if taken[one.view.name] <= limit:
            chosen.append(one)
    return chosen[: api.NEAREST_SHOWN] if evidence is api.Evidence.NONE else chosen


def without_repeats(found: Iterable[api.MergedHit]) -> list[api.MergedHit]:
    """Drop passages that repeat an earlier one: the same text, or one of its file that has more
    than half of theirs.
    """
    texts: set[str] = set()
    of_file: dict[tuple[str, str], list[str]] = {}
    kept = []
    for one in found:
        text = str(one.hit.record.get("content"))
        words = " ".join(text.lower().split())
        others = of_file.setdefault((one.view.name, str(one.hit.record.get("path"))), [])
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
    """Return how many characters at the beginning of a passage another one has, at its end or
    within it.
    """
    anchor = after[:ANCHOR_CHARS]
    at = before.find(anchor) if anchor else -1
    while at >= 0:
        rest = before[at : at + len(after)]
        if after.startswith(rest):
            return len(rest)
        at = before.find(anchor, at + 1)
    return 0


def passages_path(
    view: api.CatalogueView, query: str, scope: api.Scope, *, n_results: int
) -> api.SearchPath:
    """Return how passages of one collection are searched for, without repeats."""

    def show(ranked: api.Ranked) -> api.ShownHits:
        page = ranked.page(SPARE * n_results)
        ranked_hits = [api.MergedHit(view=view, hit=hit) for hit in page.hits]
        kept = {one.hit.key for one in without_repeats(ranked_hits)}
        return api.ShownHits(
            keys=[
                one.hit.key
                for one in choose_passages(ranked_hits, limit=n_results, evidence=page.evidence)
            ],
            left_out={hit.key: REPEATS for hit in page.hits if hit.key not in kept},
            evidence=page.evidence,
        )

    path = api.usual_path(view, query, scope=scope, limit=SPARE * n_results, page=n_results)
    return replace(path, show=show, limit=n_results)
