"""Shared by all HTTP clients: certificates, user agent, retried statuses, Retry-After, descriptions of failures."""

import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache

import httpx

from stackroom import __version__

USER_AGENT = f"stackroom/{__version__}"
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})


@cache
def load_certificates() -> ssl.SSLContext:
    """Return the trusted certificates, loaded once: loading takes longer than a request on loopback."""
    return httpx.create_ssl_context()


def describe_failure(error: Exception) -> str:
    """Describe a failure as a predicate of which the server is the subject."""
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return "cannot be reached"
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return f"ended its answer before it was whole ({error})"
    return f"could not be read ({str(error) or type(error).__name__})"


def read_retry_after(text: str, now: datetime) -> float:
    """Return the seconds of a Retry-After header, given as seconds or as a date; 0 where it is missing or invalid."""
    if text.strip().isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return 0.0
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((aware - now).total_seconds(), 0.0)
