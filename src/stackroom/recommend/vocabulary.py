"""The words of a catalogue that preferences and questions may use: its spec's, and the values that
records have.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from stackroom.catalogue.column_words import plain_label
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType, TotalSpec
from stackroom.model.scope import KIND_FIELD, TIMES, Range, Scope, Visibility
from stackroom.search.moods import mood_tones
from stackroom.search.values import FieldValues, KeptBySnapshot, field_values
from stackroom.shelf.port import ShelfReader
from stackroom.text.cells.values import read_boolean, spellings_of
from stackroom.text.normalise import by_name
from stackroom.text.preference_pieces import PreferenceVocabulary
from stackroom.text.preference_words import phrases
from stackroom.text.questions import WORDS

# a field with no more values than this has kinds of things, which are meant wherever they are named
FEW_VALUES = 20
GREATEST = 1e300
MOST_VALUES = 20_000  # the values of a field with more than this are found as words only
COUNTRIES = {country: phrases(written) for country, written in WORDS["countries"].items()}


def in_order(written: str) -> list[str]:
    """Return phrases that are separated by commas, in their order."""
    return [phrase.strip() for phrase in written.split(",")]


_KEPT = KeptBySnapshot[tuple[frozenset[str] | None, int], PreferenceVocabulary]()


def current_year() -> int:
    """Return the year that it is now."""
    return datetime.now(UTC).year


def preference_vocabulary(
    reader: ShelfReader, spec: CatalogueSpec, *, scope: Scope, this_year: int
) -> PreferenceVocabulary:
    """Return the vocabulary of a catalogue as someone with this scope sees it; made once for each
    snapshot.
    """
    asked = scope.visibility.audiences, this_year
    return _KEPT.get(reader, asked, lambda: _build(reader, spec, scope.visibility, this_year))


def _build(
    reader: ShelfReader, spec: CatalogueSpec, visibility: Visibility, this_year: int
) -> PreferenceVocabulary:
    tag_field = next(
        (field.name for field in spec.column_fields if field.type is FieldType.TAGS), None
    )
    tags = field_values(reader, spec, tag_field, visibility=visibility) if tag_field else None
    time_field = spec.field_with_role(FieldRole.TIME)
    words, length, total = spec.preferences, spec.preferences.length, spec.preferences.total
    kinds = (FieldType.INT, FieldType.FLOAT)
    numbers = [
        field
        for field in spec.column_fields
        if field.type in kinds and field.role is not FieldRole.TIME
    ]
    values = _values_by_use(reader, spec, visibility, tag_field)
    labels, seen = _labels(numbers), Scope(visibility=visibility)

    def has_numbers(name: str) -> bool:
        return bool(name) and reader.count(seen.narrowed(Range(name, at_least=-GREATEST))) > 0

    lengths = {*words.units, *words.multiples, *words.lengths, *([length.field] if length else [])}
    lengths |= {total.count, total.each} if total else set()
    empty = frozenset(name for name in lengths if not has_numbers(name))
    several = spec.kinds if len(spec.kinds) > 1 else ()
    own_units = {
        field.name: (field.unit.lower(), *spellings_of(field.unit))
        for field in spec.column_fields
        if field.unit
    }
    of_labels = _units_of_labels(labels, numbers)
    units = {**of_labels, **_of_one_field(own_units), **_by_word(words.units)}
    units |= {"percent": units["%"]} if "%" in units else {}
    return PreferenceVocabulary(
        time_field=time_field.name if time_field else None,
        has_dates=time_field is not None and time_field.type is FieldType.DATE,
        units=units,
        multiples={
            word.lower(): (field, size)
            for field, sizes in words.multiples.items()
            for word, size in sizes.items()
        },
        scales={
            word: (units[unit], float(number))
            for word, written in WORDS["scales"].items()
            for number, unit in (phrase.split() for phrase in phrases(written))
            if unit in units and word not in units
        },
        pairs=dict(_pairs(numbers)),
        labels=labels,
        floats=frozenset(field.name for field in numbers if field.type is FieldType.FLOAT),
        orders=dict(_orders(spec, numbers, has_numbers)),
        choices={
            **values.few,
            **{
                word: (KIND_FIELD, kind)
                for kind in several
                for word in (kind.lower(), f"{kind.lower()}s")
            },
            **_by_choice(words.choices),
        },
        seasons=_by_choice(words.seasons),
        tags=tags.spellings if tags else {},
        tag_field=tag_field,
        names=values.many,
        people=values.people,
        makers=tuple(dict.fromkeys(name for name, _ in values.people.values())),
        adjectives=frozenset(values.adjectives),
        places=tuple(values.places),
        moods=mood_tones(words.moods, tags, tag_field) if tags and tag_field else {},
        fillers=frozenset(_nouns(spec)),
        unchecked=frozenset(phrase.lower() for phrase in words.unchecked),
        long_field=(length.field, length.short_at_most, length.long_at_least) if length else None,
        totals=_totals(total, empty) if total else {},
        lengths={
            word.lower(): (field, part.short_at_most, part.long_at_least)
            for field, part in words.lengths.items()
            for word in part.words
        },
        empty_fields=empty,
        this_year=this_year,
    )


def _label(name: str) -> str:
    return plain_label(name).lower()


def _labels(numbers: Sequence[FieldSpec]) -> dict[str, str]:
    """Return the names of number fields in words, with other words for them; none that could be of
    two fields.
    """
    words: dict[str, Iterable[str]] = {}
    for field in numbers:
        label = _label(field.name)
        bare = _without_currency(label)
        words[field.name] = label, bare, bare.split()[-1]
    return _of_one_field(words) | {
        word: name for name, concept in _concepts(numbers) for word in phrases(concept["words"])
    }


def _without_currency(label: str) -> str:
    first, _, last = label.rpartition(" ")
    return first if first and last in WORDS["currencies"] else label


def _concepts(numbers: Sequence[FieldSpec]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what people ask for by many words, each with the field that tells it."""
    labels = {_without_currency(_label(field.name)): field.name for field in reversed(numbers)}
    for concept in WORDS["concepts"].values():
        told = [labels[name] for name in in_order(concept["fields"]) if name in labels]
        yield from ((name, concept) for name in told[:1])


def _units_of_labels(labels: Mapping[str, str], numbers: Sequence[FieldSpec]) -> dict[str, str]:
    """Return the words that follow the numbers of fields by their names: "4 bedrooms", "under 8
    euros".
    """
    units = {
        word: name for name, concept in _concepts(numbers) for word in phrases(concept["units"])
    }
    for label, name in labels.items():
        last = label.split()[-1]
        own = {last, last.removesuffix("s"), f"{last}s"} if label == last else ()
        units |= dict.fromkeys((*phrases(WORDS["currencies"].get(last, "")), *own), name)
    if "price" in labels:
        signs = (sign for written in WORDS["currencies"].values() for sign in phrases(written))
        units = {**dict.fromkeys(signs, labels["price"]), **units}
    return units


def _pairs(numbers: Iterable[FieldSpec]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the things of which two fields tell the least and the greatest number, such as
    "players".
    """
    labels = {_label(field.name): field.name for field in numbers}
    for label, name in labels.items():
        for least, greatest in (("min ", "max "), (" min", " max")):
            other = labels.get(label.replace(least, greatest)) if least in label else None
            if other:
                thing = label.replace(least, "").strip()
                words = {thing, thing.removesuffix("s"), f"{thing}s"}
                yield from ((word, (name, other)) for word in words)


def _orders(
    spec: CatalogueSpec, numbers: Sequence[FieldSpec], has_numbers: Callable[[str], bool]
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
            spelt = (
                f"{words}est",
                f"{words}{words[-1]}est",
                f"{words}st",
                f"{words[:-1]}iest",
                f"most {words}",
            )
            yield from ((most, f"-{field.name}") for most in spelt)
    for name, concept in _concepts(numbers):
        fields = dict.fromkeys(phrases(concept["fields"]), name) | fields
    for written, sorts in {**WORDS["superlatives"], **WORDS["adjectives"]}.items():
        for sort in in_order(sorts):
            bare = sort.removeprefix("-")
            if has_numbers(fields.get(bare, "")):
                by = f"-{fields[bare]}" if bare != sort else fields[bare]
                yield from ((phrase, by) for phrase in phrases(written))
                break


class _Values(NamedTuple):
    """The values of fields by their use in sentences."""

    few: dict[str, tuple[str, str]]  # meant wherever they are named
    many: dict[str, tuple[str, str]]  # meant with a word before or after them
    people: dict[str, tuple[str, tuple[str, ...]]]
    adjectives: set[str]
    places: list[str]


def _values_by_use(
    reader: ShelfReader, spec: CatalogueSpec, visibility: Visibility, tag_field: str | None
) -> _Values:
    found = _Values({}, {}, {}, set(), [])
    declared = {tag_field, *spec.preferences.choices, *spec.preferences.seasons, *spec.adult}
    for field in spec.column_fields:
        is_read = not field.is_numeric and field.filter is not None
        if not is_read or field.name in declared or field.type is FieldType.URL:
            continue
        values = field_values(reader, spec, field.name, visibility=visibility)
        if len(values.counts) > MOST_VALUES:
            continue
        if field.role is FieldRole.PEOPLE:
            for key, meant in by_name(values.counts).items():
                found.people.setdefault(key, (field.name, meant))
        else:
            _add_values(found, field, values)
    return found


def _add_values(found: _Values, field: FieldSpec, values: FieldValues) -> None:
    """Add the values of a field, with the adjectives of countries among them."""
    named = {
        phrase: value
        for phrase, value in values.spellings.items()
        # digits, letters and yes say nothing
        if len(phrase) > 1 and not phrase.isdigit() and read_boolean(phrase) is None
    }
    named |= {
        f"{cue} {phrase.removesuffix('less')}": value
        for phrase, value in named.items()
        if phrase.endswith("less")
        for cue in ("without", "without a", "with no", "no")
    }
    yes = values.find("yes") if not named and values.counts else None
    if yes:
        found.few[_label(field.name)] = field.name, yes.value
    table = found.few if len(values.counts) <= FEW_VALUES else found.many
    for phrase, value in named.items():
        table.setdefault(phrase, (field.name, value))
    adjectives = {
        word: (field.name, named[country])
        for country in COUNTRIES
        if country in named
        for word in COUNTRIES[country]
    }
    found.few.update(adjectives)
    found.adjectives.update(adjectives)
    if adjectives or field.role is FieldRole.PLACE:
        found.places.append(field.name)


def _nouns(spec: CatalogueSpec) -> Iterator[str]:
    """Yield the words for any record of the catalogue, and verbs of questions about them."""
    name = _label(spec.name.replace("-", " "))
    groups = [group.split() for group in phrases(WORDS["named_nouns"])]
    like = [word for group in groups if group[0] in name for word in group]
    for word in (*name.split(), *like, *phrases(WORDS["nouns"])):
        yield from (word, f"{word}s", word.removesuffix("s"))
        if word.endswith("ies"):
            yield f"{word[:-3]}y"
    yield from phrases(WORDS["verbs"])
    yield from (word for field in spec.column_fields for word in _label(field.name).split())


def _of_one_field(words: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return a table from words to the field that they are of, from the words of each field."""
    fields = defaultdict[str, set[str]](set)
    for name, some in words.items():
        for word in some:
            fields[word].add(name)
    return {word: names.pop() for word, names in fields.items() if len(names) == 1}


def _totals(total: TotalSpec, empty: Container[str]) -> dict[str, tuple[str, float]]:
    """Return the words for the length of a whole record, in parts of the usual length where no
    record says it.
    """
    name, share = f"{total.count}{TIMES}{total.each}", 1.0
    if total.each in empty:
        name, share = total.count, 1 / total.usual
    return {word.lower(): (name, size * share) for word, size in total.words.items()}


def _by_choice(choices: Mapping[str, Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, str]]:
    """Return a table from word to field and value."""
    return {
        word: (field, value)
        for field, values in choices.items()
        for word, value in _by_word(values).items()
    }


def _by_word(words: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a table from meaning to words the other way round."""
    return {word: meant for meant, some in words.items() for word in some}
