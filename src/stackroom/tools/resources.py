"""Resources: content that a client reads by URI, and the records of every catalogue as such. Knows
no transport.

A catalogue's records are at `stackroom://CATALOGUE/ID`. A catalogue package may add resources of
its own.

A part of one is read by `?max_tokens=N&cursor=C` at the end of its address: a text is cut at the
end of a line, a list between its items, and the parts together are the whole. The first line of a
cut text says which part it is and where the rest is; a text whose own first line looks so comes
after such a line as well.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any
from urllib.parse import quote, unquote

import orjson

from stackroom.catalogue.codec import plain_record
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Flag, Record
from stackroom.model.scope import Scope
from stackroom.search.names import SCHEME
from stackroom.text.normalise import fold_name
from stackroom.tools.budget import (
    BYTES_A_TOKEN,
    DEFAULT_TOKENS,
    LEAST_TOKENS,
    MOST_TOKENS,
    json_text,
    shorten_value,
)
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue, parse_address


@frozen
class ResourceContent:
    """The content at a URI: text or bytes."""

    mime_type: str
    text: str | None = None
    blob: bytes | None = None
    flags: tuple[Flag, ...] = ()  # the places whose text reads like an instruction; set by the gate
    notes: tuple[str, ...] = ()  # remarks on the content, such as its age; set by the gate


@frozen
class ContentList:
    """A list at a URI, which is read in pages, as JSON."""

    name: str
    total: int
    after: Callable[[str | None], Iterator[tuple[str, Any]]]
    """Yields the items after a cursor, each with the cursor that continues after it; InputError for
    a wrong cursor.
    """
    head: Mapping[str, Any] = field(default_factory=dict)  # further values beside the list


@frozen
class ResourceEntry:
    """One entry in a list of resources."""

    uri: str
    name: str
    title: str = ""
    mime_type: str = "text/plain"


@frozen
class ResourceSpec:
    """Resources that share a URI prefix. It cannot be declared without the action it needs."""

    prefix: str  # the prefix of its URIs, such as `notes://`
    action: Action
    entries: Callable[[Principal], Sequence[ResourceEntry]]
    """Lists resources for a principal; not necessarily all that can be read."""
    read: Callable[[Principal, str], ResourceContent | ContentList | None]
    """Returns the content at a URI without its prefix; None where there is none that the principal
    may see.
    """
    # an RFC 6570 template for URIs that are not listed, such as `stackroom://{catalogue}/{+id}`
    template: str = ""
    name: str = ""
    description: str = ""
    template_mime_type: str = "application/json"
    # whether programs read it as a file: it comes whole unless a read states a budget
    is_file: bool = False


TITLES_TRIED = 10


def generic_resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the records of every catalogue as resources."""
    by_name = {catalogue.name: catalogue for catalogue in catalogues}

    def read(principal: Principal, rest: str) -> ResourceContent | None:
        """Return the record at `CATALOGUE/ID` as JSON."""
        address = parse_address(SCHEME + rest)
        if address is None or address[0] not in by_name:
            return None
        view, scope = by_name[address[0]].view(), Scope(visibility=principal.visibility)
        record = view.find_record(address[1], scope=scope) or _find_titled(view, address[1], scope)
        if record is None:
            return None
        return ResourceContent(
            mime_type=JSON, text=orjson.dumps(plain_record(record, view.spec)).decode()
        )

    return [
        ResourceSpec(
            prefix=SCHEME,
            action=Action.ACCESS_CATALOG,
            entries=lambda _principal: [],
            read=read,
            template=SCHEME + "{catalogue}/{+id}",
            name="record",
            description="A record of a catalogue, as JSON.",
        )
    ]


def _find_titled(view: CatalogueView, title: str, scope: Scope) -> Record | None:
    """Return the record with exactly this title."""
    keys = [match.key for match in view.reader.titles_like(title, scope=scope, limit=TITLES_TRIED)]
    records = view.reader.fetch(keys, scope=scope).values()
    return next(
        (record for record in records if fold_name(view.spec.title_of(record)) == fold_name(title)),
        None,
    )


JSON = "application/json"
MARK = "[stackroom:"
QUERY = re.compile(r"\w+=[^&]*(?:&\w+=[^&]*)*")
POSITION = re.compile(r"[0-9]{1,15}")
KNOWN = ("max_tokens", "cursor")
HEAD_BYTES = 120  # room for what is said about a part, besides the address of the rest
ITEM_LENGTHS = (600, 240, 120, 60)


@frozen
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
    """Return an address without its query, and the query; a question mark in a title is no
    query.
    """
    address, _, query = uri.partition("?")
    return (address, query) if QUERY.fullmatch(query) else (uri, "")


def parse_window(address: str, query: str) -> ReadWindow:
    """Return the part that a query asks for; InputError names what is wrong in it."""
    pairs = [part.partition("=") for part in query.split("&")] if query else []
    values = {name: unquote(value) for name, _, value in pairs}
    for name in values:
        if name not in KNOWN:
            raise InputError(
                f"unknown '{name[:60]}' in the address of a resource; known: {', '.join(KNOWN)}"
            )
    if len(values) < len(pairs):
        raise InputError(
            "a part of the address is given twice; give 'max_tokens' and 'cursor' once each"
        )
    tokens = values.get("max_tokens", "")
    if "max_tokens" in values and not (
        re.fullmatch(r"\d{1,9}", tokens) and LEAST_TOKENS <= int(tokens) <= MOST_TOKENS
    ):
        right = f"a whole number from {LEAST_TOKENS} to {MOST_TOKENS}"
        raise InputError(f"'max_tokens' must be {right} (given: '{tokens[:40]}')")
    return ReadWindow(
        address=address, max_tokens=int(tokens) if tokens else None, cursor=values.get("cursor")
    )


def fit_content(
    content: ResourceContent | ContentList, address: str, query: str, *, is_file: bool
) -> ResourceContent:
    """Return the part of a resource that the query of a read asks for."""
    window = parse_window(address, query)
    if isinstance(content, ContentList):
        return _fit_list(content, window)
    is_asked = window.max_tokens is not None or window.cursor is not None
    if content.text is None:
        if is_asked:
            raise InputError(
                f"'max_tokens' and 'cursor' are for texts; this is {content.mime_type}, and comes"
                " whole"
            )
        return content
    if is_file and not is_asked:
        return content
    if (
        window.start == 0
        and len(content.text.encode()) <= window.size_bytes
        and not content.text.startswith(MARK)
    ):
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
    return InputError(
        "'cursor' is not valid here; give that of the last part, or start again without it"
    )


def _fit_text(content: ResourceContent, window: ReadWindow) -> ResourceContent:
    """Return the lines of a text that fit, after a line that says which part of it they are."""
    text, start = content.text or "", window.start
    if start >= len(text) > 0:
        raise wrong_cursor()
    room = window.size_bytes - HEAD_BYTES - len(window.rest(str(len(text))))
    end = start + _fitting_length(text[start:], room)
    rest = f"; the rest: {window.rest(str(end))}" if end < len(text) else ""
    head = f"{MARK} characters {start + 1}–{end} of {len(text)} follow{rest}]"
    # a part of JSON is none
    mime_type = "text/plain" if content.mime_type == JSON else content.mime_type
    return ResourceContent(mime_type=mime_type, text=f"{head}\n\n{text[start:end]}")


def _fitting_length(text: str, room: int) -> int:
    """Return how many characters of a text fit: whole lines, or where a line alone is too long,
    whole words.
    """
    beginning = text.encode()[: max(room, 1)].decode(errors="ignore") or text[:1]
    if len(beginning) == len(text):
        return len(text)
    for end in ("\n", " "):
        at = beginning.rfind(end)
        if at > len(beginning) // 2:
            return at + 1
    return len(beginning)


def _fit_list(content: ContentList, window: ReadWindow) -> ResourceContent:
    """Return the first items of a list that fit, at least one, as JSON with one item on each
    line.
    """
    room = window.size_bytes - HEAD_BYTES - len(json_text(content.head))
    shown: list[str] = []
    more: dict[str, Any] = {"has_more": False}
    last = None
    for cursor, item in content.after(window.cursor):
        line = json_text(item) if shown else _shortened_line(item, room)
        room -= len(line.encode()) + 2
        if room < 0 and shown:
            more = {"has_more": True, "cursor": last}
            break
        shown.append(line)
        last = cursor
    head, lines = json_text({"total": content.total, **more, **content.head}), ",\n".join(shown)
    return ResourceContent(
        mime_type=JSON, text=f"{head[:-1]},{json_text(content.name)}:[\n{lines}\n]}}"
    )


def _shortened_line(item: Any, room: int) -> str:
    """Return an item as JSON, with its texts cut where it is too long by itself."""
    line = json_text(item)
    for chars in ITEM_LENGTHS:
        if len(line.encode()) <= room:
            break
        line = json_text({name: shorten_value(value, chars) for name, value in item.items()})
    return line
