"""What of a file a request asks for (RFC 9110, sections 13 and 14): nothing new, a single range, or the whole."""

import re
from dataclasses import dataclass
from datetime import UTC
from email.utils import formatdate, parsedate_to_datetime

from starlette.datastructures import Headers

from pinakes.tools.media import MediaFile

NOT_MODIFIED = 304
PRECONDITION_FAILED = 412
ANY = "*"
_SINGLE_RANGE = re.compile(r"bytes=\s*([0-9]{0,40})-([0-9]{0,40})\s*", re.IGNORECASE)
_ETAG = re.compile(r'(W/)?("[^"]*")')


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a file: from the first until before the end. An empty one cannot be had."""

    first: int
    end: int

    @property
    def size_bytes(self) -> int:
        """How many bytes that are."""
        return max(self.end - self.first, 0)


def etag_of(file: MediaFile) -> str:
    """Return what stands for the content of a file."""
    return f'"{int(file.modified_at * 1_000_000):x}-{file.size_bytes:x}"'


def last_modified_of(file: MediaFile) -> str:
    """Return when a file was changed last, as headers have it."""
    return formatdate(file.modified_at, usegmt=True)


def find_refusal(headers: Headers, file: MediaFile) -> int | None:
    """Return the status of a request whose conditions a file does not meet; None where it is to be served."""
    changed_at = int(file.modified_at)
    wanted, unchanged_since = headers.get("if-match"), _moment(headers, "if-unmodified-since")
    if wanted is not None:
        is_another = not _names(wanted, file, with_weak=False)
    else:
        is_another = unchanged_since is not None and changed_at > unchanged_since
    if is_another:
        return PRECONDITION_FAILED
    had, changed_since = headers.get("if-none-match"), _moment(headers, "if-modified-since")
    if had is not None:
        is_had = _names(had, file, with_weak=True)
    else:
        is_had = changed_since is not None and changed_at <= changed_since
    return NOT_MODIFIED if is_had else None


def find_part(headers: Headers, file: MediaFile) -> Part | None:
    """Return the part that is asked for; None for the whole.

    The whole is also the answer to what is not understood, to several ranges, and where the file is not any more the
    one that the caller has the rest of.
    """
    found = _SINGLE_RANGE.fullmatch(headers.get("range", "").strip())
    if found is None or not any(found.groups()) or not _is_same(headers, file):
        return None
    first, last = found.groups()
    size = file.size_bytes
    if not first:
        return Part(max(size - int(last), 0), size)
    if last and int(last) < int(first):
        return None
    return Part(int(first), min(int(last) + 1, size) if last else size)


def _is_same(headers: Headers, file: MediaFile) -> bool:
    known = headers.get("if-range")
    return known is None or known in (etag_of(file), last_modified_of(file))


def _names(listed: str, file: MediaFile, *, with_weak: bool) -> bool:
    """Tell whether a list of entity tags has that of a file."""
    if listed.strip() == ANY:
        return True
    return any(tag == etag_of(file) for weak, tag in _ETAG.findall(listed) if with_weak or not weak)


def _moment(headers: Headers, name: str) -> float | None:
    """Return the seconds from 1970 to the moment that a header names; what is no moment is passed over."""
    try:
        moment = parsedate_to_datetime(headers.get(name, ""))
    except (ValueError, OverflowError):  # no date; a number that no date has
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
