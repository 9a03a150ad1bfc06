"""The size of every tool's answers and of resources over a library: by default, with a small
budget, over all pages.

    STACKROOM_HOME=… python benchmarks/answer_sizes.py

A token is taken as four bytes of the longer form of an answer: the structured content as
`json.dumps` writes it, or its text. A tool whose catalogue the library does not have is left out.
The command fails where an answer is larger than its budget, or where the pages of a small budget
lack an item of the whole answer.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stackroom.assembly.app import App
from stackroom.errors import UnknownResourceError
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import load_settings
from stackroom.tools.resources import ResourceContent

DEFAULT_TOKENS = 2_500
SMALL_TOKENS = 400
ALL_TOKENS = 100_000
BYTES_A_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A call of a tool, and the places of the lists that are continued; empty where there are
    none.
    """

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    items: str = ""


GENERIC_CALLS = [
    Measured(tool="search", arguments={"query": "a journey through space"}, items="results"),
    Measured(tool="search", arguments={"query": "machine translation of idioms"}, items="results"),
    Measured(tool="search", arguments={"query": "how much holiday may I take"}, items="results"),
    Measured(tool="fetch", arguments={"id": "anime/mal-21"}, items="text"),
    Measured(tool="similar", arguments={"id": "anime/mal-1"}, items="results"),
    Measured(tool="browse", items="catalogues.fields"),
    Measured(
        tool="browse",
        arguments={"catalogue": "anime", "field": "tags"},
        items="catalogues.fields.values",
    ),
    Measured(
        tool="browse",
        arguments={"catalogue": "papers", "field": "venue"},
        items="catalogues.fields.values",
    ),
]
ANIME_CALLS = [
    Measured(tool="search_anime", arguments={"query": "a journey through space"}, items="results"),
    Measured(tool="search_anime", arguments={"query": "進撃の巨人"}, items="results"),
    Measured(
        tool="recommend_similar", arguments={"titles": ["Cowboy Bebop"]}, items="recommendations"
    ),
    Measured(
        tool="recommend_similar",
        arguments={
            "titles": ["Naruto", "One Piece"],
            "preferences": "post-2010, darker, not horror",
        },
        items="recommendations",
    ),
    Measured(tool="get_anime_details", arguments={"title": "One Piece"}),
    Measured(tool="get_anime_details", arguments={"id": "mal-1"}),
    Measured(tool="browse_taxonomy", items="categories.tags"),
    Measured(tool="browse_taxonomy", arguments={"category": "theme"}, items="categories.tags"),
]
PAPER_CALLS = [
    Measured(tool="search_papers", arguments={"query": "machine translation"}, items="papers"),
    Measured(
        tool="search_papers",
        arguments={"query": "parsing", "publish_year_range": [2018, 2021], "keywords": ["neural"]},
        items="papers",
    ),
]
DOCUMENT_CALLS = [
    Measured(
        tool="search_documents", arguments={"query": "how much holiday may I take"}, items="results"
    ),
    Measured(
        tool="search_documents",
        arguments={"query": "code review", "neighbours": 2},
        items="results",
    ),
    Measured(tool="search_handbook", arguments={"query": "code review"}, items="results"),
    Measured(tool="ping"),
]
KINDS = "artists.items,albums.items,tracks.items"
MUSIC_CALLS = [
    Measured(tool="catalog.search", arguments={"query": "piano"}, items=KINDS),
    Measured(
        tool="catalog.search", arguments={"query": "love", "kind": "track"}, items="tracks.items"
    ),
    Measured(
        tool="catalog.get",
        arguments={"query_type": "artist", "id": "Johann Sebastian Bach"},
        items="albums.items,tracks.items",
    ),
    Measured(tool="catalog.get", arguments={"query_type": "recent"}, items=KINDS),
    Measured(tool="catalog.get", arguments={"query_type": "stats"}, items="stats.genres"),
    Measured(
        tool="catalog.get",
        arguments={"query_type": "similar", "id": "Johann Sebastian Bach"},
        items="artists.items",
    ),
    Measured(tool="catalog.get", arguments={"query_type": "gaps"}, items="gaps.items"),
    Measured(tool="catalog.get", arguments={"query_type": "fixes"}, items="fixes.items"),
    Measured(
        tool="catalog.get",
        arguments={"query_type": "playlist", "about": "calm piano", "minutes": 600},
        items="tracks.items",
    ),
]
JUDOKA_CALLS = [
    Measured(tool="query_rag", arguments={"query": "strongest judoka from Japan"}, items="results"),
    Measured(
        tool="judokon.search", arguments={"query": "strongest judoka from Japan"}, items="results"
    ),
    Measured(tool="judokon.getById", arguments={"id": 1}),
    Measured(tool="judokon.compare", arguments={"idA": 1, "idB": 2}),
    Measured(tool="judokon.suggestOpponent", arguments={"id": 1}, items="opponents"),
    Measured(tool="judokon.listCountries", items="countries"),
]
CALLS = [*GENERIC_CALLS, *ANIME_CALLS, *PAPER_CALLS, *DOCUMENT_CALLS, *MUSIC_CALLS, *JUDOKA_CALLS]
RESOURCES = [
    "changelog://recent",
    "stackroom://anime/mal-21",
    "stackroom://music/artist-johann-sebastian-bach",
    "stackroom-values://anime/tags/comedy",
    "stackroom-values://music/genres/piano",
]
DOCUMENTS_SHOWN = 3
"""The number of documents in the table: those with a problem, and the longest."""
OFFSET = re.compile(r"the rest with offset (\d+)")


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a call takes by default and with a small budget: tokens, items, and pages."""

    call: Measured
    tokens: int
    small_tokens: int
    items: int
    small_items: int
    pages: int
    lost: int

    @property
    def problem(self) -> str:
        """What is wrong; empty where nothing is."""
        if self.tokens > DEFAULT_TOKENS or self.small_tokens > SMALL_TOKENS:
            return "over budget"
        return f"{self.lost} lost" if self.lost else ""


def main() -> None:
    """Print the table."""
    app = App(load_settings())
    gate = app.build_gate()
    tools = {tool.name: tool for tool in gate.list_tools(LOCAL_USER)}
    sizes = [size for call in CALLS if call.tool in tools for size in _find_size(gate, call)]
    documents = [
        entry.uri
        for entry in gate.list_resources(LOCAL_USER).entries
        if entry.uri.startswith("documents://")
    ]
    sizes += [size for uri in RESOURCES for size in _find_resource_size(gate, uri)]
    of_documents = [size for uri in documents for size in _find_resource_size(gate, uri)]
    sizes += sorted(of_documents, key=lambda size: (not size.problem, -size.pages))[
        :DOCUMENTS_SHOWN
    ]
    app.close()
    print_table(sizes)
    sys.exit(1 if any(size.problem for size in sizes) else 0)


def print_table(sizes: Sequence[Size]) -> None:
    """Print a line for each call."""
    print("| tool | arguments | tokens | items | tokens at 400 | items at 400 | pages at 400 | |")
    print("|---|---|---|---|---|---|---|---|")
    for one in sizes:
        arguments = json.dumps(one.call.arguments, ensure_ascii=False)
        numbers = (one.tokens, one.items, one.small_tokens, one.small_items, one.pages)
        print(
            f"| {one.call.tool} | {arguments} | {' | '.join(map(str, numbers))} | {one.problem} |"
        )


def _find_size(gate: Gate, call: Measured) -> list[Size]:
    """Measure a call; nothing where the library has no answer to it."""
    first = gate.call(LOCAL_USER, call.tool, call.arguments)
    if first.is_error:
        print(f"left out: {call.tool} {call.arguments}: {first.text[:200]}", file=sys.stderr)
        return []
    has_budget = (
        "max_tokens" in gate.toolbox_of(LOCAL_USER).tools[call.tool].input_schema["properties"]
    )
    small = list(_pages(gate, call, {"max_tokens": SMALL_TOKENS} if has_budget else {}))
    whole = list(_pages(gate, call, {"max_tokens": ALL_TOKENS} if has_budget else {}))
    seen = [item for page in small for item in _items(page, call.items)]
    wanted = [item for page in whole for item in _items(page, call.items)]
    return [
        Size(
            call=call,
            tokens=_tokens(first),
            items=len(_items(first, call.items)),
            small_tokens=max(map(_tokens, small)),
            small_items=len(_items(small[0], call.items)),
            pages=len(small),
            lost=sum((Counter(wanted) - Counter(seen)).values()),
        )
    ]


def _pages(gate: Gate, call: Measured, budget: dict[str, Any]) -> Iterator[Answer]:
    cursor: dict[str, str] = {}
    while True:
        answer = gate.call(LOCAL_USER, call.tool, {**call.arguments, **budget, **cursor})
        yield answer
        more = _find_more(answer.structured or {})
        if more is None:
            return
        cursor = more


def _find_more(structured: dict[str, Any]) -> dict[str, Any] | None:
    """Return the argument that continues an answer that was cut; None where it was not."""
    if structured.get("cursor"):
        return {"cursor": structured["cursor"]}
    offsets = [OFFSET.search(note) for note in structured.get("notes") or ()]
    return next(({"offset": int(found[1])} for found in offsets if found), None)


def _find_resource_size(gate: Gate, uri: str) -> list[Size]:
    """Measure the parts of a resource; nothing where the library does not have it."""
    try:
        first = gate.read(LOCAL_USER, uri)
    except UnknownResourceError:
        return []
    small = list(_parts(gate, uri, SMALL_TOKENS))
    wanted = small[0].page.total if small[0].page else _count(small[0])
    return [
        Size(
            call=Measured(tool=uri),
            tokens=-(-first.size_bytes // BYTES_A_TOKEN),
            items=_count(first),
            small_tokens=max(-(-part.size_bytes // BYTES_A_TOKEN) for part in small),
            small_items=_count(small[0]),
            pages=len(small),
            lost=wanted - sum(map(_count, small)),
        )
    ]


def _parts(gate: Gate, uri: str, tokens: int) -> Iterator[ResourceContent]:
    query = f"?max_tokens={tokens}"
    while query:
        content = gate.read(LOCAL_USER, uri + query)
        yield content
        cursor = content.page.cursor if content.page else None
        query = f"?max_tokens={tokens}&cursor={cursor}" if cursor else ""


def _count(content: ResourceContent) -> int:
    """Return how many items, characters or parts a read has; of a whole text its characters."""
    return len(content.text or "") if content.page is None else content.page.count


def _tokens(answer: Answer) -> int:
    size_bytes = max(len(json.dumps(answer.structured)), len(answer.text.encode()))
    return -(-size_bytes // BYTES_A_TOKEN)


def _items(answer: Answer, path: str) -> list[str]:
    return [item for one in path.split(",") if one for item in _items_at(answer.structured, one)]


def _items_at(value: Any, path: str) -> list[str]:
    """Return the items of a list, by the values that tell them apart; of a text, its words."""
    name, _, rest = path.partition(".")
    inner = value.get(name, [])
    if rest:
        several = inner if isinstance(inner, list) else [inner]
        return [item for one in several for item in _items_at(one, rest)]
    return inner.split() if isinstance(inner, str) else [_identity(one) for one in inner]


def _identity(item: dict[str, Any]) -> str:
    known = item.get("metadata", item)
    return str(
        next((known[name] for name in ("id", "value", "field", "name") if name in known), known)
    )


if __name__ == "__main__":
    main()
