"""The tool that is asked decides: an explanation follows the path of that tool, with its own cut,
kinds and filters.
"""

from typing import Any

import pytest

from stackroom.model.principal import LOCAL_USER
from stackroom.model.scope import KIND_FIELD, AnyOf, Scope
from support.libraries import Library

pytestmark = pytest.mark.row("N3")


def ask(library: Library, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = library.gate.call(LOCAL_USER, "explain", arguments)
    return answer.structured or {"error": answer.text}


def why(library: Library, catalogue: str, record: str, query: str, **more: Any) -> dict[str, Any]:
    tool = {"tool": more.pop("tool")} if "tool" in more else {}
    return ask(
        library, {"id": f"{catalogue}/{record}", "arguments": {"query": query, **more}, **tool}
    )


def first_track(library: Library) -> str:
    found = library.structured(
        "search", query="piano", catalogue="music", filters={"kind": ["track"]}
    )
    return str(found["results"][0]["id"].removeprefix("music/"))


def test_a_track_that_catalog_search_does_not_show_is_not_said_to_be_found(whole: Library) -> None:
    track, query = first_track(whole), "piano opera singers of Vienna"
    shown = whole.structured("catalog.search", query=query, kind="track", limit=100)["tracks"][
        "items"
    ]
    told = why(whole, "music", track, query, tool="catalog.search")
    assert told["found"] == (track in [one["id"] for one in shown])
    assert (told["found"], told["cut"]) == (False, "tool")
    assert "only records from 0.5 on are shown" in told["because"][0]


def test_a_kind_that_a_tool_does_not_search_is_the_reason(whole: Library) -> None:
    documents = whole.app.open_catalogue("handbook").shelf.reader()
    ids = documents.ids(
        documents.scan(scope=Scope(conditions=(AnyOf(KIND_FIELD, ("document",)),)), limit=1)
    )
    told = why(whole, "handbook", ids[0], "on call", tool="search_documents")
    assert (told["cut"], told["because"][0]) == (
        "condition",
        "the filter 'kind' leaves it out: it has document",
    )


def test_a_keyword_that_a_paper_lacks_is_named(whole: Library) -> None:
    papers = whole.structured("search_papers", query="language models")["papers"]
    told = why(
        whole, "papers", papers[0]["id"], "language models", tool="search_papers", keywords=["xqzv"]
    )
    assert told["because"][0] == "'keywords' leaves it out: it lacks xqzv"


def test_a_tool_that_does_not_search_a_catalogue_is_refused(whole: Library) -> None:
    asked = {
        "id": f"music/{first_track(whole)}",
        "tool": "search_anime",
        "arguments": {"query": "x"},
    }
    assert "'search_anime' does not look in 'music'" in ask(whole, asked)["error"]
