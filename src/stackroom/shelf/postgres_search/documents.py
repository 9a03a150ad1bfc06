"""A record as the index has it: its terms for filters, its words, names and their grams, numbers and texts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec
from stackroom.model.record import Key, Record
from stackroom.model.scope import PUBLIC
from stackroom.shelf.postgres_search.postings import MOST_IN_A_BYTE, length_code
from stackroom.shelf.terms import ColumnValues, term_fields, text_columns, text_tokens
from stackroom.text.titles import MAX_NAME_CHARS, name_spellings

ALL_WORDS, NAMES, GRAMS, FIRST_APART = -1, -2, -3, -10
"""The numbers of the fields of terms that are no columns; from the last one down, fields with words of their own."""
GRAM_CHARS = 3


class Term(NamedTuple):
    """A term of the index: the number of its field, and for values of columns the category and the value as written."""

    field: int
    text: str
    category: str = ""
    value: str = ""

    @property
    def hash(self) -> int:
        """A number by which the term is looked up; values that compare as equal have the same."""
        digest = blake2b(f"{self.field}\n{self.text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


class Occurrence(NamedTuple):
    """How often a record has a word, and the code of its text's length; of a gram, the sizes of the names."""

    often: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A record to be indexed."""

    key: Key
    audiences: tuple[str, ...]
    columns: Sequence[Term]
    words: Sequence[Term]
    """The words of all searched text, and the names: terms that a scope can be limited to."""
    postings: Mapping[Term, Occurrence]
    lengths: Sequence[int]
    """The number of tokens in each group of fields."""
    numbers: Sequence[float]
    texts: Sequence[bytes]


class DocumentBuilder:
    """Makes documents of records by a spec."""

    def __init__(self, spec: CatalogueSpec) -> None:
        self._spec = spec
        self._values = ColumnValues(spec)
        self._texts = text_columns(spec)
        self.groups = text_groups(spec)

    def build(self, key: Key, record: Record) -> Document:
        """Return the document of a record."""
        columns, numbers = self._values.of(record)
        names = [one[:MAX_NAME_CHARS] for name in self._spec.names_of(record) for one in name_spellings(name)]
        bags = [Counter(text_tokens(record, fields)) for fields in self.groups.values()]
        postings = _grams_of(dict.fromkeys(names))
        for field, bag in zip(self.groups, bags, strict=True):
            size = length_code(bag.total())
            postings |= {
                Term(field, token): Occurrence(min(often, MOST_IN_A_BYTE), size) for token, often in bag.items()
            }
        return Document(
            key=key,
            audiences=tuple(sorted(set(record.audiences or (PUBLIC,)))),
            columns=[Term(field, *entry) for field, some in enumerate(columns) for entry in some],
            words=[
                *(Term(ALL_WORDS, token) for token in bags[0]),
                *(Term(NAMES, name) for name in dict.fromkeys(names)),
            ],
            postings=postings,
            lengths=[bag.total() for bag in bags],
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


def _grams_of(names: Iterable[str]) -> dict[Term, Occurrence]:
    """Return the grams of a record's names, each with the sizes of the shortest and the longest name that has it."""
    sizes: dict[str, list[int]] = {}
    for name in names:
        for gram in grams_of(name):
            sizes.setdefault(gram, []).append(min(len(name.encode()), MOST_IN_A_BYTE))
    return {Term(GRAMS, gram): Occurrence(min(some), max(some)) for gram, some in sizes.items()}
