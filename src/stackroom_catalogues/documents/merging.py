"""The rule of searches of passages: what repeats a passage before it is left out."""

from collections.abc import Sequence

from stackroom import api

DOCUMENT = "document"
PASSAGE = "passage"
# a passage of which a better one of its file has more than this share is a repeat
MOST_SHARED = 0.5

ANCHOR_CHARS = 40  # the beginning of a passage by which an overlap is found in another

REPEATS = "it repeats a passage that is shown before it"


def passage_id(path: str, position: int) -> api.RecordId:
    """Return the id of a file's passage; passages are counted from 1."""
    return api.RecordId(f"{path}#{position}")


def find_repeats(found: Sequence[api.Hit]) -> list[str]:
    """Return for each passage whether it repeats an earlier one: the same text, or one of its file
    that has more than half of theirs.
    """
    texts: set[str] = set()
    of_file: dict[tuple[str, str], list[str]] = {}
    reasons = []
    for one in found:
        text = str(one.record.get("content"))
        words = " ".join(text.lower().split())
        others = of_file.setdefault((one.view.name, str(one.record.get("path"))), [])
        is_repeat = words in texts or any(_is_mostly_shared(text, other) for other in others)
        reasons.append(REPEATS if is_repeat else "")
        if not is_repeat:
            texts.add(words)
            others.append(text)
    return reasons


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
