"""The words of a catalogue that preferences and questions may use: its spec's, and the values that records have."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType, MoodSpec, TotalSpec
from stackroom.catalogue.telling import label_of
from stackroom.model.scope import KIND_FIELD, TIMES, Range, Scope, Visibility
from stackroom.search.values import FieldValues, KeptBySnapshot, field_values
from stackroom.shelf.port import ShelfReader
from stackroom.text.cells.values import read_boolean, spellings_of
from stackroom.text.person_names import by_name
from stackroom.text.preference_pieces import Leaning, PreferenceVocabulary, Tone
from stackroom.text.preference_words import TONES, phrases
from stackroom.text.questions import WORDS

FEW_VALUES = 20
"""A field with no more values than this has kinds of things, which are meant wherever they are named."""
GREATEST = 1e300
MOST_VALUES = 20_000
"""The values of a field with more than this are found as words only."""
COUNTRIES = {country: phrases(written) for country, written in WORDS["countries"].items()}
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_KEPT = KeptBySnapshot[tuple[frozenset[str] | None, int], PreferenceVocabulary]()


def preference_vocabulary(
    reader: ShelfReader, spec: CatalogueSpec, *, scope: Scope, this_year: int
) -> PreferenceVocabulary:
    """Return the vocabulary of a catalogue as someone with this scope sees it; made once for each snapshot."""
    asked = scope.visibility.audiences, this_year
    return _KEPT.get(reader, asked, lambda: _made(reader, spec, scope.visibility, this_year))


def _made(reader: ShelfReader, spec: CatalogueSpec, visibility: Visibility, this_year: int) -> PreferenceVocabulary:
    tag_field = next((field.name for field in spec.column_fields if field.type is FieldType.TAGS), None)
    tags = field_values(reader, spec, tag_field, visibility=visibility) if tag_field else None
    time_field = spec.field_with_role(FieldRole.TIME)
    words, length, numbers = spec.preferences, spec.preferences.length, _number_fields(spec)
    few, many, people = _values_by_use(reader, spec, visibility, tag_field)
    labels, empty = _labels(numbers), _empty_fields(reader, spec, Scope(visibility=visibility))
    return PreferenceVocabulary(
        time_field=time_field.name if time_field else None,
        has_dates=time_field is not None and time_field.type is FieldType.DATE,
        units={**_units_of_labels(labels), **_units_of_fields(spec), **_by_word(words.units)},
        multiples={
            word.lower(): (field, size) for field, sizes in words.multiples.items() for word, size in sizes.items()
        },
        scales=dict(_scales({**_units_of_labels(labels), **_units_of_fields(spec), **_by_word(words.units)})),
        labels=labels,
        floats=frozenset(field.name for field in numbers if field.type is FieldType.FLOAT),
        orders=dict(_orders(spec, numbers, lambda name: _has_numbers(reader, name, Scope(visibility=visibility)))),
        choices={**few, **_kinds(spec), **_by_choice(words.choices)},
        seasons=_by_choice(words.seasons),
        tags=tags.spellings if tags else {},
        tag_field=tag_field,
        names=many,
        people=people,
        moods=_moods(words.moods, tags, tag_field) if tags and tag_field else {},
        fillers=frozenset(_nouns(spec)),
        unchecked=frozenset(phrase.lower() for phrase in words.unchecked),
        long_field=(length.field, length.short_at_most, length.long_at_least) if length else None,
        totals=_totals(words.total, empty) if words.total else {},
        lengths={
            word.lower(): (field, part.short_at_most, part.long_at_least)
            for field, part in words.lengths.items()
            for word in part.words
        },
        empty_fields=empty,
        this_year=this_year,
    )


def _number_fields(spec: CatalogueSpec) -> list[FieldSpec]:
    kinds = (FieldType.INT, FieldType.FLOAT)
    return [field for field in spec.column_fields if field.type in kinds and field.role is not FieldRole.TIME]


def _label(name: str) -> str:
    return label_of(CAMEL.sub(" ", name)).lower()


def _labels(numbers: Iterable[FieldSpec]) -> dict[str, str]:
    """Return the names of number fields in words, with other words for them; none that could be of two fields."""
    fields: dict[str, set[str]] = {}
    for field in numbers:
        name = _label(field.name)
        *first, last = name.split()
        without_currency = " ".join(first) if first and last in WORDS["currencies"] else name
        others = [
            other
            for word, written in WORDS["fields"].items()
            if word == without_currency.split()[-1]
            for other in phrases(written)
        ]
        for label in {name, without_currency, without_currency.split()[-1], *others}:
            fields.setdefault(label, set()).add(field.name)
    return {label: names.pop() for label, names in fields.items() if len(names) == 1}


def _units_of_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the words that follow the numbers of fields by their names: "4 bedrooms", "under 8 euros"."""
    units = {}
    for label, name in labels.items():
        last = label.split()[-1]
        for word in (
            *phrases(WORDS["currencies"].get(last, last)),
            *({last.removesuffix("s"), f"{last}s"} if label == last else ()),
        ):
            units[word] = name
    if "price" in labels:
        signs = (sign for written in WORDS["currencies"].values() for sign in phrases(written))
        units = {**dict.fromkeys(signs, labels["price"]), **units}
    return units


def _scales(units: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, float]]]:
    """Yield the units that hold so many of a field's own."""
    for word, written in WORDS["scales"].items():
        for number, unit in (phrase.split() for phrase in phrases(written)):
            if unit in units and word not in units:
                yield word, (units[unit], float(number))


def _orders(
    spec: CatalogueSpec, numbers: Iterable[FieldSpec], has_numbers: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """Yield the superlatives that a field of the catalogue tells, each with what to sort by."""
    length = spec.preferences.length
    roles = {
        "@time": spec.field_with_role(FieldRole.TIME),
        "@popularity": spec.field_with_role(FieldRole.POPULARITY),
        "@length": spec.fields.get(length.field) if length else None,
    }
    fields = {role: field.name for role, field in roles.items() if field is not None}
    for field in numbers:
        label = _label(field.name)
        for words in (label, *label.split()):
            fields.setdefault(words, field.name)
    for written, sorts in WORDS["superlatives"].items():
        known = (sort.strip() for sort in sorts.split(","))
        sort = next((sort for sort in known if has_numbers(fields.get(sort.removeprefix("-"), ""))), None)
        if sort:
            minus = "-" if sort.startswith("-") else ""
            yield from ((phrase, f"{minus}{fields[sort.removeprefix('-')]}") for phrase in phrases(written))


def _values_by_use(
    reader: ShelfReader, spec: CatalogueSpec, visibility: Visibility, tag_field: str | None
) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]], dict[str, tuple[str, tuple[str, ...]]]]:
    """Return the values that are meant wherever they are named, those that need a word before them, and persons."""
    few: dict[str, tuple[str, str]] = {}
    many: dict[str, tuple[str, str]] = {}
    people: dict[str, tuple[str, tuple[str, ...]]] = {}
    declared = {tag_field, *spec.preferences.choices, *spec.preferences.seasons, *spec.adult}
    for field in spec.column_fields:
        if field.is_numeric or field.filter is None or field.name in declared or field.type is FieldType.URL:
            continue
        values = field_values(reader, spec, field.name, visibility=visibility)
        if len(values.counts) > MOST_VALUES:
            continue
        if field.role is FieldRole.PEOPLE:
            people |= {key: (field.name, names) for key, names in by_name(values.counts).items() if key not in people}
            continue
        named = {phrase: value for phrase, value in values.spellings.items() if _is_told(phrase)}
        table = few if len(values.counts) <= FEW_VALUES else many
        table.update({phrase: (field.name, value) for phrase, value in named.items() if phrase not in table})
        few.update(
            {
                word: (field.name, named[country])
                for country in COUNTRIES
                if country in named
                for word in COUNTRIES[country]
            }
        )
    return few, many, people


def _is_told(phrase: str) -> bool:
    """Tell whether a value says something by itself, which numbers, letters, yes and no do not."""
    return len(phrase) > 1 and not phrase.isdigit() and read_boolean(phrase) is None


def _kinds(spec: CatalogueSpec) -> dict[str, tuple[str, str]]:
    """Return the words for the kinds of records, where there are several."""
    several = spec.kinds if len(spec.kinds) > 1 else ()
    return {word: (KIND_FIELD, kind) for kind in several for word in (kind.lower(), f"{kind.lower()}s")}


def _nouns(spec: CatalogueSpec) -> Iterator[str]:
    """Yield the words for any record of the catalogue."""
    for word in (*_label(spec.name.replace("-", " ")).split(), *phrases(WORDS["nouns"])):
        yield from (word, f"{word}s", word.removesuffix("s"))
        if word.endswith("ies"):
            yield f"{word[:-3]}y"


def _units_of_fields(spec: CatalogueSpec) -> dict[str, str]:
    """Return the words and signs for the units of numbers, each with its field; none for one of several fields."""
    fields: dict[str, list[str]] = {}
    for field in spec.column_fields:
        for word in {field.unit.lower(), *spellings_of(field.unit)} if field.unit else ():
            fields.setdefault(word, []).append(field.name)
    return {word: names[0] for word, names in fields.items() if len(names) == 1}


def _totals(total: TotalSpec, empty: Container[str]) -> dict[str, tuple[str, float]]:
    """Return the words for the length of a whole record, in parts of the usual length where no record says it."""
    name, share = (total.count, 1 / total.usual) if total.each in empty else (f"{total.count}{TIMES}{total.each}", 1.0)
    return {word.lower(): (name, size * share) for word, size in total.words.items()}


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
    total = [words.total.count, words.total.each] if words.total else []
    fields = {*words.units, *words.multiples, *words.lengths, *([words.length.field] if words.length else []), *total}
    return frozenset(name for name in fields if not _has_numbers(reader, name, scope))


def _has_numbers(reader: ShelfReader, name: str, scope: Scope) -> bool:
    return bool(name) and reader.count(scope.narrowed(Range(name, at_least=-GREATEST))) > 0


def _by_choice(choices: Mapping[str, Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, str]]:
    """Return a table from word to field and value."""
    return {word: (field, value) for field, values in choices.items() for word, value in _by_word(values).items()}


def _by_word(words: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a table from meaning to words the other way round."""
    return {word: meant for meant, some in words.items() for word in some}
