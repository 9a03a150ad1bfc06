"""Text that is safe to show: without control characters, terminal escapes, direction overrides and hidden characters.

Used where text leaves the process: answers, commands, log lines. Stored records are not changed. Text in any language
is returned as it is: an invisible character stays where its script or an emoji needs it. No text gets longer.

| character | stays | otherwise |
|---|---|---|
| terminal escape sequence (ESC or C1) | never | removed whole; one without an end loses its introducer |
| C0, C1, DEL | newline, tab | CR, VT, FF, NEL become a newline, others are removed |
| bidi embedding, override, isolate | never | removed: they reorder the text around them |
| LRM, RLM, ALM | one at a time, in a text with right-to-left letters | removed |
| ZWJ, ZWNJ, ZWSP, Mongolian separator | one, after a letter of a script that uses them; ZWJ in an emoji | removed |
| tag characters | in the flag of a region | removed |
| variation selector | one after a character; the supplement after an ideograph | removed |
| BOM, word joiner, invisible operators, fillers | jamo fillers beside jamo | removed |
| half of a surrogate pair | never | U+FFFD |

`hide_places` also takes the places of the server out of a message: callers need to know what is wrong, and not where
it is on the disk. The paths of this server's own interface (`/v1/…`) stay, and so do relative paths.
`shorten` cuts a text to a length. `SafeStream` is a standard stream on which no text of a record controls the terminal.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import PurePath
from typing import Any, BinaryIO, TextIO, cast

import orjson

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_BREAKS = r"\r\x0b\x0c\x85"
_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_BIDI = r"\u202a-\u202e\u2066-\u2069"
_MARKS = r"\u061c\u200e\u200f"
_JOINERS = r"\u200b-\u200d\u180e"
_NEVER = r"\u2060-\u2065\u206a-\u206f\ufeff\u3164\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
_FILLERS = r"\u115f\u1160"
_SELECTORS = r"\ufe00-\ufe0f"
_SUPPLEMENT = r"\U000e0100-\U000e01ef"
_TAGS = r"\U000e0000-\U000e007f"
_HALVES = r"\ud800-\udfff"
_SUSPECTS = f"{_CONTROL}{_BIDI}{_MARKS}{_JOINERS}{_NEVER}{_FILLERS}{_SELECTORS}{_SUPPLEMENT}{_TAGS}{_HALVES}"

_SUSPECT = re.compile(f"[{_SUSPECTS}]")
"""A suspect may still be one that stays."""
_ASCII_SUSPECTS = bytes([*range(9), *range(11, 32), 127])
_ASCII = bytes(range(128))

_INSIDE = r"[^\x00-\x1f\x7f-\x9f]*"
_ESCAPES = (
    rf"(?:\x1b\]|\x9d){_INSIDE}(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links, the clipboard
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f]){_INSIDE}(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, the cursor
    r"|\x1b[ -/]*[0-~]"  # others of two and more characters
)

_RIGHT_TO_LEFT = r"\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001eeff"
_JOINED_SCRIPTS = (  # Arabic to Tibetan, Myanmar, Khmer, Mongolian, scripts of South and South-East Asia
    r"\u0600-\u109f\u1700-\u180d\u180f-\u1cff\ua800-\ua8ff\ua930-\uaadf\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    r"\U00010a00-\U00010a5f\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_EMOJI = r"\u00a9\u00ae\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_IDEOGRAPHS = r"\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_NEEDED = (
    rf"\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{{1,6}}\U000e007f"
    rf"|(?<=[{_JOINED_SCRIPTS}])[{_JOINERS}]"
    rf"|(?<=[{_EMOJI}{_SELECTORS}\u20e3])\u200d(?=[{_EMOJI}])"
    rf"|(?<=[^\s{_SELECTORS}{_SUPPLEMENT}])[{_SELECTORS}]"
    rf"|(?<=[{_IDEOGRAPHS}])[{_SUPPLEMENT}]"
    rf"|(?<=[\u1100-\u11ff])[{_FILLERS}]|[{_FILLERS}](?=[\u1100-\u11ff])"
)
_MARKED = rf"(?<![{_MARKS}])[{_MARKS}]"

_UNSAFE = rf"(?P<escape>{_ESCAPES})|(?P<pair>\r\n)|(?P<break>[{_BREAKS}])|(?P<half>[{_HALVES}])|[{_SUSPECTS}]"
_HAS_RIGHT_TO_LEFT = re.compile(f"[{_RIGHT_TO_LEFT}]")

_LINE_ENDS = re.compile(r"[ \t]*[\n\u2028\u2029][\s\u2028\u2029]*")
_ESCAPED = re.compile(rb"\\(?:u00[01]|[bfr])")
"""Suspects that are escaped in a JSON text."""


def safe_text(text: str) -> str:
    """Return a text without characters that control a terminal, reorder text or hide it."""
    if is_safe(text):
        return text
    kept = f"{_NEEDED}|{_MARKED}" if _HAS_RIGHT_TO_LEFT.search(text) else _NEEDED
    return _parts(kept).sub(_replaced, text)


def safe_line(text: str) -> str:
    """Return a safe text on one line: its line ends become one space each."""
    return _LINE_ENDS.sub(" ", safe_text(text))


def is_safe(text: str | bytes) -> bool:
    """Tell whether a text has no suspect character, in one pass; one that has may still be safe as it is."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text  # ten times as fast to search
    if len(raw.translate(None, _ASCII_SUSPECTS)) < len(raw):
        return False
    return raw.isascii() or _SUSPECT.search(raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")) is None


def safe_value(value: Any) -> Any:
    """Return a JSON value with every text in it safe, keys too; other values are left as they are."""
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, dict):
        return {safe_text(key) if isinstance(key, str) else key: safe_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [safe_value(inner) for inner in value]
    return value


def safe_json(text: str, *, option: int = 0) -> str:
    """Return a JSON text with every text in it safe; `option` is that of orjson, for one that has to be rewritten."""
    if is_safe_json(text.encode("utf-8", "surrogatepass")):
        return text
    return orjson.dumps(safe_value(orjson.loads(text)), option=option).decode()


def is_safe_json(raw: bytes) -> bool:
    """Tell whether a JSON text has no suspect character, escaped or not; one that has may still be safe as it is."""
    return (b"\\" not in raw or _ESCAPED.search(raw) is None) and is_safe(raw)


@cache
def _parts(kept: str) -> re.Pattern[str]:
    return re.compile(f"(?P<kept>{kept})|{_UNSAFE}")


_REPLACEMENTS = {"break": "\n", "pair": "\n", "half": REPLACEMENT}


def _replaced(part: re.Match[str]) -> str:
    return part[0] if part.lastgroup == "kept" else _REPLACEMENTS.get(part.lastgroup or "", "")


_PART = r"[^\s/'\"`,;:()<>|\[\]{}]+"
_PATH = re.compile(rf"(?<![\w.:/~%-])/(?!v1/|health/|\.well-known/)(?:{_PART}/)+({_PART})?")
_ADDRESS = re.compile(r"(?: at)? [a-z]+(?:\+[a-z]+)?://[^\s'\"`,;()<>]*[^\s'\"`,;:()<>.]")


def hide_places(text: str) -> str:
    """Return a message with absolute paths cut to their last part, and without the addresses of other services."""
    return _ADDRESS.sub("", _PATH.sub(lambda found: found[1] or "a folder", text))


def hider_of(folders: Sequence[PurePath]) -> Callable[[str], str]:
    """Return `hide_places` with these folders known, whatever characters are in their names."""
    known = sorted({str(folder) for folder in folders}, key=len, reverse=True)

    def hide(text: str) -> str:
        for folder in known:
            text = text.replace(f"{folder}/", "").replace(folder, "the library")
        return hide_places(text)

    return hide


_LAST_WORD = re.compile(r"\s+\S*$")


def shorten(text: str, chars: int) -> str:
    """Return a text cut at a blank before so many characters, with a mark where something was left out."""
    if len(text) <= chars:
        return text
    start = max(0, chars - 50)  # where most last words begin: the rest need not be looked through
    end = _LAST_WORD.sub("", text[start : chars + 1])
    whole_words = text[:start] + end if 0 < len(end) <= chars - start else _LAST_WORD.sub("", text[: chars + 1])
    return f"{whole_words[:chars] or text[:chars]} …"


class SafeStream:
    """A text stream that removes what could control a terminal; the bytes under it are cleaned too."""

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
        """The bytes of the stream; AttributeError where it has none."""
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
    """Return the stream for output that has colours of its own; its texts have to be safe already."""
    stream: object = sys.stderr if is_error else sys.stdout
    return stream.inside if isinstance(stream, SafeStream) else cast(TextIO, stream)
