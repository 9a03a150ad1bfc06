"""Reading a part of a resource: `?max_tokens=N&cursor=C` at the end of its address.

A text is cut at the end of a line, and a list between its items. Put together, the parts are the whole. The first line
of a cut text says which part it is and where the rest is; a text of which the own first line looks so comes after such
a line as well, so the first line is never mistaken.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from stackroom.errors import InputError
from stackroom.tools.budget import BYTES_A_TOKEN, DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS, json_text, shorten_value
from stackroom.tools.resources.resource import ContentList, ResourceContent

JSON = "application/json"
MARK = "[stackroom:"
QUERY = re.compile(r"\w+=[^&]*(?:&\w+=[^&]*)*")
POSITION = re.compile(r"[0-9]{1,15}")
KNOWN = ("max_tokens", "cursor")
HEAD_BYTES = 120
"""Room for what is said about a part, besides the address of the rest."""
ITEM_LENGTHS = (600, 240, 120, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWindow:
    """The part of a resource that a read asks for."""

    address: str
    max_tokens: int | None = None
    cursor: str | None = None

    @property
    def size_bytes(self) -> int:
        """The most bytes of the part."""
        return (self.max_tokens or DEFAULT_TOKENS) * BYTES_A_TOKEN

    @property
    def start(self) -> int:
        """The number of characters or values that were read already."""
        return parse_position(self.cursor) or 0

    def rest(self, cursor: str) -> str:
        """Return the address of what follows."""
        budget = f"max_tokens={self.max_tokens}&" if self.max_tokens else ""
        return f"{self.address}?{budget}cursor={quote(cursor, safe=':')}"


def split_address(uri: str) -> tuple[str, str]:
    """Return an address without its query, and the query; a question mark in a title is no query."""
    address, _, query = uri.partition("?")
    return (address, query) if QUERY.fullmatch(query) else (uri, "")


def parse_window(address: str, query: str) -> ReadWindow:
    """Return the part that a query asks for; InputError names what is wrong in it."""
    pairs = [part.partition("=") for part in query.split("&")] if query else []
    values = {name: unquote(value) for name, _, value in pairs}
    for name in values:
        if name not in KNOWN:
            raise InputError(f"unknown '{name[:60]}' in the address of a resource; known: {', '.join(KNOWN)}")
    if len(values) < len(pairs):
        raise InputError("a part of the address is given twice; give 'max_tokens' and 'cursor' once each")
    return ReadWindow(address=address, max_tokens=_parse_tokens(values), cursor=values.get("cursor"))


def _parse_tokens(values: dict[str, str]) -> int | None:
    text = values.get("max_tokens")
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}", text) or not LEAST_TOKENS <= int(text) <= MOST_TOKENS:
        raise InputError(
            f"'max_tokens' must be a whole number from {LEAST_TOKENS} to {MOST_TOKENS} (given: '{text[:40]}')"
        )
    return int(text)


def fit_content(content: ResourceContent | ContentList, window: ReadWindow, *, is_file: bool) -> ResourceContent:
    """Return the part of a resource that a read asks for."""
    if isinstance(content, ContentList):
        return _fit_list(content, window)
    is_asked = window.max_tokens is not None or window.cursor is not None
    if content.text is None:
        if is_asked:
            raise InputError(f"'max_tokens' and 'cursor' are for texts; this is {content.mime_type}, and comes whole")
        return content
    if is_file and not is_asked:
        return content
    if window.start == 0 and len(content.text.encode()) <= window.size_bytes and not content.text.startswith(MARK):
        return content
    return _fit_text(content, window)


def parse_position(cursor: str | None) -> int | None:
    """Return the position that a cursor states; InputError for one that is none."""
    if cursor is None:
        return None
    if not POSITION.fullmatch(cursor):
        raise wrong_cursor()
    return int(cursor)


def wrong_cursor() -> InputError:
    """Return the error of a cursor that is not valid for a resource."""
    return InputError("'cursor' is not valid here; give that of the last part, or start again without it")


def _fit_text(content: ResourceContent, window: ReadWindow) -> ResourceContent:
    """Return the lines of a text that fit, after a line that says which part of it they are."""
    text, start = content.text or "", window.start
    if start >= len(text) > 0:
        raise wrong_cursor()
    room = window.size_bytes - HEAD_BYTES - len(window.rest(str(len(text))))
    end = start + _fitting_length(text[start:], room)
    rest = f"; the rest: {window.rest(str(end))}" if end < len(text) else ""
    head = f"{MARK} characters {start + 1}–{end} of {len(text)} follow{rest}]"
    mime_type = "text/plain" if content.mime_type == JSON else content.mime_type  # a part of JSON is none
    return ResourceContent(mime_type=mime_type, text=f"{head}\n\n{text[start:end]}")


def _fitting_length(text: str, room: int) -> int:
    """Return how many characters of a text fit: whole lines, or where a line alone is too long, whole words."""
    beginning = text.encode()[: max(room, 1)].decode(errors="ignore") or text[:1]
    if len(beginning) == len(text):
        return len(text)
    for end in ("\n", " "):
        at = beginning.rfind(end)
        if at > len(beginning) // 2:
            return at + 1
    return len(beginning)


def _fit_list(content: ContentList, window: ReadWindow) -> ResourceContent:
    """Return the items of a list that fit, as JSON with one item on each line."""
    room = window.size_bytes - HEAD_BYTES - len(json_text(content.head))
    shown, cursor = _fitting_items(content.after(window.cursor), room)
    more = {"has_more": cursor is not None, **({"cursor": cursor} if cursor else {})}
    head = json_text({"total": content.total, **more, **content.head})
    lines = ",\n".join(shown)
    return ResourceContent(mime_type=JSON, text=f"{head[:-1]},{json_text(content.name)}:[\n{lines}\n]}}")


def _fitting_items(items: Iterator[tuple[str, Any]], room: int) -> tuple[list[str], str | None]:
    """Return the first items that fit, at least one, each as JSON, and the cursor of the rest where there is one."""
    shown: list[str] = []
    last = None
    for cursor, item in items:
        line = json_text(item) if shown else _shortened_line(item, room)
        room -= len(line.encode()) + 2
        if room < 0 and shown:
            return shown, last
        shown.append(line)
        last = cursor
    return shown, None


def _shortened_line(item: Any, room: int) -> str:
    """Return an item as JSON, with its texts cut where it is too long by itself."""
    line = json_text(item)
    for chars in ITEM_LENGTHS:
        if len(line.encode()) <= room:
            break
        line = json_text({name: shorten_value(value, chars) for name, value in item.items()})
    return line
