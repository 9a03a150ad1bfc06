"""A record as the index has it: its terms for filters, its words, names and their grams, numbers and texts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec
from stackroom.model.record import Key, Record
from stackroom.model.scope import PUBLIC
from stackroom.shelf.postgres_search.postings import MOST_IN_A_BYTE
from stackroom.shelf.terms import ColumnValues, Entry, term_fields, text_columns, text_tokens
from stackroom.text.titles import MAX_NAME_CHARS, name_spellings

ALL_WORDS, GRAMS, FIRST_APART = -1, -3, -10
"""The numbers of the fields of terms that are no columns; from the last one down, fields with words of their own."""
GRAM_CHARS = 3


class Term(NamedTuple):
    """A term of the index: the number of its field, and for values of columns the category and the value as written."""

    field: int
    text: str
    category: str = ""
    value: str = ""


TermParts = tuple[int, str, str, str]
"""A term as a plain tuple, which the garbage collector visits but once: a build has many."""


def term_hash(field: int, text: str) -> int:
    """Return the number by which a term is looked up; values that compare as equal have the same."""
    digest = blake2b(f"{field}\n{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A record to be indexed."""

    key: Key
    audiences: tuple[str, ...]
    columns: Sequence[Sequence[Entry]]
    """The values of each term field."""
    words: Mapping[int, Counter[str]]
    """The tokens of each group of fields, and how often it has each."""
    names: Sequence[str]
    numbers: Sequence[float]
    texts: Sequence[bytes]


class DocumentBuilder:
    """Makes documents of records by a spec."""

    def __init__(self, spec: CatalogueSpec) -> None:
        self._spec = spec
        self._values = ColumnValues(spec)
        self._texts = text_columns(spec)
        self.groups = text_groups(spec)
        self.fields = [*range(len(term_fields(spec))), *self.groups, GRAMS]
        """The numbers of the fields that documents have terms of."""

    def build(self, key: Key, record: Record) -> Document:
        """Return the document of a record."""
        columns, numbers = self._values.of(record)
        names = [one[:MAX_NAME_CHARS] for name in self._spec.names_of(record) for one in name_spellings(name)]
        return Document(
            key=key,
            audiences=tuple(sorted(set(record.audiences or (PUBLIC,)))),
            columns=columns,
            words={group: Counter(text_tokens(record, fields)) for group, fields in self.groups.items()},
            names=list(dict.fromkeys(names)),
            numbers=numbers,
            texts=["\n".join(names).encode(), *(read(record) for read in self._texts.values())],
        )


def text_groups(spec: CatalogueSpec) -> dict[int, tuple[FieldSpec, ...]]:
    """Return the fields whose words are searched together, by the number of the group; all searched text is first."""
    apart = (*spec.boosted_fields, *spec.fields_searched_as_names)
    return {ALL_WORDS: spec.searched_fields, **{FIRST_APART - place: (one,) for place, one in enumerate(apart)}}


def text_weights(spec: CatalogueSpec) -> list[tuple[int, float]]:
    """Return the groups that a search by words looks in, each with its weight."""
    boosts = [(FIRST_APART - place, field.boost) for place, field in enumerate(spec.boosted_fields)]
    return [(ALL_WORDS, 1.0), *boosts]


def name_weights(spec: CatalogueSpec) -> list[tuple[int, float]]:
    """Return the groups whose words are searched as names, each with its weight."""
    first = FIRST_APART - len(spec.boosted_fields)
    return [(first - place, 1.0) for place in range(len(spec.fields_searched_as_names))]


def column_number(spec: CatalogueSpec, field: str) -> int:
    """Return the number of a term column."""
    return term_fields(spec).index(field)


def grams_of(name: str) -> set[str]:
    """Return every three-letter window of a name, padded by a space on both sides."""
    padded = f" {name} "
    return {padded[start : start + GRAM_CHARS] for start in range(len(padded) - GRAM_CHARS + 1)}


def gram_sizes(names: Iterable[str]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return the grams of a record's names with the size of the shortest name that has each, and of the longest."""
    shortest, longest = dict[str, int](), dict[str, int]()
    sized = sorted((min(len(name.encode()), MOST_IN_A_BYTE), name) for name in names)
    for size, name in sized:
        longest |= dict.fromkeys(grams_of(name), size)
    for size, name in reversed(sized):
        shortest |= dict.fromkeys(grams_of(name), size)
    return shortest, longest


def name_number(name: str) -> int:
    """Return the number by which documents with a name are found: below 0, where terms have none, and not unique."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") // -2 - 1
