"""The part of a file that a request asks for (RFC 9110, section 14): a single range, or the whole."""

import re
from dataclasses import dataclass
from email.utils import formatdate

from starlette.datastructures import Headers

from pinakes.tools.media import MediaFile

_SINGLE_RANGE = re.compile(r"bytes=\s*([0-9]{0,40})-([0-9]{0,40})\s*", re.IGNORECASE)


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
    return known is None or known in (etag_of(file), formatdate(file.modified_at, usegmt=True))
