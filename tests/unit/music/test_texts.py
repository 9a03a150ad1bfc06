"""The texts of the music tools, their sizes, and their pages under a budget."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stackroom.gate.answer import Answer
from stackroom.tools.budget import DEFAULT_TOKENS

pytestmark = pytest.mark.row("N8")

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("catalog.search", {"query": "piano"}),
    ("catalog.search", {"query": "moonlight sonata", "kind": "track"}),
    ("catalog.search", {"query": "piano municipal wastewater permits"}),
    *(
        ("catalog.get", {"query_type": "artist", "id": name})
        for name in ("Ludwig van Beethoven", "Bethoven", "Johann Sebastian Bach")
    ),
    ("catalog.get", {"query_type": "album", "id": "Moonlight Sonata"}),
    ("catalog.get", {"query_type": "track", "id": "track-beethoven-piano-sonata-14-01"}),
    ("catalog.get", {"query_type": "recent"}),
    ("catalog.get", {"query_type": "stats"}),
    ("catalog.get", {"query_type": "similar", "id": "Ludwig van Beethoven"}),
    ("catalog.get", {"query_type": "gaps"}),
    ("catalog.get", {"query_type": "fixes"}),
    ("catalog.get", {"query_type": "playlist", "about": "calm piano", "minutes": 240}),
]


def tokens_of(answer: Answer) -> float:
    """Return the price of the longer form of an answer."""
    return max(len(json.dumps(answer.structured)), len(answer.text.encode())) / 4


def items_of(structured: Any) -> dict[str, list[str]]:
    """Return the items of every list of an answer, as JSON."""
    lists = {
        name: structured[name]["items"]
        for name in ("artists", "albums", "tracks", "fixes")
        if name in structured
    }
    lists |= {gap["gap"]: gap["items"] for gap in structured.get("gaps", ())}
    if "stats" in structured:
        lists["genres"] = structured["stats"]["genres"]
    return {name: [json.dumps(item) for item in items] for name, items in lists.items()}


def iter_pages(
    music: Any, tool: str, arguments: dict[str, Any], tokens: int | None
) -> Iterator[Answer]:
    """Yield the answers of a call, each after the first at the offset that the one before names."""
    offset = 0
    for _ in range(200):
        budget = {} if tokens is None else {"max_tokens": tokens}
        answer = music.call(tool, **arguments, **budget, offset=offset)
        assert not answer.is_error, answer.text
        yield answer
        shown = max((len(items) for items in items_of(answer.structured).values()), default=0)
        if not shown or f"offset {offset + shown}" not in f"{answer.text}{answer.structured}":
            return
        offset += shown
    raise AssertionError("the pages have no end")


def require_all_pages(music: Any, tool: str, arguments: dict[str, Any], tokens: int | None) -> None:
    """Require that the pages under a budget fit, and have the first hundred items of each kind,
    each once.
    """
    whole = items_of(music.call(tool, **arguments, limit=100, offset=0).structured)
    found: dict[str, list[str]] = {name: [] for name in whole}
    for answer in iter_pages(music, tool, arguments, tokens):
        assert tokens_of(answer) <= (tokens or DEFAULT_TOKENS)
        for name, items in items_of(answer.structured).items():
            found.setdefault(name, []).extend(items)
        if all(len(found[name]) >= len(items) for name, items in whole.items()):
            break
    for name, items in whole.items():
        assert found[name][: len(items)] == items
        assert len(set(found[name])) == len(found[name])


@pytest.mark.row("Z14")
@pytest.mark.parametrize(
    ("tool", "arguments", "tokens"),
    [
        *((*call, None) for call in CALLS),
        *((*call, 400) for call in (CALLS[0], CALLS[3], *CALLS[8:13])),
    ],
)
def test_an_answer_fits_has_the_best_of_each_kind_and_its_pages_lose_nothing(
    sample_music: Any, tool: str, arguments: dict[str, Any], tokens: int | None
) -> None:
    require_all_pages(sample_music, tool, arguments, tokens)
    fitting, whole = (
        sample_music.call(tool, **arguments, max_tokens=tokens),
        sample_music.call(tool, **arguments),
    )
    for name, items in items_of(whole.structured).items():
        assert bool(items_of(fitting.structured)[name]) == bool(items)
