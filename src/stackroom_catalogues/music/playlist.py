"""A playlist from a sentence: the tracks to choose from, the choice, and how it falls short of the
sentence.

Tracks are chosen well fitting, by many artists, of a wanted length; the choice is pure and
deterministic.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from stackroom.api import AnyOf, InputError, Record, fold_name
from stackroom.api.ranking import Preferences
from stackroom_catalogues.music.grouping import ARTIST, TRACK
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.shapes import (
    MOST,
    MOST_MINUTES,
    GetParams,
    GetResult,
    RecordGroup,
    entry_of,
)

CANDIDATES = 300  # tracks that a playlist is chosen from, unless it is very long
SHORT_TRACK_S = 120
POOL = 4  # a playlist is chosen from the best tracks of this many times its length
FEWEST = 30
PHRASES_TRIED = 3
TOLERANCE = 0.05  # accepted deviation from the wanted length
AGAIN_BY_ARTIST = 0.55
# factors on a track's score for each chosen one by the same artist, and of the same album
AGAIN_OF_ALBUM = 0.8
DEFAULT_MINUTES = 60.0
# part of the score by which tracks of one round are in the order that they were found in
TIE_BREAK = 0.01
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
COUNTS = {
    "a": 1.0,
    "an": 1.0,
    "half": 0.5,
    "half a": 0.5,
    "half an": 0.5,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
}


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
        one.record.id: one for one in candidates if 0 < one.seconds <= target_s * (1 + TOLERANCE)
    }
    return arranged(_pick([known[record_id] for record_id in sorted(known)], target_s))


def by_turns(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with artists taking turns, each artist's own in order; scored by rank
    among their own.
    """
    by_artist: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_artist.setdefault(candidate.artist, []).append(candidate)
    rounds = zip_longest(*by_artist.values())
    ordered = [
        (number, one) for number, some in enumerate(rounds) for one in some if one is not None
    ]
    last = max(len(ordered), 1)
    return [
        replace(one, score=(1 - TIE_BREAK * place / last) / (1 + number))
        for place, (number, one) in enumerate(ordered)
    ]


def _pick(left: list[Candidate], target_s: float) -> list[Candidate]:
    """Choose greedily by score; tracks by artists or of albums already chosen count for less."""
    chosen: list[Candidate] = []
    artists, albums = Counter[str](), Counter[str]()

    def worth(one: Candidate) -> float:
        again: float = AGAIN_BY_ARTIST ** artists[one.artist] * AGAIN_OF_ALBUM ** albums[one.album]
        return max(one.score, 1e-6) * again

    total = 0.0
    while total < target_s * (1 - TOLERANCE):
        fitting = [one for one in left if total + one.seconds <= target_s * (1 + TOLERANCE)]
        if not fitting:
            break
        best = max(fitting, key=worth)
        chosen.append(best)
        left.remove(best)
        total += best.seconds
        artists[best.artist] += 1
        albums[best.album] += bool(best.album)
    return chosen


def arranged(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Order tracks by score, with no artist twice in a row where possible."""
    left = sorted(chosen, key=lambda one: (-one.score, one.record.id))
    order: list[Candidate] = []
    while left:
        counts = Counter(one.artist for one in left)
        last = order[-1].artist if order else None
        most, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        # else it would be twice in a row later
        is_pressing = 2 * count > len(left) and most != last
        fitting = [
            one for one in left if (one.artist == most if is_pressing else one.artist != last)
        ]
        following = (fitting or left)[0]
        order.append(following)
        left.remove(following)
    return order


def make_playlist(library: MusicLibrary, params: GetParams) -> GetResult:
    """Return tracks that fit a sentence, of the requested total length."""
    if not params.about:
        raise InputError(
            "'about' is missing: a playlist is made from a sentence, as in 'calm piano before 1850'"
        )
    said_minutes, about = minutes_in(params.about)
    target_s = 60 * (params.minutes or said_minutes or DEFAULT_MINUTES)
    wishes = _wishes(library, about)
    pool = _candidates(library, about, wishes, target_s)
    chosen = choose(pool.candidates, target_s=target_s)
    limit = params.limit if "limit" in params.model_fields_set else MOST
    tracks = [track.record for track in chosen]
    return GetResult(
        query_type="playlist",
        tracks=RecordGroup.of(tracks, entry_of, offset=params.offset, limit=limit),
        seconds=round(sum(track.seconds for track in chosen), 1),
        notes=_playlist_notes(about, wishes, pool, chosen, target_s=target_s),
    )


def _playlist_notes(
    about: str, wishes: Preferences, pool: "_Pool", chosen: Sequence[Candidate], *, target_s: float
) -> list[str]:
    """Return what of a sentence was understood, and how the tracks fall short of it."""
    notes = [f"{one.text}: {one.meaning}" for one in wishes.understood]
    if pool.is_unrelated:
        nearest = "; these are the nearest tracks" if chosen else ""
        notes.insert(0, f"nothing here fits '{about}'{nearest}")
    notes += [
        f"nothing here fits '{words}'" if words in pool.unfit else f"{words}: searched for as words"
        for words in wishes.not_understood
    ]
    seconds = sum(one.seconds for one in chosen)
    if abs(seconds - target_s) > TOLERANCE * target_s:
        notes.append(
            f"{seconds / 60:.1f} of {target_s / 60:g} minutes: there is not more that fits"
        )
    if any(one.artist == following.artist for one, following in pairwise(chosen)):
        notes.append(
            "an artist is there twice in a row: no choice of this length without that was found"
        )
    return notes


class _Pool(NamedTuple):
    """The tracks to choose from, only the nearest where unrelated, and the words of the sentence
    that none fits.
    """

    candidates: Sequence[Candidate]
    is_unrelated: bool
    unfit: Collection[str]


def _wishes(library: MusicLibrary, about: str) -> Preferences:
    artists = {
        spelling: ("artists", str(record.get("name")))
        for record, name in library.iter_named_in(ARTIST, about)
        for spelling in (name.lower(), fold_name(name))
    }
    return library.view.understand(about, names=artists, scope=library.scope(TRACK))


def _candidates(library: MusicLibrary, about: str, wishes: Preferences, target_s: float) -> _Pool:
    """Return the tracks that best fit the sentence: several times the wanted length, to choose
    from.
    """
    conditions = wishes.conditions
    scope = library.scope(TRACK, *conditions)
    looked_at = max(CANDIDATES, math.ceil(POOL * target_s / SHORT_TRACK_S))
    searched = library.view.search(about, scope=scope, limit=looked_at)
    hits = searched.hits(looked_at)
    found = [Candidate(record=hit.record, score=hit.score) for hit in hits]
    is_by_artists = any(
        isinstance(condition, AnyOf) and condition.field == "artists" for condition in conditions
    )
    # all of theirs fit, the best found first
    if (not found and (conditions or not about)) or is_by_artists:
        known = {one.record.id for one in found}
        keys = library.reader.scan(scope=scope, limit=looked_at)
        further = [record for record in library.fetch(keys) if record.id not in known]
        found += [Candidate(record=record, score=0.0 if known else 1.0) for record in further]
    if is_by_artists:
        found = by_turns(found)
    lengths = np.cumsum([one.seconds for one in found])
    kept = found[: max(int(np.searchsorted(lengths, POOL * target_s)) + 1, FEWEST)]
    is_vague = bool(about) and searched.evidence == "none"
    is_unrelated = is_vague and not conditions and not wishes.understood
    unfit = [
        words
        for words in wishes.not_understood[: 0 if is_unrelated else PHRASES_TRIED]
        if library.view.search(words, scope=library.scope(TRACK)).evidence == "none"
    ]
    return _Pool(candidates=kept, is_unrelated=is_unrelated, unfit=unfit)
