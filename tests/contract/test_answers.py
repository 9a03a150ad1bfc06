"""Every answering tool over the sample library: its text says what its structured content does,
within the budget.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackroom.gate.answer import Answer
from stackroom.model.principal import LOCAL_USER
from support.libraries import Library
from support.texts import values_missing_from_text

pytestmark = pytest.mark.row("N8")

DEFAULT_BYTES = 4 * 2_500
SMALL_TOKENS = 400
ALL_TOKENS = 100_000
OFFSET = re.compile(r"with offset (\d+)")

Call = tuple[str, dict[str, Any], str]
"""A tool, the arguments of a call, and the list that its pages continue: a path of names."""

CALLS: dict[str, list[Call]] = {
    group: [(call["tool"], call["arguments"], call["path"]) for call in calls]
    for group, calls in tomllib.loads(
        Path(__file__).with_name("answers.toml").read_text("utf-8")
    ).items()
}


def answer(library: Library, tool: str, **arguments: Any) -> Answer:
    """Call a tool that must answer."""
    found = library.call(tool, **arguments)
    assert not found.is_error, found.text
    return found


def size(found: Answer) -> int:
    """Return the bytes of the longer form of an answer."""
    return max(len(json.dumps(found.structured)), len(found.text.encode()))


def pages(library: Library, tool: str, arguments: dict[str, Any]) -> Iterator[Answer]:
    """Yield the pages of an answer, to the last: by its cursor, or by the offset that it names."""
    more: dict[str, Any] = {}
    while True:
        found = answer(library, tool, **arguments, **more)
        yield found
        # a text may tell more than the structured form has, whose notes say where that goes on
        offset = OFFSET.search(f"{(found.structured or {}).get('notes')} {found.text}")
        cursor = (found.structured or {}).get("cursor")
        if not cursor and not offset:
            return
        more = {"cursor": cursor} if cursor else {"offset": int(offset[1]) if offset else 0}


def items(value: Any, path: str) -> list[Any]:
    """Return the items of a list at a path, as identities: the parts that are never shortened."""
    name, _, rest = path.partition(".")
    inner = value[name]
    if isinstance(inner, dict):
        return items(inner, rest)
    if rest:
        return [item for one in inner for item in items(one, rest)]
    return inner.split() if isinstance(inner, str) else [_identity(one) for one in inner]


def _identity(item: dict[str, Any]) -> str:
    known = item.get("metadata", item)
    return str(
        next(
            known[name]
            for name in ("id", "value", "field", "values", "code", "genre")
            if name in known
        )
    )


def explained(value: Any) -> set[str]:
    """Return the names of the parts of every explanation, whose numbers a text has in fewer
    digits.
    """
    if isinstance(value, list):
        return set().union(*map(explained, value))
    if not isinstance(value, dict):
        return set()
    parts = {name for some in ("strength", "order") for name in value.get("why", {}).get(some, ())}
    return parts.union(*map(explained, value.values()))


def check_text(library: Library, tool: str, arguments: dict[str, Any]) -> None:
    for budget in ({}, {"max_tokens": SMALL_TOKENS}, {"max_tokens": ALL_TOKENS}):
        more = (
            budget
            if "max_tokens"
            in library.gate.toolbox_of(LOCAL_USER).tools[tool].input_schema["properties"]
            else {}
        )
        found = answer(library, tool, **arguments, **more)
        assert found.text.strip()
        assert values_missing_from_text(found.structured, found.text, apart_from={"why"}) == []
        assert not {part for part in explained(found.structured) if part not in found.text}


def check_budget(library: Library, tool: str, arguments: dict[str, Any], path: str) -> None:
    assert size(answer(library, tool, **arguments)) <= DEFAULT_BYTES
    if not path:
        return
    small = list(pages(library, tool, {**arguments, "max_tokens": SMALL_TOKENS}))
    assert all(size(page) <= 4 * SMALL_TOKENS for page in small)
    whole = list(pages(library, tool, {**arguments, "max_tokens": ALL_TOKENS}))
    seen, wanted = (
        [item for page in some for item in items(page.structured, path)] for some in (small, whole)
    )
    assert seen == wanted


def name_of(call: Call) -> str:
    return f"{call[0]} {next(iter(call[1].values()), '')}"


@pytest.mark.parametrize(
    ("tool", "arguments", "path"), CALLS["by_words"], ids=map(name_of, CALLS["by_words"])
)
def test_a_text_has_every_value_and_the_pages_of_a_budget_have_every_item(
    whole: Library, tool: str, arguments: dict[str, Any], path: str
) -> None:
    check_text(whole, tool, arguments)
    check_budget(whole, tool, arguments, path)


@pytest.mark.model
@pytest.mark.parametrize(
    ("tool", "arguments", "path"), CALLS["by_vectors"], ids=map(name_of, CALLS["by_vectors"])
)
def test_an_answer_by_vectors_has_it_too(
    sample: Library, tool: str, arguments: dict[str, Any], path: str
) -> None:
    check_text(sample, tool, arguments)
    check_budget(sample, tool, arguments, path)


@pytest.mark.row("N2", "A1", "P1", "J2")
@pytest.mark.parametrize(
    ("tool", "filters", "path"),
    [
        ("search_anime", {"filters": {"tags": ["space"], "episodesMax": 13}}, "results"),
        ("search_papers", {"publish_year_range": [1970, 1979]}, "papers"),
        ("judokon.search", {"filters": {"country": "Japan"}, "topK": 10}, "results"),
    ],
)
def test_an_asterisk_lists_what_has_the_filters_and_a_note_offers_it(
    whole: Library, tool: str, filters: dict[str, Any], path: str
) -> None:
    listed = answer(whole, tool, query="*", **filters).structured or {}
    assert (listed["evidence"], len(items(listed, path))) == ("strong", 10)
    unanswered = answer(whole, tool, query="zzyzx qwerty", **filters)
    assert "evidence: none" in unanswered.text
    assert tool == "judokon.search" or "query '*' lists them all" in unanswered.text
