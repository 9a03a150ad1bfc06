"""A query that is blank or longer than what is searched for is answered, and the answer says so."""

import pytest

from stackroom.text.analyser import MAX_CHARS
from stackroom.tools.spec import BLANK, FoundResult, NotedResult, find_query_note, with_query_notes


@pytest.mark.parametrize("query", ["", " ", "   ", "\t\n\r", "\u00a0", "\u3000"])
def test_a_blank_query_is_said_to_be_blank(query: str) -> None:
    assert find_query_note(query) == BLANK


@pytest.mark.parametrize("query", ["x", "x" * MAX_CHARS, "  " + "x" * MAX_CHARS + "  ", "?!", None, 5, ["x"]])
def test_a_query_that_is_searched_for_as_a_whole_needs_no_note(query: object) -> None:
    assert find_query_note(query) is None


def test_a_long_query_is_said_to_be_cut_with_how_much_was_read() -> None:
    note = "the query has 1,000,000 characters; the first 2,000 were searched for"
    found = with_query_notes(FoundResult(evidence="none", notes=["other"]), {"query": "x" * 1_000_000})
    assert isinstance(found, FoundResult)
    assert found.notes == [note, "other"]


def test_an_answer_that_is_no_search_gets_no_note() -> None:
    answer = NotedResult()
    assert with_query_notes(answer, {"query": ""}) is answer
