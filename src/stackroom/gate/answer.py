"""The answer of a tool call."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from stackroom.errors import (
    ExpectedError,
    ForbiddenError,
    OverloadedError,
    RateLimitedError,
    UnauthenticatedError,
    UnknownResourceError,
    UnknownToolError,
)
from stackroom.model.audit import Outcome
from stackroom.model.flag import Flag
from stackroom.text.messages import safe_message

REFUSALS = (UnknownToolError, UnknownResourceError, UnauthenticatedError, ForbiddenError)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Structured content, its text form, and the error of a failed call."""

    structured: dict[str, Any] | None
    text: str
    error: ExpectedError | None = None
    is_partial: bool = False
    """Whether a catalogue that could not be read was left out."""
    count: int | None = None
    """The number of records found, as the tool counts them; None where it does not."""
    flags: tuple[Flag, ...] = ()
    """The places whose text reads like an instruction."""

    @classmethod
    def of_error(cls, error: ExpectedError) -> "Answer":
        """Return the answer of a foreseen failure."""
        return cls(structured=None, text=safe_message(f"{error.code}: {error.message}"), error=error)

    def with_note(self, note: str) -> "Answer":
        """Return the answer with one note more."""
        if self.structured is None:
            return self
        structured = {**self.structured, "notes": [*self.structured.get("notes", []), note]}
        return replace(self, structured=structured, text=f"{self.text}\n{note}")

    @property
    def is_error(self) -> bool:
        """Tell whether the call failed in a foreseen way."""
        return self.error is not None

    @property
    def error_code(self) -> str | None:
        """The failure's stable code."""
        return self.error.code if self.error else None

    @cached_property
    def encoded(self) -> bytes:
        """The structured content as JSON."""
        return orjson.dumps(self.structured)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the structured content."""
        return hashlib.sha256(self.encoded).hexdigest()


def outcome_of(error: Exception | None) -> Outcome:
    """Return how a call ended, by its error."""
    if error is None:
        return Outcome.OK
    if isinstance(error, RateLimitedError):
        return Outcome.LIMITED
    if isinstance(error, OverloadedError):
        return Outcome.OVERLOADED
    if isinstance(error, REFUSALS):
        return Outcome.REFUSED
    return Outcome.ERROR if isinstance(error, ExpectedError) else Outcome.FAILED
