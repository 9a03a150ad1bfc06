"""The form of `catalogue.toml`: pydantic models that refuse unknown keys; `compiler` validates the
meaning.
"""

from typing import Any, get_origin

from pydantic import BaseModel, Field, ValidationError

from stackroom.catalogue import spec as specs
from stackroom.errors import SpecError, did_you_mean
from stackroom.text.validation_words import model_in, plain_words, shown_value
from stackroom.toml_text import TomlError, parse_toml

UNION_ARMS = frozenset({"bool", "DeclaredSearch", "str-enum[FilterKind]"})
"""Steps that pydantic adds to the location of an error in a union (`search` and `filter`)."""


class DeclaredSearch(specs.Declared):
    """`search = {…}` of a field."""

    boost: float = Field(default=0.0, ge=0, le=10)
    """The weight of a match in this field, added to that of a match anywhere."""
    fuzzy: bool = False
    """Whether similar spellings match."""
    as_name: bool = False
    """Whether it is matched as a name only: its words are no part of the text that descriptions are
    searched in.
    """


class DeclaredField(specs.Declared):
    """`[fields.NAME]`."""

    type: specs.FieldType
    """The type of the values."""
    role: specs.FieldRole | None = None
    """The field's role in search, recommendation and answers; at most one field has each role."""
    search: bool | DeclaredSearch = False
    """Whether its words are searched, and how."""
    filter: bool | specs.FilterKind = False
    """Whether and how records can be filtered by it; `true` takes the default of its type."""
    facet: bool = False
    """Whether its values can be browsed and counted."""
    required: bool = False
    """Whether a record without it is rejected."""
    path: str = ""
    """The path of the value in a row, as in `stats.power`, `authors[].name` or `currencies.*.name`
    (of every key); empty: the field's name.
    """
    split: str = ""
    """The separator of the values of a list that a row has as one text, as in `"; "`."""
    template: str = ""
    """A text composed of columns, in place of `path`, as in `"{departure} – {arrival}, {month}"`; a
    column without a value is omitted with the text before it.
    """
    marked: dict[str, str] = Field(default_factory=dict)
    """Columns that say yes or no → the tag of a record that has yes there, in place of `path`, as
    in `{ is_vegan = "vegan" }`.
    """
    take: specs.Take | None = None
    """The part of a cell that a whole number is: `"year"` takes the year of a date, or the first
    year in a text.
    """
    unit: str = ""
    """The unit of a number, as in `"min"`: removed where cells have it, and shown after the
    number.
    """
    decimal_comma: bool = False
    """Whether numbers have a comma before decimals and dots between thousands: `2.644` is 2644,
    `0,125` is 0.125.
    """
    brackets: bool = False
    """Whether the values of a text are ranges of numbers, as in `18–24`, `under 18` or `$150,000+`:
    kept as they are written, sorted and filtered by their bounds, and never averaged.
    """
    date_order: specs.DateOrder | None = None
    """The order of day and month in dates such as `3/4/2019`: `"dmy"` (the default) or `"mdy"`."""
    values: tuple[str, ...] = ()
    """The values of an enum, which needs at least one."""
    at_least: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    """The minimum of a number."""
    at_most: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    """The maximum of a number."""
    names_file: bool = False
    """Whether a text names a file; an edit may set it only to a relative path without `..`."""
    kinds: tuple[str, ...] = ()
    """The kinds of record that have the field; empty: all."""
    description: str = ""
    """A sentence for people."""
    shown: bool = True
    """Whether answers show it; false for text that is only searched."""


class DeclaredKind(specs.Declared):
    """`[kinds.NAME]`."""

    title: str = ""
    """The name of the kind for people."""
    found: bool = True
    """Whether a search without a filter by kind finds it; false for records that only group
    others.
    """
    sources: tuple[str, ...] = ()
    """Names or patterns of files whose rows are all of this kind, as in `designers.csv` or
    `designers-*.jsonl`.
    """


class Declaration(specs.Declared):
    """A whole `catalogue.toml`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")
    """The catalogue's name in commands."""
    title: str = Field(min_length=1)
    """Its name for people."""
    summary: str = Field(min_length=1)
    """A sentence on its contents."""
    id: str = ""
    """The path of the record's id in a row; or a template of columns, as in `"{film} ({year})"`,
    where a row whose columns say the same as another's has a digest of its values after them.
    """
    telling: tuple[str, ...] = Field(default=(), max_length=8)
    """The fields that answers show of each record, in this order; empty: those that seem to tell
    most.
    """
    samples: tuple[str, ...] = Field(default=(), max_length=8)
    """Queries to begin with, which the page offers; empty: what many records are tagged with, and
    names.
    """
    group: str = ""
    """The path of the value by which rows are one record, with that value as its id: fields of type
    `text[]` and `tag[]` collect the values of all its rows, other fields have the first value.
    """
    kind: str = ""
    """The path of the record's kind in a row, one of the names in `[kinds]`; a row with another
    value is rejected.
    """
    editable: bool = False
    """Whether records may be edited by hand."""
    fields: dict[str, DeclaredField]
    """The fields of a record; one has the role `title`."""
    kinds: dict[str, DeclaredKind] = Field(default={})
    """The kinds of record, if there are several."""
    relations: dict[str, specs.RelationSpec] = Field(default={})
    """The fields that name other records by id."""
    embed: specs.EmbedSpec | None = None
    """The text to embed; without it, search is by words alone."""
    search: specs.SearchSpec = specs.SearchSpec()
    """The merging of the text and vector rankings."""
    recommend: specs.RecommendSpec | None = None
    """The signals of recommendations; without it, records are recommended by meaning."""
    preferences: specs.PreferencesSpec = specs.PreferencesSpec()
    """The domain's words in sentences of preferences."""
    known: dict[str, specs.KnownSpec] = Field(default={})
    """The fields that show how much is known of a record: a prior in rankings, and in ties between
    names.
    """
    values: dict[str, dict[str, tuple[str, ...]]] = Field(default={})
    """Field → its values → other words for each, by which filters, preferences and searches may
    name them.
    """
    adult: dict[str, tuple[str, ...]] = Field(default={})
    """Field → the values that mark a record as for adults only; a search finds such records where
    it asks for them.
    """
    synonyms: dict[str, tuple[str, ...]] = Field(default={})
    """Word or phrase → synonyms that are searched with it, in both directions."""


def parse_declaration(text: str, *, origin: str) -> Declaration:
    """Parse and validate the form of a declaration; `origin` names it in errors."""
    try:
        return Declaration.model_validate(parse_toml(text))
    except TomlError as error:
        raise SpecError(f"{origin}: not valid TOML: {error}") from error
    except ValidationError as error:
        raise SpecError(
            f"{origin}: {'; '.join(_problem(details) for details in error.errors())}"
        ) from error


def _problem(details: Any) -> str:
    path = [
        str(step)
        for depth, step in enumerate(details["loc"])
        if depth < 3 or step not in UNION_ARMS
    ]
    place = ".".join(path)
    if details["type"] != "extra_forbidden":
        return f"'{place}': {plain_words(details)}{shown_value(details['input'])}"
    known = sorted(_known_keys(path[:-1]))
    return f"unknown key '{place}'{did_you_mean(path[-1], known)}; known here: {', '.join(known)}"


def _known_keys(path: list[str]) -> set[str]:
    """Return the known keys of the table at this path."""
    model: type[BaseModel] = Declaration
    steps = iter(path)
    for step in steps:
        annotation = model.model_fields[step].annotation
        if (inner := model_in(annotation)) is None:
            return set()
        model = inner
        if get_origin(annotation) is dict:
            next(steps, None)  # a name that the author chose, as TITLE in fields.TITLE
    return set(model.model_fields)
