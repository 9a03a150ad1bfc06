"""Every failure a caller can see, in one tree.

ExpectedError ├── InputError          the caller's arguments or file are wrong; the message says
what would be right │   ├── SpecError       a catalogue.toml is wrong │   ├── TooLargeError   a
message is larger than the limit │   ├── UnsupportedMediaTypeError, SlowBodyError    a body has
another type, or does not come in time │   └── InvalidUrlError a URL is malformed, or must not be
fetched ├── NotFoundError       a named catalogue, record, tool or model does not exist here │   └──
UnknownToolError, UnknownResourceError      none such, or none that this caller may use ├──
UnauthenticatedError, ForbiddenError            no valid credential, or a permission lacks ├──
ConflictError       the change contradicts the present state │   └── RegressionError an update
answers worse than before, and was undone ├── RateLimitedError, OverloadedError               too
many calls of this caller, or in all; say when to retry ├── StorageError        a shelf or pack
cannot be read or written │   └── BusyError       another process holds the library's lock ├──
ModelError          the embedding model is missing, broken or of another kind ├── UnavailableError
an outside service (embedder, network) did not answer └── InterruptedByUser   Ctrl-C; everything was
left consistent
"""

import difflib
from collections.abc import Sequence


class ExpectedError(Exception):
    """A failure that was foreseen: a stable code, a message for people, and the exit and HTTP
    status it maps to.
    """

    code = "error"
    http_status = 500
    exit_code = 1
    retry_after_s: float | None = None
    """In how many seconds to retry, if known."""

    def __init__(self, message: str, *, detail: str = "") -> None:
        """`detail` is for the operator's terminal and the log, and is never sent: an address, a
        path.
        """
        super().__init__(message)
        self.message = message
        self.detail = detail

    @property
    def full_message(self) -> str:
        """The message with its detail."""
        return f"{self.message} ({self.detail})" if self.detail else self.message


class InputError(ExpectedError):
    """The caller's arguments or input file are wrong."""

    code = "invalid_input"
    http_status = 400
    exit_code = 2


class SpecError(InputError):
    """A catalogue's declaration is wrong."""

    code = "invalid_spec"


class NotFoundError(ExpectedError):
    """Something named by the caller does not exist here."""

    code = "not_found"
    http_status = 404
    exit_code = 3


class TooLargeError(InputError):
    """A message is larger than the limit."""

    code = "too_large"
    http_status = 413


class UnsupportedMediaTypeError(InputError):
    """A body is not of the content type `application/json`."""

    code = "unsupported_media_type"
    http_status = 415


class SlowBodyError(InputError):
    """The body of a request did not come in time."""

    code = "slow_body"
    http_status = 408


class InvalidUrlError(InputError):
    """A URL is malformed, or leads to an address that must not be fetched."""

    code = "invalid_url"


class UnknownToolError(NotFoundError):
    """There is no such tool, or this caller may not use it; both give the same message."""

    code = "unknown_tool"


class UnknownResourceError(NotFoundError):
    """There is no such resource, or this caller may not read it; both give the same message."""

    code = "unknown_resource"

    def __init__(self, message: str, *, uri: str) -> None:
        super().__init__(message)
        self.uri = uri


class UnauthenticatedError(ExpectedError):
    """No valid credential was given: send a bearer token or log in."""

    code = "unauthenticated"
    http_status = 401
    exit_code = 7


class ForbiddenError(ExpectedError):
    """The caller is authenticated and lacks a permission."""

    code = "forbidden"
    http_status = 403
    exit_code = 7


class ConflictError(ExpectedError):
    """The change contradicts the present state."""

    code = "conflict"
    http_status = 409
    exit_code = 8


class RegressionError(ConflictError):
    """An update of a graded catalogue answers its questions worse than before; it was undone."""

    code = "regression"


class RateLimitedError(ExpectedError):
    """The caller is over a rate limit."""

    code = "rate_limited"
    http_status = 429
    exit_code = 9

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class OverloadedError(ExpectedError):
    """The server has more calls than it can answer in time."""

    code = "overloaded"
    http_status = 503
    exit_code = 9
    retry_after_s = 1.0


class StorageError(ExpectedError):
    """A shelf, pack or library cannot be read or written."""

    code = "storage"
    http_status = 503
    exit_code = 4
    retry_after_s = 5.0


class BusyError(StorageError):
    """Another process is writing to the same catalogue."""

    code = "busy"


class ModelError(ExpectedError):
    """The embedding model is missing, damaged, or not the one the catalogue was built with."""

    code = "model"
    http_status = 503
    exit_code = 5


class UnavailableError(ExpectedError):
    """A service outside this process did not answer as it should."""

    code = "unavailable"
    http_status = 503
    exit_code = 6


class InterruptedByUser(ExpectedError):
    """The user pressed Ctrl-C; whatever was finished is kept."""

    code = "interrupted"
    exit_code = 130


def did_you_mean(word: str, known: list[str]) -> str:
    """Return ' (did you mean …?)' for a near miss among the known words, else an empty string."""
    # Comparing a word of millions of characters takes a second, and it is near no other.
    near = difflib.get_close_matches(word[:100], known, n=1, cutoff=0.6)
    return f" (did you mean '{near[0]}'?)" if near else ""


def list_some(names: Sequence[str], most: int, *, more: str = "more") -> str:
    """Return the first names of a list, and how many more there are."""
    rest = f" and {len(names) - most} {more}" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
