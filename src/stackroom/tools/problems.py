"""Validation errors as one message, short however much is wrong, and notes on blank and long queries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from stackroom.errors import InputError, did_you_mean
from stackroom.text.analyser import MAX_CHARS
from stackroom.text.validation_words import plain_words, shown_value
from stackroom.tools.schema import model_in
from stackroom.tools.spec import FoundResult, ToolResult, ToolSpec

MOST_FIELDS = 200
MOST_VALUES = 10_000
"""The most arguments or body fields, and the most values in them: validating a million wrong ones would take seconds
and gigabytes."""
PROBLEMS_NAMED = 10
LONGEST_PLACE = 200

ModelT = TypeVar("ModelT", bound=BaseModel)


def require_few(given: Mapping[str, Any], what: str, *, known: Sequence[str]) -> None:
    """Refuse too many arguments or fields, or values in them, before they are validated."""
    if len(given) > MOST_FIELDS:
        raise InputError(f"{len(given)} {what} are too many; known: {', '.join(known)}")
    if _has_more_values(given, MOST_VALUES):
        raise InputError(f"the {what} have more than {MOST_VALUES:,} values in all; give fewer at once")


def validate_arguments(tool: ToolSpec, arguments: Mapping[str, Any]) -> BaseModel:
    """Return a call's arguments as the tool declares them, or raise InputError."""
    require_few(arguments, "arguments", known=list(tool.input_schema["properties"]))
    try:
        return tool.params.model_validate(dict(arguments))
    except ValidationError as error:
        raise refusal_of(error, lambda details: _problem(tool, details)) from error


def validate_fields(model: type[ModelT], given: Mapping[str, Any]) -> ModelT:
    """Return values as a model declares them, or raise InputError; it repeats no value, which may be secret."""
    require_few(given, "fields", known=list(model.model_fields))
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise refusal_of(error, lambda details: field_problem(model, details)) from error


def field_problem(model: type[BaseModel], details: Any) -> str:
    """Say what is wrong with a field, and what would be right."""
    place, known = place_of(details), list(model.model_fields)
    if details["type"] == "extra_forbidden":
        return f"unknown field '{place[:80]}'{did_you_mean(place, known)}; known: {', '.join(known)}"
    if details["type"] == "missing":
        description = model.model_fields[place].description if place in known else None
        return f"'{place}' is missing{f': {description}' if description else ''}"
    return f"'{place}': {plain_words(details)}"


def refusal_of(error: ValidationError, say: Callable[[Any], str]) -> InputError:
    """Return the error that names the first problems; `say` describes one of them."""
    found = error.errors(include_url=False)
    more = [f"and {len(found) - PROBLEMS_NAMED} more"] if len(found) > PROBLEMS_NAMED else []
    return InputError("; ".join([*map(say, found[:PROBLEMS_NAMED]), *more]))


def place_of(details: Any) -> str:
    """Return the path of a problem: field names joined by dots."""
    return ".".join(str(step) for step in details["loc"])[:LONGEST_PLACE]


def _has_more_values(given: Mapping[str, Any], most: int) -> bool:
    """Tell whether there are more values than `most`, in nested lists and objects too; stops counting there."""
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


def _problem(tool: ToolSpec, details: Any) -> str:
    """Say what is wrong with an argument, and what would be right."""
    path = [str(step) for step in details["loc"]]
    place = place_of(details) or "arguments"
    if details["type"] == "extra_forbidden":
        known = _arguments_at(tool.params, path[:-1])
        right = f"known: {', '.join(known)}" if known else "there are none"
        return f"unknown argument '{place}'{did_you_mean(path[-1], known)}; {right}"
    if details["type"] == "missing":
        return f"'{place}' is missing"
    return f"'{place}': {plain_words(details)}{shown_value(details['input'])}"


def _arguments_at(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """Return the names of the arguments in the object at this path; none where anything may be in it."""
    for step in path:
        fields = {one.alias or name: one for name, one in model.model_fields.items()}
        inner = model_in(fields[step].annotation) if step in fields else None
        if inner is not None:
            model = inner
    return [one.alias or name for name, one in model.model_fields.items()]


QUERY = "query"
BLANK = "the query is blank, so that nothing can answer it; say what to look for"


def with_query_notes(result: ToolResult, arguments: Mapping[str, Any]) -> ToolResult:
    """Return the answer of a search with a note on its query, where it was blank or cut."""
    note = find_query_note(arguments.get(QUERY)) if isinstance(result, FoundResult) else None
    if note is None or not isinstance(result, FoundResult):
        return result
    return result.model_copy(update={"notes": [note, *result.notes]})


def find_query_note(query: Any) -> str | None:
    """Return the note on a query; None where all of it was searched for."""
    if not isinstance(query, str):
        return None
    if not query.strip():
        return BLANK
    size = len(query.strip())
    return f"the query has {size:,} characters; the first {MAX_CHARS:,} were searched for" if size > MAX_CHARS else None
