"""`catalogue.toml` as it is written: pydantic models that refuse what they do not know.

This is the edge: a declaration is checked here for form, and by `compiler` for meaning.
"""

import tomllib
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pinakes.catalogue.spec import FieldType, FilterKind, Fusion, Role
from pinakes.errors import SpecError, did_you_mean

UNION_ARMS = frozenset({"bool", "DeclaredSearch", "str-enum[FilterKind]"})
"""What pydantic adds to the place of a problem in `search` and `filter`, which have two forms each."""


class Declared(BaseModel):
    """A part of a declaration."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DeclaredSearch(Declared):
    """`search = {…}` of a field."""

    boost: float = Field(default=0.0, ge=0, le=10)
    fuzzy: bool = False


class DeclaredField(Declared):
    """`[fields.NAME]`."""

    type: FieldType
    role: Role | None = None
    search: bool | DeclaredSearch = False
    filter: bool | FilterKind = False
    facet: bool = False
    required: bool = False
    path: str = ""
    values: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    description: str = ""


class DeclaredKind(Declared):
    """`[kinds.NAME]`."""

    title: str = ""


class DeclaredRelation(Declared):
    """`[relations.NAME]`."""

    kind: str
    field: str
    to: str
    inverse: str = ""


class DeclaredEmbed(Declared):
    """`[embed]`."""

    template: str


class DeclaredFusion(Declared):
    """`[search]`."""

    fusion: Fusion = Fusion.BLEND
    rrf_k: int = Field(default=60, ge=1)
    depth: int = Field(default=200, ge=10, le=1000)
    vector_weight: float = Field(default=0.6, ge=0, le=1)


class DeclaredOverlap(Declared):
    """`taxonomy`, `format` of `[recommend]`."""

    weight: float = Field(ge=0, le=1)
    fields: tuple[str, ...] = Field(min_length=1)


class DeclaredTemporal(Declared):
    """`temporal` of `[recommend]`."""

    weight: float = Field(ge=0, le=1)
    field: str
    sigma: float = Field(default=5.0, gt=0)


class DeclaredPopularity(Declared):
    """`popularity` of `[recommend]`."""

    weight: float = Field(ge=0, le=1)
    field: str


class DeclaredRelated(Declared):
    """`related` of `[recommend]`: `field` names other records by what stands in their `pages` field."""

    field: str
    pages: str


class DeclaredRecommend(Declared):
    """`[recommend]`."""

    semantic: float = Field(default=0.5, ge=0, le=1)
    taxonomy: DeclaredOverlap | None = None
    temporal: DeclaredTemporal | None = None
    format: DeclaredOverlap | None = None
    popularity: DeclaredPopularity | None = None
    related: DeclaredRelated | None = None
    neighbours: int = Field(default=50, ge=10, le=500)
    per_franchise: int = Field(default=1, ge=1)


class DeclaredLength(Declared):
    """`length` of `[wishes]`: what "short" and "long" mean here."""

    field: str
    short_at_most: float
    long_at_least: float


class DeclaredWishes(Declared):
    """`[wishes]`: the domain's words for numbers, choices and tags."""

    units: dict[str, tuple[str, ...]] = {}
    choices: dict[str, dict[str, tuple[str, ...]]] = {}
    tags: dict[str, tuple[str, ...]] = {}
    length: DeclaredLength | None = None


class Declaration(Declared):
    """A whole `catalogue.toml`."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")
    title: str = Field(min_length=1)
    summary: str = Field(min_length=1)
    id: str = ""
    editable: bool = False
    fields: dict[str, DeclaredField]
    kinds: dict[str, DeclaredKind] = {}
    relations: dict[str, DeclaredRelation] = {}
    embed: DeclaredEmbed | None = None
    search: DeclaredFusion = DeclaredFusion()
    recommend: DeclaredRecommend | None = None
    wishes: DeclaredWishes = DeclaredWishes()
    synonyms: dict[str, tuple[str, ...]] = {}


def load_declaration(path: Path) -> Declaration:
    """Read and check the form of a `catalogue.toml`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_declaration(text, origin=str(path))


def parse_declaration(text: str, *, origin: str) -> Declaration:
    """Check the form of a declaration given as text; `origin` names it in errors."""
    try:
        return Declaration.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{origin}: not valid TOML: {error}") from error
    except ValidationError as error:
        problems = "; ".join(_problem(details) for details in error.errors())
        raise SpecError(f"{origin}: {problems}") from error


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
