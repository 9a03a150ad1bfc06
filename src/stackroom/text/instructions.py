"""Spans of text that are sure to speak to an assistant: a pose as a role, or a call of a tool that
changes something.

A record that says "System: you are now …" is still data. The spans are reported beside an answer,
so that a client can warn or refuse; the text itself is not changed. Two signs are looked for, in
text that is safe to show already:

- `role`: text that poses as a message of a chat (its special tokens, tags and headings, a line that
  begins with "System: you are …");
- `tool_call`: the name of a served tool that is not a read, beside an imperative or in a call that
  is written as JSON.

No list of phrases can tell an instruction from text that quotes one, so there is none (decision
33). Messages may quote text of records too: `safe_message` leaves such spans out, so that they are
not words of the server.
"""

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from stackroom.text.patterns import compose
from stackroom.text.safe import safe_line, safe_text
from stackroom.toml_text import load_packaged

ROLE = "role"
TOOL_CALL = "tool_call"
MOST_SPANS = 50  # the most spans that are reported of one answer
CHARS_BEFORE_NAME = 60  # how far before the name of a tool its imperative may be
NO_TOOLS: frozenset[str] = frozenset()

_PATTERNS = load_packaged("stackroom.text", "instruction_patterns.toml")
_ROLES, _MESSAGES = _PATTERNS["roles"].split("|"), _PATTERNS["messages"].split("|")
_POSE, _IMPERATIVE = compose(_PATTERNS, "pose"), compose(_PATTERNS, "imperative")
_TURNS = ("start_of_turn>", "end_of_turn>")
_TAGS = ("|", "<", "/", *_TURNS, "tool", "function", "invoke", "antml", *_ROLES)
_ENDS = ("]", ":", *(f" {message}" for message in _MESSAGES))
_POSE_SIGNS = {
    b"<": tuple(f"<{tag}".encode() for tag in _TAGS),
    b"inst": (b"inst]", b"instruction:"),
    b"role": (b"role'", b'role"', b'role\\"'),
    **{
        one.encode(): tuple(f"{one}{end}".encode() for end in _ENDS)
        for one in (*_ROLES, "admin", "hidden")
    },
}
"""Signs of poses in lower case, by a part that they share. Every pose contains one and most texts
contain none, so this is a quick test.
"""
_KELVIN = "\N{KELVIN SIGN}".encode()  # the one letter beyond ASCII whose lower case is in it


class Span(NamedTuple):
    """A span that addresses an assistant, in characters of a text, and its kind."""

    start: int
    end: int
    kind: str


def has_instructions(text: str, tools: Set[str] = NO_TOOLS) -> bool:
    """Tell whether a text addresses an assistant; `tools` are the names of served tools that change
    something.
    """
    return next(_iter_spans(text, tools), None) is not None


def find_instructions(text: str, tools: Set[str] = NO_TOOLS) -> list[Span]:
    """Return the spans of a text that address an assistant, in order."""
    kept: list[Span] = []
    for span in sorted(_iter_spans(text, tools), key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:  # of two that overlap, the first or longer
            kept.append(span)
    return kept[:MOST_SPANS]


def find_in_texts(texts: Sequence[str], tools: Set[str] = NO_TOOLS) -> list[tuple[int, Span]]:
    """Return the spans of several texts that address an assistant, each with the index
    of its text.
    """
    looked_at = texts if may_speak("\n".join(texts).encode("utf-8", "surrogatepass"), tools) else ()
    spans = (
        (index, span)
        for index, text in enumerate(looked_at)
        for span in find_instructions(text, tools)
    )
    return list(islice(spans, MOST_SPANS))


def may_speak(raw: bytes, tools: Set[str] = NO_TOOLS) -> bool:
    """Tell whether texts, joined or as JSON, may address an assistant; most contain no
    sign at all.
    """
    names = [name.replace("_", ".").rpartition(".")[2].encode() for name in tools]
    return _has_sign(raw) or any(map(raw.__contains__, names))


def _iter_spans(text: str, tools: Set[str]) -> Iterator[Span]:
    if _has_sign(text.encode("utf-8", "surrogatepass")):
        yield from (Span(*match.span(), ROLE) for match in _POSE.finditer(text))
    for name in _names(frozenset(tools)).finditer(text) if tools else ():
        first = max(0, name.start() - CHARS_BEFORE_NAME)
        imperative = _IMPERATIVE.search(text[first : name.start()])
        if imperative:
            yield Span(first + imperative.start(), name.end(), TOOL_CALL)


def _has_sign(raw: bytes) -> bool:
    lowered = raw.lower().replace(_KELVIN, b"k")
    signs = [signs for part, signs in _POSE_SIGNS.items() if part in lowered]
    return any(map(lowered.__contains__, chain.from_iterable(signs)))


@lru_cache(maxsize=64)
def _names(tools: frozenset[str]) -> re.Pattern[str]:
    """Return an expression for the names, with dots or underscores. A name of one plain word is
    left out, since it is no sure sign.
    """
    compound = sorted(
        re.escape(name).replace(r"\.", "[._]") for name in tools if "." in name or "_" in name
    )
    return re.compile(rf"(?<![\w.])(?:{'|'.join(compound)})(?!\w)" if compound else r"(?!)")


WITHHELD = "…"
LONGEST_QUOTE = 200
QUOTED_END = 80  # how much is quoted of a text, and of its end where it is cut: an id may be there


def safe_message(text: str) -> str:
    """Return a message that is safe to show, without the spans that read like instructions."""
    shown = safe_text(text)
    for span in reversed(find_instructions(shown)):
        shown = f"{shown[: span.start]}{WITHHELD}{shown[span.end :]}"
    return shown


def quoted(text: str) -> str:
    """Return a text of a record for quoting in a message: safe, on one line, without the middle of
    a long text.
    """
    line = safe_line(text)
    if len(line) > LONGEST_QUOTE:
        line = f"{line[: LONGEST_QUOTE - QUOTED_END]}{WITHHELD}{line[-QUOTED_END:]}"
    return safe_message(line)
