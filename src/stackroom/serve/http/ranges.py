"""Conditional requests and byte ranges of a file (RFC 9110, sections 13 and 14)."""

import re
from dataclasses import dataclass
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime

from starlette.datastructures import Headers

from stackroom.tools.media import MediaFile

NOT_MODIFIED = 304
PRECONDITION_FAILED = 412
ANY = "*"
_SINGLE_RANGE = re.compile(r"bytes=\s*([0-9]{0,40})-([0-9]{0,40})\s*", re.IGNORECASE)
_ETAG = re.compile(r'(W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class Part:
    """A byte range of a file, `end` exclusive; an empty one is not satisfiable."""

    first: int
    end: int

    @property
    def size_bytes(self) -> int:
        """The number of bytes."""
        return max(self.end - self.first, 0)


def etag_of(file: MediaFile) -> str:
    """Return the entity tag of a file, from its time and size."""
    return f'"{int(file.modified_at * 1_000_000):x}-{file.size_bytes:x}"'


def last_modified_of(file: MediaFile) -> str:
    """Return a file's modification time as an HTTP date."""
    return formatdate(file.modified_at, usegmt=True)


def find_refusal(headers: Headers, file: MediaFile) -> int | None:
    """Return 412 or 304 where a request's conditions say so; None where the file is to be sent."""
    changed_at = int(file.modified_at)
    if_match, unchanged_since = headers.get("if-match"), _find_time(headers, "if-unmodified-since")
    if if_match is not None:
        has_changed = not _lists_etag(if_match, file, with_weak=False)
    else:
        has_changed = unchanged_since is not None and changed_at > unchanged_since
    if has_changed:
        return PRECONDITION_FAILED
    if_none_match, changed_since = headers.get("if-none-match"), _find_time(headers, "if-modified-since")
    if if_none_match is not None:
        is_current = _lists_etag(if_none_match, file, with_weak=True)
    else:
        is_current = changed_since is not None and changed_at <= changed_since
    return NOT_MODIFIED if is_current else None


def find_part(headers: Headers, file: MediaFile) -> Part | None:
    """Return the requested range; None for the whole file.

    The whole file is also the answer to a malformed header, to several ranges, and where `If-Range` does not match.
    """
    found = _SINGLE_RANGE.fullmatch(headers.get("range", "").strip())
    if found is None or not any(found.groups()) or not _matches_if_range(headers, file):
        return None
    first, last = found.groups()
    size = file.size_bytes
    if not first:
        return Part(max(size - int(last), 0), size)
    if last and int(last) < int(first):
        return None
    return Part(int(first), min(int(last) + 1, size) if last else size)


def _matches_if_range(headers: Headers, file: MediaFile) -> bool:
    known = headers.get("if-range")
    return known is None or known in (etag_of(file), last_modified_of(file))


def _lists_etag(listed: str, file: MediaFile, *, with_weak: bool) -> bool:
    """Tell whether a list of entity tags includes that of a file."""
    if listed.strip() == ANY:
        return True
    return any(tag == etag_of(file) for weak, tag in _ETAG.findall(listed) if with_weak or not weak)


def _find_time(headers: Headers, name: str) -> float | None:
    """Return the time of a header in seconds since 1970; None where it is not a valid date."""
    try:
        moment = parsedate_to_datetime(headers.get(name, ""))
    except (ValueError, OverflowError):  # not a date; out of range
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
