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
    vocabulary = _KEPT.get(reader, spec.name, lambda: _vocabulary(reader, spec))
    checks: dict[pieces.Checks, None] = {}
    unknown = 0
    for _, _, what in read(text, vocabulary):
        match what:
            case pieces.Cue() | pieces.Title():
                return None
            case pieces.Tone(leaning=leaning):
                if checked := pieces.tone_checks(leaning, pieces.Mood.PLAIN):
                    checks[checked] = None
            case pieces.NamedTag(name=name, field=str(field)):
                checks[pieces.Checks(field=field, sought=(name,))] = None
            case pieces.Plain.WORD:
                unknown += 1
    if not checks or unknown > len(checks) // 2:
        return None
    return QueryMoods(checks=tuple(checks), is_whole=not unknown)


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
        by_use = (mood.tags, mood.near, mood.away, mood.never)
        had = [tuple(filter(tags.count_of, some)) for some in by_use]
        tone = pieces.Tone(described or name, pieces.Leaning(tag_field, *had))
        same = (word for word, meaning in TONES.items() if meaning == described)
        moods |= dict.fromkeys((name.lower(), *map(str.lower, mood.words), *same), tone)
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
    share = SHARE_AGAINST if is_sought else 1.0
    return (1 - share) * for_it + share * (1 - against)


def _counted(
    reader: ShelfReader, keys: Sequence[Key], field: str, whole: Sequence[str], half: Sequence[str]
) -> Floats:
    """Return for each record 1 if it has a value that counts in full, else 0.5 for each other one,
    up to 1.
    """
    full = reader.count_terms(field, set(map(term_of, whole)), keys)
    part = reader.count_terms(field, set(map(term_of, half)), keys)
    return np.where(full > 0, 1.0, np.minimum(1.0, HALF * part))
