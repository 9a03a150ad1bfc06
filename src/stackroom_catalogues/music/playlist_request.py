"""A playlist from a sentence: what it asks for, the tracks to choose from, and how the choice falls short of it."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from stackroom.api import (
    AnyOf,
    Evidence,
    InputError,
    Preferences,
    fold_name,
    preference_vocabulary,
    understand,
)
from stackroom_catalogues.music.grouping import ARTIST, TRACK
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.playlist import DEFAULT_MINUTES, TOLERANCE, Candidate, by_turns, choose, minutes_in
from stackroom_catalogues.music.shapes import MOST, GetParams, GetResult, entry_of, page_of

CANDIDATES = 300
"""Tracks that a playlist is chosen from, unless it is very long."""
SHORT_TRACK_S = 120
POOL = 4
"""A playlist is chosen from the best tracks of this many times its length."""
FEWEST = 30
PHRASES_TRIED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPlaylist:
    """Tracks that were chosen for a sentence, in order; unrelated ones are only the nearest to it."""

    tracks: Sequence[Candidate]
    notes: Sequence[str]
    is_unrelated: bool


def plan_playlist(library: MusicLibrary, sentence: str, minutes: float | None) -> PlannedPlaylist:
    """Choose tracks that fit a sentence, of the requested total length."""
    said_minutes, about = minutes_in(sentence)
    target_s = 60 * (minutes or said_minutes or DEFAULT_MINUTES)
    wishes = _wishes(library, about)
    pool = _candidates(library, about, wishes, target_s)
    chosen = choose(pool.candidates, target_s=target_s)
    notes = _playlist_notes(about, wishes, pool, chosen, target_s=target_s)
    return PlannedPlaylist(tracks=chosen, notes=notes, is_unrelated=pool.is_unrelated)


def make_playlist(library: MusicLibrary, params: GetParams) -> GetResult:
    """Return tracks that fit a sentence, of the requested total length."""
    if not params.about:
        raise InputError(
            "'about' is missing: a playlist is made from a sentence, as in 'calm piano before 1850'; give 'id' for one "
            "that you kept"
        )
    made = plan_playlist(library, params.about, params.minutes)
    limit = params.limit if "limit" in params.model_fields_set else MOST
    return GetResult(
        query_type="playlist",
        tracks=page_of([entry_of(track.record) for track in made.tracks], offset=params.offset, limit=limit),
        seconds=round(sum(track.seconds for track in made.tracks), 1),
        notes=list(made.notes),
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
        notes.append(f"{seconds / 60:.1f} of {target_s / 60:g} minutes: there is not more that fits")
    if any(one.artist == following.artist for one, following in pairwise(chosen)):
        notes.append("an artist is there twice in a row: no choice of this length without that was found")
    return notes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pool:
    """The tracks that a playlist is chosen from; unrelated ones are only the nearest to the sentence."""

    candidates: Sequence[Candidate]
    is_unrelated: bool = False
    unfit: Collection[str] = ()
    """Words of the sentence that nothing fits."""


def _wishes(library: MusicLibrary, about: str) -> Preferences:
    spec, this_year = library.catalogue.spec, library.catalogue.recommender.this_year()
    vocabulary = preference_vocabulary(library.reader, spec, scope=library.scope(TRACK), this_year=this_year)
    artists = {
        spelling: ("artists", str(record.get("name")))
        for record, name in library.iter_named_in(ARTIST, about)
        for spelling in (name.lower(), fold_name(name))
    }
    return understand(about, replace(vocabulary, names=artists))


def _candidates(library: MusicLibrary, about: str, wishes: Preferences, target_s: float) -> _Pool:
    """Return the tracks that best fit the sentence: several times the wanted length, to choose from."""
    conditions = wishes.conditions
    scope = library.scope(TRACK, *conditions)
    looked_at = max(CANDIDATES, math.ceil(POOL * target_s / SHORT_TRACK_S))
    page = library.view.search(about, scope=scope, limit=looked_at)
    found = [Candidate(record=hit.record, score=hit.score) for hit in page.hits]
    is_by_artists = any(isinstance(condition, AnyOf) and condition.field == "artists" for condition in conditions)
    if (not found and (conditions or not about)) or is_by_artists:  # all of theirs fit, the best found first
        known = {one.record.id for one in found}
        keys = library.reader.scan(scope=scope, limit=looked_at)
        further = [record for record in library.fetch(keys) if record.id not in known]
        found += [Candidate(record=record, score=0.0 if known else 1.0) for record in further]
    if is_by_artists:
        found = by_turns(found)
    lengths = np.cumsum([one.seconds for one in found])
    kept = found[: max(int(np.searchsorted(lengths, POOL * target_s)) + 1, FEWEST)]
    is_vague = bool(about) and page.evidence is Evidence.NONE
    is_unrelated = is_vague and not conditions and not wishes.understood
    unfit = [] if is_unrelated else _find_unfit(library, wishes.not_understood)
    return _Pool(candidates=kept, is_unrelated=is_unrelated, unfit=unfit)


def _find_unfit(library: MusicLibrary, phrases: Sequence[str]) -> list[str]:
    """Return those of some phrases that no track answers."""
    return [
        words
        for words in phrases[:PHRASES_TRIED]
        if library.view.search(words, scope=library.scope(TRACK), limit=1).evidence is Evidence.NONE
    ]
