"""The standard streams of a command: whatever is printed, no text of a record controls the terminal.

Every command prints through these, those of catalogue packages too. Tables and progress, which have colours of their
own on a terminal, are printed to the stream inside (`terminal_stream`), with their texts made safe before.
"""

import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, TextIO, cast

from stackroom.text.safe import safe_text


class SafeStream:
    """A text stream that removes what could control a terminal; the bytes under it are cleaned too."""

    def __init__(self, stream: TextIO) -> None:
        self.inside = stream

    def __getattr__(self, name: str) -> Any:
        """Return everything else of the stream inside."""
        return getattr(self.inside, name)

    def write(self, text: str) -> int:
        """Write a text."""
        self.inside.write(safe_text(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> "SafeBytes":
        """The bytes of the stream; AttributeError where it has none."""
        return SafeBytes(self.inside, self.inside.buffer)


class SafeBytes:
    """The bytes of a safe text stream: UTF-8 text, cleaned like any other."""

    def __init__(self, stream: TextIO, raw: BinaryIO) -> None:
        self._stream = stream
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        """Return everything else of the bytes inside."""
        return getattr(self._raw, name)

    def write(self, raw: bytes) -> int:
        """Write text in UTF-8."""
        self._stream.flush()
        self._raw.write(safe_text(bytes(raw).decode("utf-8", "replace")).encode())
        return len(raw)


def install_safe_streams() -> None:
    """Make the standard output streams of this process safe."""
    if not isinstance(sys.stdout, SafeStream):
        sys.stdout = cast(TextIO, SafeStream(sys.stdout))
    if not isinstance(sys.stderr, SafeStream):
        sys.stderr = cast(TextIO, SafeStream(sys.stderr))


def terminal_stream(*, is_error: bool = False) -> TextIO:
    """Return the stream for output that has colours of its own; its texts have to be safe already."""
    stream: object = sys.stderr if is_error else sys.stdout
    return stream.inside if isinstance(stream, SafeStream) else cast(TextIO, stream)
