"""Text that is safe to show: without control characters, terminal escapes, direction overrides and
hidden characters.

Used where text leaves the process: answers, commands, log lines. Stored records are not changed.
Text in any language is returned as it is: an invisible character stays where its script or an emoji
needs it. No text gets longer. What is removed, and where it stays, is in `safe_patterns.toml`.

`hide_places` also takes the places of the server out of a message: callers need to know what is
wrong, and not where it is on the disk. The paths of this server's own interface (`/v1/…`) stay, and
so do relative paths. `shorten` cuts a text to a length. `SafeStream` is a standard stream on which
no text of a record controls the terminal.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any, BinaryIO, TextIO, cast

import orjson

from stackroom.text.patterns import compose
from stackroom.toml_text import load_packaged

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_REPLACEMENTS = {"break": "\n", "pair": "\n", "half": REPLACEMENT}
_pattern = partial(compose, load_packaged("stackroom.text", "safe_patterns.toml"))
_SUSPECT, _PARTS, _MARKED_PARTS, _RIGHT_TO_LEFT = map(
    _pattern, ("suspect", "parts", "marked_parts", "right_to_left")
)
_LINE_ENDS, _PATH, _ADDRESS, _LAST_WORD = map(
    _pattern, ("line_ends", "path", "address", "last_word")
)
_ASCII_SUSPECTS = bytes([*range(9), *range(11, 32), 127])
_ASCII = bytes(range(128))

_ESCAPED = re.compile(rb"\\(?:u00[01]|[bfr])")  # suspects that are escaped in a JSON text


def safe_text(text: str) -> str:
    """Return a text without characters that control a terminal, reorder text or hide it."""
    if is_safe(text):
        return text
    parts = _MARKED_PARTS if _RIGHT_TO_LEFT.search(text) else _PARTS
    return parts.sub(lambda part: part["kept"] or _REPLACEMENTS.get(part.lastgroup or "", ""), text)


def safe_line(text: str) -> str:
    """Return a safe text on one line: its line ends become one space each."""
    return _LINE_ENDS.sub(" ", safe_text(text))


def is_safe(text: str | bytes) -> bool:
    """Tell whether a text has no suspect character, in one pass; a text with one may
    still be safe.
    """
    # ten times as fast to search
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw.translate(None, _ASCII_SUSPECTS)) < len(raw):
        return False
    return (
        raw.isascii()
        or _SUSPECT.search(raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")) is None
    )


def safe_value(value: Any) -> Any:
    """Return a JSON value with every text in it safe, keys too; other values are left as they
    are.
    """
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, dict):
        return {
            safe_text(key) if isinstance(key, str) else key: safe_value(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [safe_value(inner) for inner in value]
    return value


def safe_json(text: str, *, option: int = 0) -> str:
    """Return a JSON text with every text in it made safe; `option` is passed to orjson if it has to
    be rewritten.
    """
    if is_safe_json(text.encode("utf-8", "surrogatepass")):
        return text
    return orjson.dumps(safe_value(orjson.loads(text)), option=option).decode()


def is_safe_json(raw: bytes) -> bool:
    """Tell whether a JSON text has no suspect character, escaped or not; a text with one may still
    be safe.
    """
    return (b"\\" not in raw or _ESCAPED.search(raw) is None) and is_safe(raw)


def hide_places(text: str) -> str:
    """Return a message with absolute paths cut to their last part, and without the addresses of
    other services.
    """
    return _ADDRESS.sub("", _PATH.sub(lambda found: found[1] or "a folder", text))


def hider_of(folders: Sequence[PurePath]) -> Callable[[str], str]:
    """Return `hide_places` for messages that may name these folders, whatever characters are in
    their names.
    """
    known = sorted({str(folder) for folder in folders}, key=len, reverse=True)

    def hide(text: str) -> str:
        for folder in known:
            text = text.replace(f"{folder}/", "").replace(folder, "the library")
        return hide_places(text)

    return hide


def shorten(text: str, chars: int) -> str:
    """Return a text cut at a blank before so many characters, with a mark where something was left
    out.
    """
    if len(text) <= chars:
        return text
    start = max(0, chars - 50)  # where most last words begin: the rest need not be looked through
    end = _LAST_WORD.sub("", text[start : chars + 1])
    whole_words = (
        text[:start] + end
        if 0 < len(end) <= chars - start
        else _LAST_WORD.sub("", text[: chars + 1])
    )
    return f"{whole_words[:chars] or text[:chars]} …"


class SafeStream:
    """A text stream that removes what could control a terminal; the bytes under it are cleaned
    too.
    """

    def __init__(self, stream: TextIO) -> None:
        self.inside = stream

    def __getattr__(self, name: str) -> Any:
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
        """The bytes of the stream; AttributeError if it has none."""
        return SafeBytes(self.inside, self.inside.buffer)


class SafeBytes:
    """The bytes of a safe text stream: UTF-8 text, cleaned like any other."""

    def __init__(self, stream: TextIO, raw: BinaryIO) -> None:
        self._stream = stream
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def write(self, raw: bytes) -> int:
        """Write text in UTF-8."""
        self._stream.flush()
        self._raw.write(safe_text(bytes(raw).decode("utf-8", "replace")).encode())
        return len(raw)


def install_safe_streams() -> None:
    """Make the standard output streams of this process safe."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, SafeStream):
            setattr(sys, name, SafeStream(stream))


def terminal_stream(*, is_error: bool = False) -> TextIO:
    """Return the stream for coloured output; its texts must be safe already."""
    stream: object = sys.stderr if is_error else sys.stdout
    return stream.inside if isinstance(stream, SafeStream) else cast(TextIO, stream)
