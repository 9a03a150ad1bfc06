"""Shapes of parameters and answers: how values become them, what they share, and their compact JSON
schemas, of which a model reads every byte at each turn.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import EnumType, StrEnum
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.functional_validators import AfterValidator, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from stackroom.errors import InputError, did_you_mean
from stackroom.model.hits import DECIMALS, Evidence, Label, SearchMode, Why
from stackroom.text.analyser import MAX_CHARS
from stackroom.text.normalise import letters_of
from stackroom.text.validation_words import model_in, plain_words, shown_value

is_none = partial(operator.is_, None)
is_empty = operator.not_
"""Tell whether a part of an answer is left out; functions of C, since each is called for every
field of an answer.
"""


def optional(description: str, **bounds: Any) -> Any:
    """Declare a parameter that may be left out, and is null then."""
    return Field(default=None, description=description, **bounds)


def when_known() -> Any:
    """Declare a part of an answer that is left out where there is none."""
    return Field(default=None, exclude_if=is_none)


def when_any(kind: type[list[Any]] | type[dict[str, Any]] = list) -> Any:
    """Declare a list or an object of an answer that is left out where it is empty."""
    return Field(default_factory=kind, exclude_if=is_empty)


DROPPED = ("title", "$defs", "additionalProperties", "minLength", "maxLength", "properties")
NULL = {"type": "null"}
FOR_PAGES = "for pages"  # the mark of a field that is for programs that draw, and in no tool list
OBVIOUS = {
    ("minimum", 0),
    ("minimum", 1),
    ("exclusiveMinimum", 0),
    ("minItems", 1),
    ("minItems", 2),
    ("default", 0),
}
"""Keywords with values that go without saying (0 is False too); a call that breaks one is refused
in words.
"""
FEW_ITEMS = 10  # a list of at most so many items says so in a brief schema
COMMON_ARGUMENTS = ("explain", "max_tokens", "cursor")
"""Arguments that mean the same for every tool; the server's instructions describe them once, and
schemas their type.
"""
PLAIN_ARGUMENTS = {"query", "limit", "offset", "catalogue"}
"""Arguments that need no description where there are many tools; objects whose fields are declared
need none either.
"""
MOST_RESULTS = "Most results"
"""The description of an argument that bounds an answer, whatever its name; its maximum says as
much.
"""


def compact_schema(schema: dict[str, Any], *, dropped: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an equivalent, smaller schema: definitions inlined, no titles, short unions.

    `dropped` names further keywords to leave out, such as `required` of an answer.
    """
    small: dict[str, Any] = _compact(schema, schema.get("$defs", {}), (*DROPPED, *dropped))
    return small


def _compact(node: Any, definitions: dict[str, Any], dropped: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_compact(item, definitions, dropped) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[1]]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _compact({**target, **beside}, definitions, dropped)
    small = {
        key: _compact(value, definitions, dropped)
        for key, value in node.items()
        if key not in dropped
    }
    if "properties" in node:
        small.pop("description", None)  # a model's docstring is for readers of the code
        arguments = node["properties"].items()
        small["properties"] = {
            name: _compact(value, definitions, dropped) for name, value in arguments
        }
    return _short_union(small)


def _short_union(node: dict[str, Any]) -> dict[str, Any]:
    """Replace `anyOf: [X, null]` by a nullable X, or by X where null is the default and so means
    "left out".
    """
    real = [option for option in node.get("anyOf", []) if option != NULL]
    if len(real) != 1 or not isinstance(real[0].get("type"), str):
        return {key: value for key, value in node.items() if (key, value) != ("default", None)}
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    if "default" in node:
        return {**real[0], **rest}
    values = {"enum": [*real[0]["enum"], None]} if "enum" in real[0] else {}
    return {**real[0], **rest, **values, "type": [real[0]["type"], "null"]}


def bare_common(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments with those that every tool has at its end, and of these only the
    type.
    """
    arguments = schema.get("properties", {})
    own = {name: one for name, one in arguments.items() if name not in COMMON_ARGUMENTS}
    common = {
        name: {"type": arguments[name]["type"]} for name in COMMON_ARGUMENTS if name in arguments
    }
    return {**schema, "properties": {**own, **common}} if common else dict(schema)


def brief_input(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema of arguments without the keywords that say least."""
    properties = {name: _without_obvious(one) for name, one in schema.get("properties", {}).items()}
    for name, small in properties.items():
        if (
            name in PLAIN_ARGUMENTS
            or small.get("description") == MOST_RESULTS
            or "properties" in small
        ):
            small.pop("description", None)
    return {**schema, "properties": properties}


def _without_obvious(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_obvious(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    small = {}
    for key, value in node.items():
        is_long = key == "maxItems" and isinstance(value, int) and value > FEW_ITEMS
        if isinstance(value, dict | list) or not ((key, value) in OBVIOUS or is_long):
            small[key] = _without_obvious(value)
    return small


_Cut = AfterValidator(operator.itemgetter(slice(MAX_CHARS)))
SearchText = Annotated[str, _Cut]  # a search text, truncated to a bounded length
QueryText = Annotated[str, StringConstraints(strip_whitespace=True), _Cut]
"""A search text without blanks around it; a blank one finds nothing, and the answer says so."""


BARE_LIST = WithJsonSchema({"type": "array", "items": {"type": "object"}})
BARE_OBJECT = WithJsonSchema({"type": "object"})
BARE_OBJECT_OR_NULL = WithJsonSchema({"type": ["object", "null"]})
"""Schemas without detail, to keep the tool list small."""

LARGEST = 10**9  # the greatest id or offset that every database can hold

ValueT = TypeVar("ValueT")


class ToolParams(BaseModel):
    """A tool's arguments; undeclared ones are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=False
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        """Take null for an argument that may be left out as leaving it out, as clients that send
        every argument do.
        """
        if not isinstance(given, Mapping):
            return given
        if None not in given.values():
            return given
        optional = {
            field.alias or name
            for name, field in cls.model_fields.items()
            if not field.is_required()
        }
        return {
            name: value
            for name, value in given.items()
            if value is not None or name not in optional
        }

    @field_validator("*", mode="before")
    @classmethod
    def _as_declared(cls, value: Any, info: ValidationInfo) -> Any:
        """Forgive the case and separators of a choice; refuse booleans for numbers, which pydantic
        would convert.
        """
        choices, is_number = _read_declared(cls, info.field_name or "")
        values = value if isinstance(value, list) else [value]
        if is_number and bool in map(type, values):
            raise PydanticCustomError("number_type", "must be a number, not true or false")
        if not choices:
            return value
        chosen = [
            choices.get(letters_of(one), one) if isinstance(one, str) else one for one in values
        ]
        return chosen if isinstance(value, list) else chosen[0]


class ToolResult(BaseModel):
    """A tool's answer, or a part of it."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        from_attributes=True,
    )


class GenericParams(ToolParams):
    """Arguments in snake_case."""

    model_config = ConfigDict(alias_generator=None)


class GenericResult(ToolResult):
    """An answer in snake_case."""

    model_config = ConfigDict(alias_generator=None)


class NotedResult(ToolResult):
    """An answer with notes on how the call was understood; left out where there are none, and not
    in the schema.
    """

    notes: Annotated[list[str], SkipJsonSchema()] = when_any()
    unread: list[str] = Field(default_factory=list, exclude=True)
    """The catalogues that were skipped because their storage failed; such an answer is not
    cached.
    """


NOTHING_ANSWERS = "Nothing here answers this; what follows is only the nearest."
NOT_ALL_WORDS = "No record has all these words; what follows has some of them."
VERDICTS = (NOTHING_ANSWERS, NOT_ALL_WORDS)


def verdict_of(mode: SearchMode) -> str:
    """Return what is said where there is no evidence: words alone do not tell that nothing
    answers.
    """
    return NOT_ALL_WORDS if mode is SearchMode.FTS_ONLY else NOTHING_ANSWERS


def one_of(choices: type[StrEnum]) -> WithJsonSchema:
    """Return the bare schema of an argument that is one of these values."""
    return WithJsonSchema({"type": "string", "enum": [str(choice) for choice in choices]})


EvidenceName = Annotated[Evidence, one_of(Evidence)]
Relevance = Annotated[Label | None, WithJsonSchema({"type": ["string", "null"]})]


class FoundResult(NotedResult):
    """The answer of a search, with how sure it is; without evidence, its few records are only the
    nearest.
    """

    evidence: EvidenceName
    mode: SearchMode = Field(default=SearchMode.HYBRID, exclude=True)
    """The arms of the search that ran, where evidence is told of."""

    def with_evidence(self, text: str) -> str:
        """Return the text of the answer, which begins with it where nothing answers."""
        return f"{verdict_of(self.mode)}\n{text}" if self.evidence is Evidence.NONE else text


def require_argument(name: str, value: ValueT | None, purpose: str) -> ValueT:
    """Return an argument that one purpose of a tool needs; raise InputError where it is missing."""
    if value is None:
        raise InputError(f"'{name}' is missing; '{purpose}' requires it")
    return value


@lru_cache(maxsize=1_000)
def _read_declared(params: type[BaseModel], name: str) -> tuple[dict[str, str], bool]:
    """Return the choices of an argument, by their letters in lower case, and whether it takes
    numbers and no booleans.
    """
    types = list(_iter_types(params.model_fields[name].annotation))
    choices = {
        letters_of(choice): str(choice)
        for kind in types
        for choice in (kind if isinstance(kind, EnumType) else get_args(kind))
        if isinstance(choice, str)
    }
    return choices, bool not in types and (int in types or float in types)


def _iter_types(annotation: Any) -> Iterator[Any]:
    """Yield the types in an annotation such as `list[Literal["TV"]] | None`."""
    inner = () if get_origin(annotation) is Literal else get_args(annotation)
    for one in inner:
        yield from _iter_types(one)
    if not inner:
        yield annotation


class ExplainParams(ToolParams):
    """The argument of a tool that explains what it finds."""

    explain: bool = Field(default=False, description="Say why each has its score and place")


class WhyShape(ToolResult):
    """The parts of a hit's score, the parts of the score that orders the hits, and the words that
    the record lacks.
    """

    model_config = ConfigDict(alias_generator=None)

    strength: dict[str, float]
    order: dict[str, float] = when_any(dict)
    lacks: list[str] = when_any()


class Explained(ToolResult):
    """A part of an answer that has an explanation where it was asked for; not in the schema."""

    why: Annotated[WhyShape | None, SkipJsonSchema()] = when_known()

    @property
    def why_lines(self) -> list[str]:
        """The explanation as lines of text."""
        return why_lines(self.why)


class FromFile(ToolResult):
    """A part of an answer that says which file and place its text is from, where that is known; not
    in the schema.
    """

    origin: Annotated[str | None, SkipJsonSchema()] = when_known()


def shape_why(why: Why | None) -> WhyShape | None:
    """Return an explanation as it is answered."""
    return None if why is None else WhyShape(**why.told())


def why_lines(why: WhyShape | None) -> list[str]:
    """Return an explanation as lines of text; none where there is none."""
    if why is None:
        return []
    lines = []
    for name, parts in {"strength": why.strength, "order": why.order}.items():
        addends = " ".join(
            f"{'-' if part < 0 else '+'} {one} {abs(part)}" for one, part in parts.items()
        )
        if parts or name == "strength":  # as in `why strength 0.912 = base 0.114 + meaning 0.5 …`
            lines.append(
                f"why {name} {round(sum(parts.values()), DECIMALS)} = {addends.removeprefix('+ ')}"
            )
    return [*lines, *([f"lacks: {', '.join(why.lacks)}"] if why.lacks else [])]


def explanation_lines(told: Mapping[str, Any]) -> list[str]:
    """Return the explanation of one record's place, or of why it has none, as lines of text."""
    place = (
        f"number {told['rank']}, on page {told['page']}"
        if told["found"]
        else f"not found: {told['cut']}"
    )
    head = f"{told['title']} [{told['id']}] by {told['tool']}: {place}; strength {told['score']}"
    sums = WhyShape(strength=told["strength"], order=told["order"])
    return [head, *(f"- {reason}" for reason in told["because"]), *why_lines(sums)]


MOST_FIELDS = 200
MOST_VALUES = 10_000
"""The most arguments or body fields, and the most values in them: validating a million wrong ones
would take seconds and gigabytes.
"""
PROBLEMS_NAMED = 10
LONGEST_PLACE = 200

ModelT = TypeVar("ModelT", bound=BaseModel)


class InvalidParamsError(InputError):
    """Values that are not as a model declares them; `problem` says so without any of them, since
    one may be a misspelt secret.
    """

    def __init__(self, message: str, problem: str) -> None:
        super().__init__(message)
        self.problem = problem


def validate_fields(
    model: type[ModelT],
    given: Mapping[str, Any],
    *,
    noun: str = "field",
    shows_values: bool = False,
) -> ModelT:
    """Return values as a model declares them, or raise InputError; wrong ones, which may be secret,
    shown if wanted.
    """
    if len(given) > MOST_FIELDS:  # before they are validated
        raise InputError(
            f"{len(given)} {noun}s are too many; known: {', '.join(_names_at(model, ()))}"
        )
    if _has_more_values(given, MOST_VALUES):
        raise InputError(
            f"the {noun}s have more than {MOST_VALUES:,} values in all; give fewer at once"
        )
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        told, noted = (
            problems_in(error, partial(_problem, model, noun, shows_values=shows))
            for shows in (shows_values, False)
        )
        raise InvalidParamsError(told, noted) from error


def problems_in(error: ValidationError, say: Callable[[Any], str]) -> str:
    """Return the first problems in one line; `say` describes one of them."""
    found = error.errors(include_url=False)
    more = [f"and {len(found) - PROBLEMS_NAMED} more"] if len(found) > PROBLEMS_NAMED else []
    return "; ".join([*map(say, found[:PROBLEMS_NAMED]), *more])


def place_of(details: Any) -> str:
    """Return the path of a problem: field names joined by dots."""
    return ".".join(str(step) for step in details["loc"])[:LONGEST_PLACE]


def _has_more_values(given: Mapping[str, Any], most: int) -> bool:
    """Tell whether there are more values than `most`, in nested lists and objects too; stops
    counting there.
    """
    count = 0
    waiting: list[Any] = [given]
    while waiting:
        inner = waiting.pop()
        count += len(inner)
        if count > most:
            return True
        values = inner.values() if isinstance(inner, Mapping) else inner
        waiting += [value for value in values if isinstance(value, dict | list)]
    return False


def _problem(model: type[BaseModel], noun: str, details: Any, *, shows_values: bool) -> str:
    """Say what is wrong with a value, and what would be right."""
    path, place = [str(step) for step in details["loc"]], place_of(details) or f"{noun}s"
    if details["type"] == "extra_forbidden":
        known = _names_at(model, path[:-1])
        right = f"known: {', '.join(known)}" if known else "there are none"
        return f"unknown {noun} '{place}'{did_you_mean(path[-1], known)}; {right}"
    if details["type"] == "missing":
        field = model.model_fields.get(place)
        return (
            f"'{place}' is missing{f': {field.description}' if field and field.description else ''}"
        )
    if shows_values:
        return f"'{place}': {plain_words(details)}{shown_value(details['input'])}"
    has_value = details["type"] == "value_error"  # the words of a check of our own repeat it
    return f"'{place}': {'is not valid' if has_value else plain_words(details)}"


def _names_at(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """Return the names of the values in the object at this path; none where anything may be in
    it.
    """
    for step in path:
        fields = {one.alias or name: one for name, one in model.model_fields.items()}
        model = (model_in(fields[step].annotation) if step in fields else None) or model
    return [one.alias or name for name, one in model.model_fields.items()]


QUERY = "query"
BLANK = "the query is blank, so that nothing can answer it; say what to look for"


def with_query_notes(result: ToolResult, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the answer of a search with a note on its query, where it was blank or cut."""
    if (
        isinstance(result, FoundResult)
        and (note := find_query_note(arguments.get(QUERY))) is not None
    ):
        return result.model_copy(update={"notes": [note, *result.notes]})
    return result


def find_query_note(query: Any) -> str | None:
    """Return the note on a query; None where all of it was searched for."""
    size = len(query.strip()) if isinstance(query, str) else MAX_CHARS
    if not size:
        return BLANK
    return (
        f"the query has {size:,} characters; the first {MAX_CHARS:,} were searched for"
        if size > MAX_CHARS
        else None
    )
