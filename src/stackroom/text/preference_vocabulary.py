"""The words of a catalogue that a preference sentence may use."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackroom.text.preference_pieces import Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceVocabulary:
    """The words of a catalogue that a preference may use. Phrases are lower case."""

    time_field: str | None = None
    has_dates: bool = False
    """Whether the time field has dates, which are limited by day numbers; else it has years."""
    units: Mapping[str, str] = field(default_factory=dict)
    multiples: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Words for a fixed number of something: word → field and number."""
    choices: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    seasons: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Choices that are read only beside a year or a word for the release: word → field and value."""
    tags: Mapping[str, str] = field(default_factory=dict)
    tag_field: str | None = None
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Other values that are refused and demanded like tags, such as people: phrase → field and value."""
    moods: Mapping[str, Tone] = field(default_factory=dict)
    """Words for a mood or an audience that the catalogue can check."""
    fillers: frozenset[str] = frozenset()
    """Words without meaning here, such as the catalogue's own name in "recent novels"."""
    unchecked: frozenset[str] = frozenset()
    """Phrases about things that no record tells, such as the quality of the pictures."""
    long_field: tuple[str, float, float] | None = None
    lengths: Mapping[str, tuple[str, float, float]] = field(default_factory=dict)
    """Words whose length is another field's: word → field, maximum of "short", minimum of "long"."""
    empty_fields: frozenset[str] = frozenset()
    """Fields that no record has a value of; what limits them cannot be honoured."""
    this_year: int = 2026
