"""`catalogue.toml` as it is written: pydantic models that refuse what they do not know.

This is the edge: a declaration is checked here for form, and by `compiler` for meaning.
"""

import tomllib
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError

from pinakes.catalogue.spec import (
    Declared,
    FieldType,
    FilterKind,
    Fusion,
    PreferencesSpec,
    RecommendSpec,
    RelationSpec,
    Role,
)
from pinakes.errors import SpecError, did_you_mean

UNION_ARMS = frozenset({"bool", "DeclaredSearch", "str-enum[FilterKind]"})
"""What pydantic adds to the place of a problem in `search` and `filter`, which have two forms each."""
FORMER_PREFERENCES = "wishes"


class DeclaredSearch(Declared):
    """`search = {…}` of a field."""

    boost: float = Field(default=0.0, ge=0, le=10)
    """How much a match in this field counts on top of a match anywhere."""
    fuzzy: bool = False
    """Whether near spellings of the words are to match."""


class DeclaredField(Declared):
    """`[fields.NAME]`."""

    type: FieldType
    """What the values are."""
    role: Role | None = None
    """What the field means to search and recommendation; each role is on one field at most."""
    search: bool | DeclaredSearch = False
    """Whether its words are searched, and how."""
    filter: bool | FilterKind = False
    """Whether and how it can be filtered by; `true` takes the usual kind of its type."""
    facet: bool = False
    """Whether its values can be browsed and counted."""
    required: bool = False
    """Whether a record without it is refused."""
    path: str = ""
    """Where the value stands in a row, as in `stats.power`, `authors[].name` or `firstname surname` (both, with a space
    between); empty: under the field's name."""
    split: str = ""
    """What parts the values of a list that a row has as one text, as in `"; "`."""
    values: tuple[str, ...] = ()
    """The values of an enum; one that lists none is refused."""
    at_least: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    """The least that a number may be; less is refused."""
    at_most: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    """The most that a number may be; more is refused."""
    names_file: bool = False
    """Whether a text names a file; an edit may then set it to a relative path without `..` only."""
    kinds: tuple[str, ...] = ()
    """The kinds of record that have the field; empty: all."""
    description: str = ""
    """A sentence for people."""


class DeclaredKind(Declared):
    """`[kinds.NAME]`."""

    title: str = ""
    """What the kind is called."""
    found: bool = True
    """Whether a search finds it without being asked for the kind; not so for what only holds other records together."""
    sources: tuple[str, ...] = ()
    """The sources whose rows are all of this kind, by file name, as in `designers.csv` or `designers-*.jsonl`."""


class DeclaredEmbed(Declared):
    """`[embed]`."""

    template: str
    """The text that is embedded, as in `{title}. {tags}`; a field without a value falls out with the text before it."""


class DeclaredFusion(Declared):
    """`[search]`."""

    fusion: Fusion = Fusion.BLEND
    """How words and meaning become one ranking: a blend of scores, or reciprocal ranks."""
    rrf_k: int = Field(default=60, ge=1)
    """The constant of reciprocal rank fusion."""
    depth: int = Field(default=100, ge=10, le=1000)
    """How many records each of the two finds before they are merged."""
    vector_weight: float = Field(default=0.6, ge=0, le=1)
    """The share of meaning in a blend; words have the rest."""


class Declaration(Declared):
    """A whole `catalogue.toml`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")
    """The catalogue's name in commands."""
    title: str = Field(min_length=1)
    """Its name for people."""
    summary: str = Field(min_length=1)
    """A sentence on what is in it."""
    id: str = ""
    """Where a row has the record's id."""
    kind: str = ""
    """Where a row has the record's kind, the name of one of `[kinds]`; a row with any other value is refused."""
    editable: bool = False
    """Whether records may be changed by hand."""
    fields: dict[str, DeclaredField]
    """What a record has; one of them has the role `title`."""
    kinds: dict[str, DeclaredKind] = Field(default={})
    """The kinds of record, where there is more than one."""
    relations: dict[str, RelationSpec] = Field(default={})
    """Which field names records of which kind."""
    embed: DeclaredEmbed | None = None
    """What is embedded; without it, search goes by words alone."""
    search: DeclaredFusion = DeclaredFusion()
    """How search merges words and meaning."""
    recommend: RecommendSpec | None = None
    """How it recommends; without it, it does not."""
    preferences: PreferencesSpec = PreferencesSpec()
    """The domain's words in preferences."""
    synonyms: dict[str, tuple[str, ...]] = Field(default={})
    """Word or phrase → others that are searched with it, both ways."""


def read_declaration(path: Path) -> str:
    """Return the text of a `catalogue.toml`."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text") from error


def parse_declaration(text: str, *, origin: str) -> Declaration:
    """Check the form of a declaration given as text; `origin` names it in errors."""
    try:
        return Declaration.model_validate(_with_current_keys(tomllib.loads(text), origin=origin))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{origin}: not valid TOML: {error}") from error
    except ValidationError as error:
        problems = "; ".join(_problem(details) for details in error.errors())
        raise SpecError(f"{origin}: {problems}") from error


def _with_current_keys(declared: dict[str, Any], *, origin: str) -> dict[str, Any]:
    """Return a declaration with the former key `wishes` as `preferences`."""
    if FORMER_PREFERENCES not in declared:
        return declared
    if "preferences" in declared:
        raise SpecError(
            f"{origin}: [{FORMER_PREFERENCES}] is the former name of [preferences]; join both under [preferences]"
        )
    others = {key: value for key, value in declared.items() if key != FORMER_PREFERENCES}
    return {**others, "preferences": declared[FORMER_PREFERENCES]}


def _problem(details: Any) -> str:
    path = [str(step) for depth, step in enumerate(details["loc"]) if depth < 3 or step not in UNION_ARMS]
    place = ".".join(path)
    if details["type"] != "extra_forbidden":
        return f"'{place}': {details['msg']}"
    known = sorted(_known_keys(path[:-1]))
    return f"unknown key '{place}'{did_you_mean(path[-1], known)}; known here: {', '.join(known)}"


def _known_keys(path: list[str]) -> set[str]:
    """Return the keys that a table at this path may have."""
    model: type[BaseModel] = Declaration
    steps = iter(path)
    for step in steps:
        annotation = model.model_fields[step].annotation
        inner = _model_in(annotation)
        if inner is None:
            return set()
        model = inner
        if get_origin(annotation) is dict:
            next(steps, None)  # a name that the author chose, as TITLE in fields.TITLE
    return set(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the declared model inside an annotation such as `dict[str, DeclaredField]` or `DeclaredEmbed | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part)) is not None), None)
