"""What is wrong with what a client sent, in one message that stays short however much is wrong."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from pinakes.errors import InputError

MOST_FIELDS = 200
MOST_VALUES = 10_000
"""How many arguments, or fields of a body, are looked at, and how many values in them: a million wrong ones would take
seconds, and gigabytes, to be told apart."""
PROBLEMS_NAMED = 10
LONGEST_PLACE = 200


def require_few(given: Mapping[str, Any], what: str, *, known: Sequence[str]) -> None:
    """Refuse far too many arguments or fields, or values in them, before each of them is looked at."""
    if len(given) > MOST_FIELDS:
        raise InputError(f"{len(given)} {what} are too many; known: {', '.join(known)}")
    if _has_more_values(given, MOST_VALUES):
        raise InputError(f"the {what} have more than {MOST_VALUES:,} values in all; give fewer at once")


def refusal_of(error: ValidationError, say: Callable[[Any], str]) -> InputError:
    """Return the error that names the first problems; `say` tells what one of them is."""
    found = error.errors(include_url=False)
    more = [f"and {len(found) - PROBLEMS_NAMED} more"] if len(found) > PROBLEMS_NAMED else []
    return InputError("; ".join([*map(say, found[:PROBLEMS_NAMED]), *more]))


def place_of(details: Any) -> str:
    """Return where a problem is: the names of the fields that lead there."""
    return ".".join(str(step) for step in details["loc"])[:LONGEST_PLACE]


def message_of(details: Any) -> str:
    """Return what is wrong there."""
    return str(details["msg"]).removeprefix("Value error, ")


def _has_more_values(given: Mapping[str, Any], most: int) -> bool:
    """Tell whether there are more values than these, within lists and objects too; no more than these are visited."""
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
