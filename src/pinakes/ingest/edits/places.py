"""The places of requests in a caller's arguments, which messages about a batch name."""

import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pinakes.errors import ExpectedError

ARGUMENTS = ("action", "kind", "id", "fields")
PROBLEMS_NAMED = 10
_BEGINNING = re.compile(r"'([^']*)'")

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Place:
    """The path of a request in the arguments, as `changes.3`, and that of its fields, as `changes.3.fields`."""

    request: str = ""
    fields: str = ""

    def locate(self, message: str, fields: Container[str]) -> str:
        """Return a message with the path of the argument or field that it begins with, as 'kind' or 'year'."""
        begun = _BEGINNING.match(message)
        subject = begun[1] if begun else ""
        if not self.request or subject.startswith(self.request):
            return message
        if begun and subject in fields:
            return f"'{self.fields}.{subject}'{message[begun.end() :]}"
        if begun and subject in ARGUMENTS:
            return f"'{self.request}.{subject}'{message[begun.end() :]}"
        return f"'{self.request}': {message}"


WHOLE_REQUEST = Place()
"""The place of a request that is all of the arguments; messages name its fields alone."""


def place_field(place: Place, name: str, message: str) -> str:
    """Return a message about a field with the field's path before it."""
    if not place.request:
        return message
    own = f"'{name}'"
    rest = message.removeprefix(own) if message.startswith(own) else f": {message}"
    return f"'{place.fields}.{name}'{rest}"


def run_each(
    items: Iterable[ItemT],
    step: Callable[[ItemT], ResultT],
    *,
    place_of: Callable[[ItemT], Place],
    fields: Container[str],
) -> list[ResultT]:
    """Take a step for each item, and return what each comes to; raise one error with the problems of all."""
    results: list[ResultT] = []
    refused: list[ExpectedError] = []
    for item in items:
        try:
            results.append(step(item))
        except ExpectedError as error:
            error.message = place_of(item).locate(error.message, fields)
            refused.append(error)
    if refused:
        more = len(refused) - PROBLEMS_NAMED
        named = [error.message for error in refused[:PROBLEMS_NAMED]]
        raise type(refused[0])("; ".join([*named, *([f"and {more} more"] if more > 0 else [])])) from refused[0]
    return results
