"""The words of a catalogue that a preference sentence may use: its spec's, and the tags that its records have."""

from collections.abc import Iterable, Mapping

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldType, MoodSpec
from stackroom.model.scope import Range, Scope
from stackroom.search.values import FieldValues, field_values
from stackroom.shelf.port import ShelfReader
from stackroom.text.cells.values import spellings_of
from stackroom.text.preference_pieces import Leaning, PreferenceVocabulary, Tone
from stackroom.text.preference_words import TONES


def preference_vocabulary(
    reader: ShelfReader, spec: CatalogueSpec, *, scope: Scope, this_year: int
) -> PreferenceVocabulary:
    """Return the vocabulary of a catalogue as someone with this scope sees it."""
    tag_field = next(
        (column_field.name for column_field in spec.column_fields if column_field.type is FieldType.TAGS), None
    )
    tags = field_values(reader, spec, tag_field, visibility=scope.visibility) if tag_field else None
    time_field = spec.field_with_role(FieldRole.TIME)
    words, length = spec.preferences, spec.preferences.length
    return PreferenceVocabulary(
        time_field=time_field.name if time_field else None,
        has_dates=time_field is not None and time_field.type is FieldType.DATE,
        units={**_units_of_fields(spec), **_by_word(words.units)},
        multiples={
            word.lower(): (field, size) for field, sizes in words.multiples.items() for word, size in sizes.items()
        },
        choices=_by_choice(words.choices),
        seasons=_by_choice(words.seasons),
        tags=tags.spellings if tags else {},
        tag_field=tag_field,
        moods=_moods(words.moods, tags, tag_field) if tags and tag_field else {},
        fillers=frozenset((spec.name, f"{spec.name}s")),
        unchecked=frozenset(phrase.lower() for phrase in words.unchecked),
        long_field=(length.field, length.short_at_most, length.long_at_least) if length else None,
        lengths={
            word.lower(): (field, part.short_at_most, part.long_at_least)
            for field, part in words.lengths.items()
            for word in part.words
        },
        empty_fields=_empty_fields(reader, spec, scope),
        this_year=this_year,
    )


def _units_of_fields(spec: CatalogueSpec) -> dict[str, str]:
    """Return the words and signs for the units of numbers, each with its field; none for one of several fields."""
    fields: dict[str, list[str]] = {}
    for field in spec.column_fields:
        for word in {field.unit.lower(), *spellings_of(field.unit)} if field.unit else ():
            fields.setdefault(word, []).append(field.name)
    return {word: names[0] for word, names in fields.items() if len(names) == 1}


def _moods(declared: Mapping[str, MoodSpec], tags: FieldValues, tag_field: str) -> dict[str, Tone]:
    """Return each word for a mood with its description and the tags that show it, of those that records have."""
    moods: dict[str, Tone] = {}
    for name, mood in declared.items():
        described = TONES.get(name.lower())
        tone = Tone(
            described or name,
            Leaning(
                tag_field,
                meant=_had(mood.tags, tags),
                near=_had(mood.near, tags),
                away=_had(mood.away, tags),
                never=_had(mood.never, tags),
            ),
        )
        same = (word for word, meaning in TONES.items() if meaning == described)
        moods.update(dict.fromkeys((name.lower(), *(word.lower() for word in mood.words), *same), tone))
    return moods


def _had(values: Iterable[str], tags: FieldValues) -> tuple[str, ...]:
    return tuple(value for value in values if tags.count_of(value))


def _empty_fields(reader: ShelfReader, spec: CatalogueSpec, scope: Scope) -> frozenset[str]:
    """Return the fields of lengths that no record has a number of."""
    words = spec.preferences
    fields = {*words.units, *words.multiples, *words.lengths, *([words.length.field] if words.length else [])}
    return frozenset(name for name in fields if not reader.count(scope.narrowed(Range(name, at_least=0))))


def _by_choice(choices: Mapping[str, Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, str]]:
    """Return a table from word to field and value."""
    return {word: (field, value) for field, values in choices.items() for word, value in _by_word(values).items()}


def _by_word(words: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a table from meaning to words the other way round."""
    return {word: meant for meant, some in words.items() for word in some}
