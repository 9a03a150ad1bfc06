"""Sizes of the chunks of an HTTP body, which the parser does not tell.

The parser takes any size of 64 bits, and then waits for as many bytes.
"""

import re

MOST_DIGITS = 8
"""The most digits of a size that is worth waiting for, in hexadecimal."""
_SIZE = re.compile(rb"0*([0-9A-Fa-f]*)")


class ChunkSizes:
    """Follows the chunks of one body."""

    def __init__(self) -> None:
        self._left = 0
        """The bytes of the present chunk that are still to come, with its line end."""
        self._line = b""
        self._is_over = False

    def is_absurd(self, data: bytes) -> bool:
        """Follow the next bytes of the body; tell whether a chunk is longer than any body could be."""
        at = 0
        while at < len(data) and not self._is_over:
            if self._left:
                step = min(self._left, len(data) - at)
                self._left -= step
                at += step
                continue
            end = data.find(b"\n", at)
            self._line += data[at : len(data) if end < 0 else end][: MOST_DIGITS * 4]
            found = _SIZE.match(self._line)
            if found is not None and len(found[1]) > MOST_DIGITS:
                return True
            if end < 0:
                return False
            self._begin_chunk(int((found and found[1]) or b"0", 16))
            at = end + 1
        return False

    def _begin_chunk(self, size: int) -> None:
        self._line = b""
        self._is_over = size == 0
        self._left = size + 2
