"""Choose tracks for a playlist: well fitting, by many artists, of a wanted length. Pure and deterministic."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from stackroom.api import Record

TOLERANCE = 0.05
"""Accepted deviation from the wanted length."""
AGAIN_BY_ARTIST = 0.55
AGAIN_OF_ALBUM = 0.8
"""Factors on a track's score for each chosen one by the same artist, and of the same album."""
DEFAULT_MINUTES = 60.0
MOST_MINUTES = 24 * 60
TIE_BREAK = 0.01
"""Part of the score by which tracks of one round are in the order that they were found in."""
LENGTH = re.compile(
    r"""\b(?:(?:about|around|for|of)\s+){0,3}
    (?P<count>\d+(?:\.\d+)?|an?|half(?:\s+an?)?|two|three|four)[\s-]*
    (?:(?P<hours>hours?|hrs?|h)(?:(?P<half>\s+and\s+a\s+half)|(?P<glued>\d\d)
        |,?\s*(?:and\s+)?(?P<minutes>\d+)[\s-]*(?:minutes?|mins?|m))?
    |minutes?|mins?)\b
    (?:\s+(?:long|of)\b)?""",
    re.IGNORECASE | re.VERBOSE,
)
"""A length: `90 min`, `half an hour`, `1 hour 30 minutes`, `1h30`, `an hour and a half`."""
COUNTS = {"a": 1.0, "an": 1.0, "half": 0.5, "half a": 0.5, "half an": 0.5, "two": 2.0, "three": 3.0, "four": 4.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate track and its score, 0–1."""

    record: Record
    score: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return float(self.record.get("seconds") or 0.0)

    @property
    def artist(self) -> str:
        """Its first artist."""
        return next(iter(self.record.get("artist_ids") or self.record.get("artists") or ()), "")

    @property
    def album(self) -> str:
        """Its album."""
        return str(self.record.get("album_id") or "")


def minutes_in(sentence: str) -> tuple[float | None, str]:
    """Return the length in a sentence, at most a day, and the sentence without it."""
    found = LENGTH.search(sentence)
    if found is None:
        return None, sentence
    said = " ".join(found["count"].lower().split())
    count = COUNTS[said] if said in COUNTS else float(said)
    further = float(found["glued"] or found["minutes"] or (30 if found["half"] else 0))
    minutes = min(count * (60 if found["hours"] else 1) + further, MOST_MINUTES)
    rest = " ".join(f"{sentence[: found.start()]} {sentence[found.end() :]}".split())
    return (minutes, rest) if minutes else (None, sentence)


def choose(candidates: Sequence[Candidate], *, target_s: float) -> list[Candidate]:
    """Return tracks of the wanted total length, or as near as possible, in playing order."""
    known = {
        candidate.record.id: candidate
        for candidate in candidates
        if 0 < candidate.seconds <= target_s * (1 + TOLERANCE)
    }
    ranked = sorted(known.values(), key=lambda one: (-one.score, one.record.id))
    return arranged(_pick(ranked, target_s))


def by_turns(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with artists taking turns, each artist's own in order; scored by rank among their own."""
    by_artist: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_artist.setdefault(candidate.artist, []).append(candidate)
    rounds = zip_longest(*by_artist.values())
    ordered = [(number, one) for number, some in enumerate(rounds) for one in some if one is not None]
    last = max(len(ordered), 1)
    return [
        replace(one, score=(1 - TIE_BREAK * place / last) / (1 + number)) for place, (number, one) in enumerate(ordered)
    ]


def _pick(candidates: list[Candidate], target_s: float) -> list[Candidate]:
    """Choose greedily by score; tracks by artists or of albums already chosen count for less."""
    chosen: list[Candidate] = []
    left = sorted(candidates, key=lambda one: one.record.id)
    total = 0.0
    while total < target_s * (1 - TOLERANCE):
        fitting = [one for one in left if total + one.seconds <= target_s * (1 + TOLERANCE)]
        if not fitting:
            break
        best = max(fitting, key=_Worth(chosen))
        chosen.append(best)
        left.remove(best)
        total += best.seconds
    return chosen


class _Worth:
    """The score of a track given those already chosen."""

    def __init__(self, chosen: Sequence[Candidate]) -> None:
        self._artists = Counter(one.artist for one in chosen)
        self._albums = Counter(one.album for one in chosen if one.album)

    def __call__(self, one: Candidate) -> float:
        again: float = AGAIN_BY_ARTIST ** self._artists[one.artist] * AGAIN_OF_ALBUM ** self._albums[one.album]
        return max(one.score, 1e-6) * again


def arranged(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Order tracks by score, with no artist twice in a row where possible."""
    left = sorted(chosen, key=lambda one: (-one.score, one.record.id))
    order: list[Candidate] = []
    while left:
        counts = Counter(one.artist for one in left)
        last = order[-1].artist if order else None
        most, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        is_pressing = 2 * count > len(left) and most != last  # else it would be twice in a row later
        fitting = [one for one in left if (one.artist == most if is_pressing else one.artist != last)]
        following = (fitting or left)[0]
        order.append(following)
        left.remove(following)
    return order
