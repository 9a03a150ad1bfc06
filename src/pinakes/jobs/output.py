"""The output of a job, of which the end is kept within a bound."""

from collections import deque

from pinakes.control.database.tables import storable

MOST_OUTPUT_BYTES = 64 * 1024
MOST_MESSAGE = 500


class OutputTail:
    """The last lines of output, as many as fit. Not thread-safe."""

    def __init__(self, *, most_bytes: int = MOST_OUTPUT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lines: deque[bytes] = deque()
        self._kept_bytes = 0
        self.dropped_bytes = 0
        """Bytes of output before the kept part."""

    def write(self, text: str) -> None:
        """Append lines; the oldest are dropped where there is no room."""
        for line in storable(text).splitlines() or [""]:
            self._add(line.encode())

    def text(self) -> str:
        """Return the kept part."""
        return b"".join(self._lines).decode()

    def _add(self, line: bytes) -> None:
        whole_characters = line[: self._most_bytes // 2].decode("utf-8", "ignore").encode()
        kept = whole_characters + b"\n"
        self.dropped_bytes += len(line) - len(whole_characters)
        self._lines.append(kept)
        self._kept_bytes += len(kept)
        while self._kept_bytes > self._most_bytes:
            oldest = self._lines.popleft()
            self._kept_bytes -= len(oldest)
            self.dropped_bytes += len(oldest)


def shortened(text: str, most: int = MOST_MESSAGE) -> str:
    """Return a storable text, cut to a length."""
    whole = storable(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"
