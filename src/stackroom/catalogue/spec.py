"""The compiled declaration of a catalogue, as frozen values; shelf, search, recommend and tools
work from it alone.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from stackroom.catalogue.column_template import ColumnPart, compose, parse_column_template
from stackroom.catalogue.column_words import (
    UNSAID,
    label_of,
    plain_label,
    time_unit_of,
    value_in_words,
)
from stackroom.frozen import frozen
from stackroom.model.record import Record, Tag, Value
from stackroom.text.cells.values import canonical_unit
from stackroom.text.normalise import plain_text

Texts = tuple[str, ...]
WordsOf = Mapping[str, Texts]
"""Value → the words for it."""


class FieldType(StrEnum):
    """The type of a field's values."""

    TEXT = "text"
    TEXTS = "text[]"
    INT = "int"
    FLOAT = "float"
    DATE = "date"
    ENUM = "enum"
    TAGS = "tag[]"
    JSON = "json"
    URL = "url"


class FieldRole(StrEnum):
    """The role of a field in search, recommendation and answers, whatever its name."""

    TITLE = "title"
    ALTERNATIVES = "alternatives"
    BODY = "body"
    TIME = "time"
    POPULARITY = "popularity"
    PEOPLE = "people"
    """Those who made the thing: authors, painters, directors."""
    PLACE = "place"
    """Where it is, or comes from."""
    PICTURE = "picture"
    """An image of it: its address, or a file within the folder of the source."""
    LINK = "link"
    """The address of its web page."""


class Take(StrEnum):
    """A part of a cell that a field takes."""

    YEAR = "year"


class DateOrder(StrEnum):
    """The order of day and month in dates such as `3/4/2019`."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"


class FilterKind(StrEnum):
    """The form of a filter by a field."""

    EQUALS = "equals"
    ANY_OF = "any-of"
    ALL_OF = "all-of"
    RANGE = "range"


class Fusion(StrEnum):
    """The way the rankings of a search are merged."""

    BLEND = "blend"
    RRF = "rrf"


ROLES_OF_ANSWERS = frozenset({FieldRole.PEOPLE, FieldRole.PLACE, FieldRole.PICTURE, FieldRole.LINK})
"""Roles that affect how a record is shown, and nothing that is indexed."""
NUMERIC_TYPES = frozenset({FieldType.INT, FieldType.FLOAT, FieldType.DATE})
LIST_TYPES = frozenset({FieldType.TEXTS, FieldType.TAGS})
TERM_TYPES = frozenset(
    {FieldType.TEXT, FieldType.TEXTS, FieldType.ENUM, FieldType.TAGS, FieldType.URL}
)


@frozen
class FieldSpec:
    """One named value of a record."""

    name: str
    type: FieldType
    role: FieldRole | None = None
    searched: bool = False
    boost: float = 0.0
    fuzzy: bool = False
    as_name: bool = False
    filter: FilterKind | None = None
    facet: bool = False
    required: bool = False
    source_path: str = ""
    split: str = ""
    template: tuple[ColumnPart, ...] = ()
    """The columns that its text is composed of; empty: it is read from `source_path`."""
    marked: tuple[tuple[str, str], ...] = ()
    """Columns that say yes or no, each with the tag of a record that has yes there."""
    take: Take | None = None
    unit: str = ""
    decimal_comma: bool = False
    brackets: bool = False
    """Whether its values are compared by their bounds, as `18–24` and `65+`."""
    date_order: DateOrder | None = None
    values: Texts = ()
    at_least: float | None = None
    at_most: float | None = None
    names_file: bool = False
    kinds: Texts = ()
    description: str = ""
    shown: bool = True

    @property
    def is_numeric(self) -> bool:
        """Tell whether the field is filtered by number (dates count as day numbers)."""
        return self.type in NUMERIC_TYPES

    @property
    def source_paths(self) -> Texts:
        """The paths in a row that the field is read from."""
        composed = (
            *(part.column for part in self.template),
            *(column for column, _tag in self.marked),
        )
        return composed or (self.source_path,)

    @property
    def time_unit(self) -> str:
        """The unit by the declaration or the name, which may be one of time; empty if it has
        none.
        """
        return (
            (canonical_unit(self.unit) if self.unit else time_unit_of(self.name))
            if self.is_numeric
            else ""
        )

    def in_words(self, value: str) -> str:
        """Return a value as people write it: `Not yet aired` for `NOT_YET_AIRED`."""
        return value_in_words(value) if self.type is FieldType.ENUM else value

    def says(self, value: str) -> bool:
        """Tell whether a value says anything; `UNKNOWN` of an enumeration does not."""
        return bool(value.strip()) and not (
            self.type is FieldType.ENUM and value.casefold() in UNSAID
        )

    def is_of(self, kind: str) -> bool:
        """Tell whether records of this kind have the field."""
        return not self.kinds or kind in self.kinds

    def allows(self, number: float) -> bool:
        """Tell whether a number is within the field's bounds."""
        is_enough = self.at_least is None or number >= self.at_least
        return is_enough and (self.at_most is None or number <= self.at_most)

    @property
    def bounds(self) -> str:
        """The field's bounds in words, as in `1000 to 2999`; empty if it has none."""
        least, most = (
            None if bound is None else f"{bound:.15g}" for bound in (self.at_least, self.at_most)
        )
        if least and most:
            return f"{least} to {most}"
        return f"{least} or more" if least else f"{most} or less" if most else ""

    @property
    def needs_column(self) -> bool:
        """Tell whether shelves store this field as a column, for filters, facets and signals."""
        return (
            self.filter is not None
            or self.facet
            or self.role in (FieldRole.TIME, FieldRole.POPULARITY)
        )


class Declared(BaseModel):
    """A table of a declaration: frozen, and validated as it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EmbedSpec(Declared):
    """`[embed]`."""

    template: str
    """The text to embed, as in `{title}. {tags}`; a field without a value is omitted with the text
    before it.
    """
    model: str = ""
    """The local model to embed it with, as `stackroom model list` names it; empty: the one that the
    settings name.
    """
    markdown: bool = False
    """Whether the fields are Markdown, of which the words are embedded: no addresses, HTML tags and
    signs of markup.
    """

    @cached_property
    def parts(self) -> tuple[ColumnPart, ...]:
        """The fields of the template, each with the text around it; none if it is malformed."""
        return parse_column_template(self.template)


class SearchSpec(Declared):
    """`[search]`; `docs/reference/quality.md` explains the defaults."""

    feedback_records: ClassVar[int] = 3
    smoothing_neighbours: ClassVar[int] = 5
    smoothing_depth: ClassVar[int] = 100

    fusion: Fusion = Fusion.BLEND
    """The way the text and vector rankings are merged: `blend` (weighted scores) or `rrf`
    (reciprocal rank fusion).
    """
    rrf_k: int = Field(default=60, ge=1)
    """The constant of reciprocal rank fusion."""
    depth: int = Field(default=100, ge=10, le=1000)
    """The number of records that each ranking contributes."""
    vector_weight: float = Field(default=0.6, ge=0, le=1)
    """The weight of the vector score in a blend; the text score has the rest."""
    by_coverage: bool = False
    """Whether the text score counts less in a blend where no record has most of the query's
    words.
    """
    feedback_weight: float = Field(default=0.5, ge=0, le=1)
    """The weight in a blend of the best hits, towards which the query is moved; 0 leaves it as it
    is.
    """
    smoothing_weight: float = Field(default=0.2, ge=0, le=1)
    """The share of a hit's score in a blend that comes from the hits most like it."""
    known_weight: float = Field(default=0.5, ge=0, le=2)
    """The weight of how much is known of a record (`[known]`), compared with a score of 1."""
    little_known_discount: float = Field(default=0.0, ge=0, le=1)
    """Share taken off the cosine of a record of which nothing is known: any query is near to a text
    of few words.
    """
    named_weight: float = Field(default=0.15, ge=0, le=2)
    """The weight of having the values that the query names, compared with a score of 1."""
    named: Texts = ()
    """The fields whose values count as evidence when the query names them, as genres do."""


class RelationSpec(Declared):
    """`[relations.NAME]`."""

    kind: str
    """The kind of record that names others."""
    field: str
    """The field that has their ids."""
    to: str
    """The kind of record that is named."""
    inverse: str = ""
    """The name of the relation from the other side."""
    copies: str = ""
    """The field that repeats their titles, in the order of the ids; edits keep it up to date."""
    order: str = ""
    """The field that has the place of a record among those that name the same one, as the number of
    a chapter.
    """


class SignalSpec(Declared):
    """A signal of `[recommend]`."""

    weight: float = Field(ge=0, le=1)
    """Its share of the score."""


class OverlapSpec(SignalSpec):
    """`taxonomy`, `format` of `[recommend]`."""

    fields: Texts = Field(min_length=1)
    """The fields that are compared."""


class TemporalSpec(SignalSpec):
    """`temporal` of `[recommend]`."""

    field: str
    """The field that has the time, as a number."""
    sigma: float = Field(default=5.0, gt=0)
    """The standard deviation: at this distance the signal is 0.61, at twice it 0.14."""


class PopularitySpec(SignalSpec):
    """`popularity` of `[recommend]`; the other signals have the rest of the score."""

    field: str
    """The field that has the number."""


class RelatedSpec(Declared):
    """`related` of `[recommend]`: `field` names other records by the value of their `pages`
    field.
    """

    field: str
    """The field that names other records."""
    pages: str
    """The field by which they are named."""


NO_OVERLAP = OverlapSpec.model_construct(weight=0.0, fields=())
NO_TIME = TemporalSpec.model_construct(weight=0.0, field="", sigma=5.0)
NO_POPULARITY = PopularitySpec.model_construct(weight=0.0, field="")
NO_RELATED = RelatedSpec(field="", pages="")


class RecommendSpec(Declared):
    """`[recommend]`."""

    semantic: float = Field(default=0.5, ge=0, le=1)
    """The weight of semantic similarity."""
    taxonomy: OverlapSpec = NO_OVERLAP
    """Tags in common."""
    temporal: TemporalSpec = NO_TIME
    """Nearness in time."""
    format: OverlapSpec = NO_OVERLAP
    """Similarity of form: equal values, or numbers of similar size."""
    popularity: PopularitySpec = NO_POPULARITY
    """Popularity, on a logarithmic scale."""
    related: RelatedSpec = NO_RELATED
    """The fields that show which records are of one series."""
    neighbours: int = Field(default=50, ge=10, le=500)
    """The number of nearest neighbours of each title that are considered."""
    known: float = Field(default=0.0, ge=0, le=1)
    """The weight of how much is known of a record (`[known]`) in the choice of records; no part of
    their score.
    """
    wish: float = Field(default=0.5, ge=0, le=1)
    """The weight of what a preference asks for in the choice of records; a second one takes its
    share of the rest.
    """
    per_franchise: int = Field(default=1, ge=1)
    """The limit on records of one series; or one in five of the requested number, if that is
    more.
    """
    series_markers: Texts = ("season", "part", "series")
    """Words after which a title only says which part of a work it is, as numbers do: "Cosmos season
    two".
    """


class KnownSpec(Declared):
    """`[known.FIELD]`: what a field contributes to how much is known of a record."""

    weight: float = Field(gt=0, le=1)
    """Its share; the shares of all fields are scaled to add up to 1."""
    full: float = Field(gt=0)
    """The amount that counts in full: characters of a text, number of items in a list, or a number
    itself.
    """


class LengthSpec(Declared):
    """`length` of `[preferences]`: the meaning of "short" and "long"."""

    field: str
    """The field that has the length."""
    short_at_most: float
    """The maximum of "short"."""
    long_at_least: float
    """The minimum of "long"."""


class PartLengthSpec(Declared):
    """`[preferences.lengths.FIELD]`: the meaning of "short" and "long" before some words."""

    words: Texts = Field(min_length=1)
    """The words: "short chapters"."""
    short_at_most: float
    """The maximum of "short"."""
    long_at_least: float
    """The minimum of "long"."""


class MoodSpec(Declared):
    """`[preferences.moods.WORD]`: the tags by which a mood, a setting or an audience is scored."""

    words: Texts = ()
    """Other words for it, besides the English ones that mean the same."""
    tags: Texts = ()
    """Tags that mean it: a record with one has what was asked for; "not X" excludes them."""
    near: Texts = ()
    """Tags that lean to it, and count half."""
    away: Texts = ()
    """Tags that lean away from it, and count half against it."""
    never: Texts = ()
    """Tags that rule it out: records with one are excluded."""


class TotalSpec(Declared):
    """`total` of `[preferences]`: the length of a whole record, as in "I only have 5 hours"."""

    count: str
    """The field that has how many parts there are."""
    each: str
    """The field that has the length of a part."""
    usual: float
    """The length of a part where no record says it."""
    words: dict[str, float] = Field(min_length=1)
    """Words for lengths, and how much of `each` one is: `hour = 60`."""


class PreferencesSpec(Declared):
    """`[preferences]`: the domain's words for numbers, choices and tags."""

    units: WordsOf = {}
    """Field → the words that follow its numbers: "under 300 pages"."""
    multiples: dict[str, dict[str, int]] = {}
    """Field → words for a fixed number of it: "two dozen" with `dozen = 12`."""
    choices: dict[str, WordsOf] = {}
    """Field → its values → the words for each: "only films"."""
    length: LengthSpec | None = None
    """The meaning of "short" and "long"."""
    total: TotalSpec | None = None
    """The length of a whole record, computed from the number of its parts: "at most 5 hours"."""
    lengths: dict[str, PartLengthSpec] = {}
    """Field → the parts whose length it has, and the meaning of "short" and "long" for them."""
    seasons: dict[str, WordsOf] = {}
    """Field → its values → the words for each, read only beside a year or a word for the release:
    "spring 2016".
    """
    moods: dict[str, MoodSpec] = {}
    """Word for a mood, setting or audience → the tags that show it: "darker", "for kids"."""
    unchecked: Texts = ()
    """Phrases about things that no record tells, said to be not understood: "no filler"."""


@dataclass(frozen=True, kw_only=True)
class CatalogueSpec:
    """A catalogue's compiled declaration. `digest` changes with what is indexed, not with how it is
    searched.
    """

    name: str
    title: str
    summary: str
    fields: Mapping[str, FieldSpec]
    kinds: Texts
    kinds_hidden_from_search: Texts
    """The kinds that a search finds only with a filter by kind."""
    kind_path: str
    """The path of the record's kind in a row; empty if rows have none."""
    kind_sources: WordsOf
    """Kind → name patterns of sources whose rows are all of that kind."""
    relations: tuple[RelationSpec, ...]
    id_path: str
    id_template: tuple[ColumnPart, ...]
    """The columns that ids are composed of; rows with the same ones are told apart by their other
    values.
    """
    telling: Texts
    """The fields that answers show of each record; empty where `catalogue.telling` chooses them."""
    samples: Texts
    """Queries to begin with; empty where they are chosen from the records."""
    group_path: str
    """The path in a row whose value is the id of the record that the row is a part of; empty: each
    row is a record.
    """
    editable: bool
    embed: EmbedSpec | None
    search: SearchSpec
    recommend: RecommendSpec | None
    synonyms: WordsOf
    preferences: PreferencesSpec
    known: Mapping[str, KnownSpec]
    other_words: Mapping[str, WordsOf]
    """Field → its values → other words for each, by which filters, preferences and searches may
    name them.
    """
    adult: WordsOf
    """Field → the values that mark a record as for adults only; a search finds such records where
    it asks for them.
    """
    digest: str

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """Values that are derived of the spec once and kept with it, by key."""
        return {}

    def field_with_role(self, role: FieldRole) -> FieldSpec | None:
        """Return the field that has this role, or None."""
        return self._by_role.get(role)

    @cached_property
    def _by_role(self) -> dict[FieldRole, FieldSpec]:
        """Role → the first field that has it."""
        return {field.role: field for field in reversed(list(self.fields.values())) if field.role}

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Field → its name as people write it; the plain words of it where two fields would be
        called the same.
        """
        labels = {name: label_of(name) for name in self.fields}
        counts = Counter(labels.values())
        return {
            name: label if counts[label] == 1 else plain_label(name)
            for name, label in labels.items()
        }

    @cached_property
    def link_names(self) -> Texts:
        """The fields that may have a record's own page: links first, other addresses, then its
        pages at the sources.
        """
        shown = [
            field
            for field in self.fields.values()
            if field.shown and field.role is not FieldRole.PICTURE
        ]
        named = [field.name for field in shown if field.role is FieldRole.LINK]
        named += [
            field.name
            for field in shown
            if field.type is FieldType.URL and field.role is not FieldRole.LINK
        ]
        pages = self.recommend.related.pages if self.recommend else ""
        return (*named, *([pages] if pages else ()))

    @cached_property
    def title_field(self) -> FieldSpec:
        """The field that names a record; every spec has one."""
        if (field := self.field_with_role(FieldRole.TITLE)) is None:
            raise LookupError(f"catalogue '{self.name}' compiled without a title field")
        return field

    @cached_property
    def searched_fields(self) -> tuple[FieldSpec, ...]:
        """The fields whose text is searched."""
        return tuple(field for field in self.fields.values() if field.searched)

    @cached_property
    def boosted_fields(self) -> tuple[FieldSpec, ...]:
        """The searched fields with a score of their own on top of that of all text."""
        return tuple(field for field in self.searched_fields if field.boost > 0)

    @cached_property
    def fields_searched_as_names(self) -> tuple[FieldSpec, ...]:
        """The fields whose words are searched apart from all other text."""
        return tuple(field for field in self.fields.values() if field.as_name)

    @cached_property
    def name_fields(self) -> tuple[FieldSpec, ...]:
        """The fields matched by similar spelling: the title, the alternatives, and those declared
        fuzzy.
        """
        by_role = [self.title_field, self.field_with_role(FieldRole.ALTERNATIVES)]
        fuzzy = [field for field in self.fields.values() if field.fuzzy]
        return tuple(
            {field.name: field for field in (*by_role, *fuzzy) if field is not None}.values()
        )

    @cached_property
    def column_fields(self) -> tuple[FieldSpec, ...]:
        """The fields kept as columns for filters, facets and signals."""
        return tuple(field for field in self.fields.values() if field.needs_column)

    def title_of(self, record: Record) -> str:
        """Return the record's title."""
        return str(record.fields.get(self.title_field.name) or record.id)

    def names_of(self, record: Record) -> list[str]:
        """Return all names of a record, its title first."""
        return [
            name for field in self.name_fields for name in texts_of(record.get(field.name)) if name
        ]


def texts_of(value: Value) -> list[str]:
    """Return the texts in a field's value: itself, its items, or its tags' values."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple | list):
        has_tags = bool(value) and isinstance(value[0], Tag)
        return [item.value for item in value] if has_tags else list(map(str, value))
    return [str(value)]


def embedding_text(spec: EmbedSpec, record: Record) -> str:
    """Return the text of a record to embed; fields without a value are omitted with the text around
    them.
    """

    def words_of(name: str) -> str:
        words = " ".join(", ".join(texts_of(record.get(name))).split())
        return plain_text(words) if spec.markdown else words

    return compose(spec.parts, words_of)


ANY_FIELD = KnownSpec(weight=1, full=1)


def known_of(spec: CatalogueSpec, record: Record) -> float:
    """Return how much is known of a record by the fields that the spec names, or else how complete
    the record is.
    """
    fields = spec.known or {
        name: ANY_FIELD for name, field in spec.fields.items() if field.is_of(record.kind)
    }
    known = sum(
        one.weight * _share(record.fields.get(name), one.full) for name, one in fields.items()
    )
    return known / sum(one.weight for one in fields.values())


def _share(value: Value, full: float) -> float:
    """Return a value's amount as a share of the full amount: texts by length, lists and numbers by
    magnitude.
    """
    if value is None or value == "":
        return 0.0
    if isinstance(value, str):
        return min(1.0, len(value) / full)
    is_number = isinstance(value, int | float) and math.isfinite(value)
    amount = len(value) if isinstance(value, tuple | list) else max(0.0, value if is_number else 0)
    return min(1.0, math.log1p(amount) / math.log1p(full))
