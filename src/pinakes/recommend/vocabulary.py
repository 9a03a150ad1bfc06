"""The words of a catalogue that a preference sentence may use: its spec's, and the tags that its records have."""

from collections.abc import Sequence

from pinakes.catalogue.spec import CatalogueSpec, FieldType, Role
from pinakes.model.hits import FacetCount
from pinakes.model.scope import Scope
from pinakes.shelf.port import ShelfReader
from pinakes.text.preferences import PreferenceVocabulary


def preference_vocabulary(
    reader: ShelfReader, spec: CatalogueSpec, *, scope: Scope, this_year: int
) -> PreferenceVocabulary:
    """Return the vocabulary of a catalogue as someone with this scope sees it."""
    tag_field = next((one.name for one in spec.column_fields if one.type is FieldType.TAGS), None)
    facets: Sequence[FacetCount] = reader.facets(tag_field, scope=scope) if tag_field else ()
    known = {facet.value.lower(): facet.value for facet in facets}
    time_field = spec.field_with_role(Role.TIME)
    words = spec.preferences
    return PreferenceVocabulary(
        time_field=time_field.name if time_field and time_field.type is FieldType.INT else None,
        units=words.units,
        multiples=words.multiples,
        choices=words.choices,
        tags={**known, **{word: tag for word, tag in words.tags.items() if tag.lower() in known}},
        tag_field=tag_field,
        long_field=(words.length_field, words.short_at_most, words.long_at_least) if words.length_field else None,
        this_year=this_year,
    )
