"""Moods in a query: the tags that show what words such as "melancholy" or "cosy" ask for, and how
records meet them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec, FieldType, MoodSpec
from stackroom.frozen import frozen
from stackroom.model.record import Key
from stackroom.search.values import FieldValues, KeptBySnapshot, field_values
from stackroom.shelf.port import ShelfReader
from stackroom.shelf.terms import term_of
from stackroom.text import preference_pieces as pieces
from stackroom.text.preference_words import TONES
from stackroom.text.preferences import read

Floats = NDArray[np.float64]
HALF = 0.5  # the part of a value that only leans to a mood, or away from it
# the part of values that lean away in the score of a mood that also seeks some
SHARE_AGAINST = 0.25
MOST_WORDS = 10  # a longer query describes a record, and not a mood


@frozen
class QueryMoods:
    """The moods and tags that a query is about."""

    checks: tuple[pieces.Checks, ...]
    is_whole: bool  # whether it asks for nothing else


_KEPT = KeptBySnapshot[str, pieces.PreferenceVocabulary]()


def read_moods(reader: ShelfReader, spec: CatalogueSpec, text: str) -> QueryMoods | None:
    """Return the moods and tags that a query names, unless it excludes something or has half as
    many other words.
    """
    if not spec.preferences.moods or len(text.split()) > MOST_WORDS:
        return None
    whats = [
        piece.what
        for piece in read(text, _KEPT.get(reader, spec.name, lambda: _vocabulary(reader, spec)))
    ]
    if any(isinstance(what, pieces.Cue | pieces.Title) for what in whats):
        return None
    moods = [
        pieces.tone_checks(what.leaning, pieces.Mood.PLAIN)
        for what in whats
        if isinstance(what, pieces.Tone)
    ]
    tags = [
        pieces.Checks(field=one.field, sought=(one.name,))
        for one in whats
        if isinstance(one, pieces.NamedTag) and one.field
    ]
    checks = tuple(dict.fromkeys(one for one in (*moods, *tags) if one))
    unknown = sum(what is pieces.Plain.WORD for what in whats)
    return (
        QueryMoods(checks=checks, is_whole=not unknown)
        if checks and unknown <= len(checks) // 2
        else None
    )


def _vocabulary(reader: ShelfReader, spec: CatalogueSpec) -> pieces.PreferenceVocabulary:
    name = next((field.name for field in spec.column_fields if field.type is FieldType.TAGS), "")
    if not name:
        return pieces.PreferenceVocabulary()
    tags = field_values(reader, spec, name)
    return pieces.PreferenceVocabulary(
        tags=tags.spellings,
        tag_field=name,
        moods=mood_tones(spec.preferences.moods, tags, name),
        fillers=frozenset((spec.name, f"{spec.name}s")),
    )


def mood_tones(
    declared: Mapping[str, MoodSpec], tags: FieldValues, tag_field: str
) -> dict[str, pieces.Tone]:
    """Return each word for a mood with its description and the tags that show it, of those that
    records have.
    """
    moods: dict[str, pieces.Tone] = {}
    for name, mood in declared.items():
        described = TONES.get(name.lower())
        had = (
            tuple(filter(tags.count_of, some))
            for some in (mood.tags, mood.near, mood.away, mood.never)
        )
        tone = pieces.Tone(described or name, pieces.Leaning(tag_field, *had))
        same = (word for word, meaning in TONES.items() if meaning == described)
        moods.update(
            dict.fromkeys((name.lower(), *(word.lower() for word in mood.words), *same), tone)
        )
    return moods


def score_checks(reader: ShelfReader, keys: Sequence[Key], checks: pieces.Checks) -> Floats:
    """Return how well the values of each record meet a wish, 0–1."""
    for_it = _counted(reader, keys, checks.field, checks.sought, checks.near)
    is_sought = bool(checks.sought or checks.near)
    if is_sought and not checks.avoided and not checks.disliked:
        return for_it
    against = _counted(reader, keys, checks.field, checks.avoided, checks.disliked)
    silent = np.flatnonzero(for_it + against == 0)
    terms = reader.terms(checks.field, [keys[place] for place in silent.tolist()])
    # nothing is known of a record without values
    against[silent[[not some for some in terms]]] = HALF
    return (
        (1 - SHARE_AGAINST) * for_it + SHARE_AGAINST * (1 - against) if is_sought else 1 - against
    )


def _counted(
    reader: ShelfReader, keys: Sequence[Key], field: str, whole: Sequence[str], half: Sequence[str]
) -> Floats:
    """Return for each record 1 if it has a value that counts in full, else 0.5 for each other one,
    up to 1.
    """
    full, part = (
        reader.count_terms(field, set(map(term_of, values)), keys) for values in (whole, half)
    )
    return np.where(full > 0, 1.0, np.minimum(1.0, HALF * part))
