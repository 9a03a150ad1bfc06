"""The words of a catalogue that a preference sentence may use: its spec's, and the tags that its records have."""

from collections.abc import Mapping

from pinakes.catalogue.spec import CatalogueSpec, FieldType, Role
from pinakes.model.scope import Scope
from pinakes.search.values import field_values
from pinakes.shelf.port import ShelfReader
from pinakes.text.preferences import PreferenceVocabulary


def preference_vocabulary(
    reader: ShelfReader, spec: CatalogueSpec, *, scope: Scope, this_year: int
) -> PreferenceVocabulary:
    """Return the vocabulary of a catalogue as someone with this scope sees it."""
    tag_field = next((one.name for one in spec.column_fields if one.type is FieldType.TAGS), None)
    tags = field_values(reader, spec, tag_field, visibility=scope.visibility).spellings if tag_field else {}
    time_field = spec.field_with_role(Role.TIME)
    words, length = spec.preferences, spec.preferences.length
    return PreferenceVocabulary(
        time_field=time_field.name if time_field and time_field.type is FieldType.INT else None,
        units=_by_word(words.units),
        multiples={
            word.lower(): (field, size) for field, sizes in words.multiples.items() for word, size in sizes.items()
        },
        choices={
            word: (field, value)
            for field, choices in words.choices.items()
            for word, value in _by_word(choices).items()
        },
        tags=tags,
        tag_field=tag_field,
        fillers=frozenset((spec.name, f"{spec.name}s")),
        long_field=(length.field, length.short_at_most, length.long_at_least) if length else None,
        this_year=this_year,
    )


def _by_word(words: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a table from meaning to words the other way round."""
    return {word: meant for meant, some in words.items() for word in some}
