"""The few fields of a catalogue that tell most about a record, chosen by role, type and name from
its spec alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum, auto
from functools import lru_cache
from itertools import takewhile

from stackroom.catalogue.column_words import is_about, words_about
from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldSpec, FieldType

FEWEST = 4
MOST = 6


class _Group(StrEnum):
    """The groups of fields by what they tell about a record, in the order in which fields are
    shown.
    """

    PEOPLE = auto()
    TIME = auto()
    KIND = auto()
    TAGS = auto()
    PLACE = auto()
    RATING = auto()
    PRICE = auto()
    MEASURE = auto()
    POPULARITY = auto()
    OTHER = auto()
    NOTHING = auto()


SHOWN_FIRST = list(_Group).index
BY_WEIGHT = [*map(_Group, str.split("people time rating price kind place tags measure popularity"))]
"""The groups, that of which a field is missed most first."""
SEVERAL = (_Group.KIND, _Group.TAGS, _Group.MEASURE, _Group.PEOPLE, _Group.PLACE)
"""The groups of which a second field tells something new."""

# the groups of which tables tend to have one number several times
COUNTED = (_Group.RATING, _Group.POPULARITY)

NAMING_ROLES = (FieldRole.TITLE, FieldRole.ALTERNATIVES, FieldRole.BODY)
POINTING_ROLES = (FieldRole.PICTURE, FieldRole.LINK)
GROUP_OF_ROLE = {
    role: _Group(role.value)
    for role in (FieldRole.PEOPLE, FieldRole.TIME, FieldRole.PLACE, FieldRole.POPULARITY)
}
NUMBERS = (FieldType.INT, FieldType.FLOAT)
LISTS = (FieldType.TAGS, FieldType.TEXTS)

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
NUMBER_GROUPS = (_Group.RATING, _Group.PRICE, _Group.MEASURE)
TERM_GROUPS = (_Group.PEOPLE, _Group.PLACE, _Group.KIND, _Group.TAGS, _Group.TIME, _Group.PRICE)


def telling_fields(spec: CatalogueSpec, *, kind: str = "") -> tuple[FieldSpec, ...]:
    """Return the four to six most telling fields of a catalogue, or of a kind; in its order where a
    spec names them.
    """
    return _of_kind(spec.telling, spec, kind) or _ranked(tuple(_candidates(spec, kind)))[0]


def rank_fields(spec: CatalogueSpec, *, kind: str = "") -> tuple[FieldSpec, ...]:
    """Return the telling fields, and after them those that a record without values for these may be
    told by.
    """
    telling, rest = _ranked(tuple(_candidates(spec, kind)))
    stated = _of_kind(spec.telling, spec, kind)
    return (*stated, *(field for field in (*telling, *rest) if field.name not in spec.telling))


def _of_kind(names: Iterable[str], spec: CatalogueSpec, kind: str) -> tuple[FieldSpec, ...]:
    return tuple([spec.fields[name] for name in names if not kind or spec.fields[name].is_of(kind)])


def _candidates(spec: CatalogueSpec, kind: str) -> Iterator[FieldSpec]:
    """Yield the fields that are shown as values: no names or body text, links, files, or ids of
    other records.
    """
    ids = {relation.field for relation in spec.relations}
    in_title = {part.column for part in spec.title_field.template}
    for field in spec.fields.values():
        is_value = (
            field.type not in (FieldType.URL, FieldType.JSON)
            and not field.names_file
            and field.name not in ids
        )
        is_value = is_value and field.source_path not in in_title
        if (
            field.shown
            and is_value
            and field.role not in NAMING_ROLES
            and (not kind or field.is_of(kind))
        ):
            yield field


@lru_cache(maxsize=256)
def _ranked(fields: tuple[FieldSpec, ...]) -> tuple[tuple[FieldSpec, ...], tuple[FieldSpec, ...]]:
    """Return the telling ones of some fields as they are shown, and the others, the more telling
    first.
    """
    grouped = [(_group_of(field), field) for field in fields]
    by_use = sorted(grouped, key=lambda one: (SHOWN_FIRST(one[0]), -_use(one[1])))
    firsts = [next((one for one in by_use if one[0] is group), None) for group in BY_WEIGHT]
    chosen = [first for first in firsts if first is not None][:MOST]
    for group in SEVERAL:
        more = [
            one
            for one in by_use
            if one[0] is group and one not in chosen and _is_new(one[1], chosen)
        ]
        chosen += more[: min(1, MOST - len(chosen))]
    for one in by_use:
        is_few = len(chosen) < FEWEST and one not in chosen
        if is_few and one[0] is not _Group.NOTHING and _is_new(one[1], chosen):
            chosen.append(one)
    ordered = sorted(chosen, key=lambda one: SHOWN_FIRST(one[0]))
    rest = [
        field
        for group, field in by_use
        if (group, field) not in chosen
        and group is not _Group.NOTHING
        # a second count of ratings tells nothing more
        and (group not in COUNTED or _is_new(field, chosen))
    ]
    return tuple(field for _, field in ordered), tuple(rest)


Grouped = tuple[_Group, FieldSpec]


def _is_new(field: FieldSpec, chosen: Sequence[Grouped]) -> bool:
    """Tell whether a field's name is no variant of another's, as `region_2` is of `region_1`."""
    stem = _stem(field.name)
    return not any(
        stem <= other or other <= stem for other in (_stem(one.name) for _, one in chosen)
    )


def _stem(name: str) -> frozenset[str]:
    return frozenset(word.rstrip("s") for word in _words(name) if not word.isdigit())


def _words(name: str) -> tuple[str, ...]:
    """Return the words of a field's name in lower case."""
    return tuple(word.lower() for word in WORD.findall(name))


def _use(field: FieldSpec) -> int:
    """Return how much a field is used: by its role, then by what its name says, to filter, to count
    and to search.
    """
    words, group = _words(field.name), _group_of(field)
    is_constant = field.type is FieldType.TEXT and field.filter is not None and not field.facet
    is_slight = _is_about(words, "slight")
    is_named = group in BY_WEIGHT and _is_about((_last_word(words),), group)
    used = 2 * (field.filter is not None) + 2 * field.facet + field.searched - is_slight
    return (
        16 * (field.role is not None) + 8 * (is_named and not is_constant and not is_slight) + used
    )


def _group_of(field: FieldSpec) -> _Group:
    words = _words(field.name)
    if field.role in POINTING_ROLES or _is_noise(field, words):
        return _Group.NOTHING
    if field.role in GROUP_OF_ROLE:
        return GROUP_OF_ROLE[field.role]
    if field.type is FieldType.DATE:
        return _Group.OTHER if _is_about(words, "stamp") else _Group.TIME
    return _number_group(words) if field.type in NUMBERS else _term_group(field, words)


def _is_noise(field: FieldSpec, words: tuple[str, ...]) -> bool:
    """Tell whether a field is an id, a code, a link, a picture or prose, or one bar of a
    histogram.
    """
    letters = [word for word in words if not word.isdigit()]
    if not letters or _is_about(letters[-1:], "code") or _is_about(words, "pointer"):
        return True
    if field.type in NUMBERS:
        return words[-1].isdigit() and _is_about(words, _Group.RATING)
    return not field.facet and field.filter is None and _is_about(words, "prose")


def _number_group(words: tuple[str, ...]) -> _Group:
    if _is_about(words, _Group.TIME):
        return _Group.TIME
    is_rating = _is_about(words, _Group.RATING) or _is_about(words, "review")
    if _is_about(words, _Group.POPULARITY) or (is_rating and _is_about(words, "count")):
        return _Group.RATING if _is_about(words, "mean") else _Group.POPULARITY
    return next((group for group in NUMBER_GROUPS if _is_about(words, group)), _Group.OTHER)


def _term_group(field: FieldSpec, words: tuple[str, ...]) -> _Group:
    """Return the group of the last word, else of any word, else of the type: `author_gender` names
    no author.
    """
    for some, groups in (((_last_word(words),), TERM_GROUPS), (words, TERM_GROUPS[1:])):
        found = next((group for group in groups if _is_about(some, group)), None)
        if found is _Group.KIND and field.type is FieldType.TAGS:
            return _Group.TAGS
        if found is not None:
            return found
    if words[-1] == "name":
        return _Group.PEOPLE
    if field.type in LISTS:
        return _Group.TAGS if field.facet else _Group.OTHER
    return _Group.KIND if field.facet or field.type is FieldType.ENUM else _Group.OTHER


def _last_word(words: tuple[str, ...]) -> str:
    """Return the word that a name turns on: `club` in `club_name`, `place` in `place_of_birth`."""
    details = words_about("telling_before_details")
    before = words[:1] + tuple(takewhile(lambda word: word not in details, words[1:]))
    return next(
        (word for word in reversed(before) if word not in words_about("telling_empty")), words[-1]
    )


def _is_about(words: Iterable[str], topic: str) -> bool:
    return is_about(words, f"telling_{topic}")
