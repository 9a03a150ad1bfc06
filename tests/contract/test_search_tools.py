"""Every search tool of every catalogue treats a blank, endless, misspelt or hopeless query alike,
and says so.
"""

from typing import Any

import pytest

from stackroom.model.hits import Label
from stackroom.model.principal import LOCAL_USER
from stackroom.model.scope import WHOLE
from stackroom.tools.faces.mcp import Served
from stackroom.tools.spec import NOT_ALL_WORDS, FoundResult

NEEDS_VECTORS = "query_rag"

pytestmark = pytest.mark.row("T8")


def search_tools(whole: Any) -> list[Served]:
    """Return the tools that answer a query with how sure they are, also in a library without
    vectors.
    """
    return [
        tool
        for tool in whole.gate.list_tools(LOCAL_USER)
        if issubclass(tool.operation.result, FoundResult)
        and "query" in tool.params.model_fields
        and tool.name != NEEDS_VECTORS
    ]


def test_there_are_search_tools_in_every_package(whole: Any) -> None:
    names = {tool.name for tool in search_tools(whole)}
    assert names >= {
        "search",
        "search_anime",
        "search_papers",
        "search_documents",
        "judokon.search",
        "catalog.search",
    }


@pytest.mark.parametrize("query", ["", "   ", "\t\n", "\u00a0"])
def test_a_blank_query_is_no_error_and_nothing_answers_it(whole: Any, query: str) -> None:
    for tool in search_tools(whole):
        answer = whole.call(tool.name, query=query)
        assert not answer.is_error, (tool.name, answer.text)
        assert answer.structured["evidence"] == "none", tool.name
        assert answer.structured["notes"][0].startswith("the query is blank"), tool.name
        assert "the query is blank" in answer.text, tool.name


def test_a_query_of_a_megabyte_is_answered_with_how_much_of_it_was_read(whole: Any) -> None:
    note = "the query has 1,000,000 characters; the first 2,000 were searched for"
    for tool in search_tools(whole):
        answer = whole.call(tool.name, query="q" * 1_000_000)
        assert answer.structured["notes"][0] == note, tool.name
        assert note in answer.text, tool.name


def test_an_ordinary_query_has_no_such_note(whole: Any) -> None:
    for tool in search_tools(whole):
        notes = whole.call(tool.name, query="sea").structured.get("notes", [])
        assert not any(note.startswith("the query") for note in notes), tool.name


@pytest.mark.row("N2")
def test_without_vectors_that_no_record_has_all_words_is_said_first_and_few_are_shown(
    whole: Any,
) -> None:
    for tool in search_tools(whole):
        answer = whole.call(tool.name, query="day municipal wastewater permits")
        assert answer.structured["evidence"] == "none", tool.name
        shown = answer.structured.get("results", answer.structured.get("papers", []))
        assert not shown or NOT_ALL_WORDS in answer.text[: len(NOT_ALL_WORDS) + 20], tool.name
        assert len(shown) <= 5, tool.name
        assert {hit.get("relevance") for hit in shown} <= {None}, tool.name


@pytest.mark.row("P2")
@pytest.mark.parametrize(("catalogue", "count"), [("papers", 161), ("anime", 305)])
def test_every_exact_title_is_identical_whatever_its_length(
    whole: Any, catalogue: str, count: int
) -> None:
    view = whole.app.open_catalogue(catalogue).view()
    keys = view.reader.scan(scope=WHOLE, limit=count + 1)
    titles = [
        view.spec.title_of(record) for record in view.reader.fetch(keys, scope=WHOLE).values()
    ]
    first = {title: view.search(title, scope=WHOLE).hits(1)[0] for title in titles}
    assert len(titles) == count
    assert [title for title, hit in first.items() if hit.label is not Label.IDENTICAL] == []


@pytest.mark.row("N2")
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("search", "Cowbow Bebopp"),
        ("search_anime", "Cowbow Bebopp"),
        ("search_papers", "Atention Is All You Need"),
        ("judokon.search", "Yasuhiro Yamashitta"),
        ("catalog.search", "Bethoven"),
    ],
)
def test_a_name_is_evidence_though_misspelt(whole: Any, tool: str, name: str) -> None:
    assert whole.structured(tool, query=name)["evidence"] != "none"
