"""Tools and endpoints that are functions: what they declare, and that no read of theirs can
leak.
"""

import pytest

from stackroom.api import NotFoundError, SeenCatalogue, tool
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action, Cost, Principal
from stackroom.model.scope import Visibility
from stackroom.tools.faces.rest import list_doors
from stackroom.tools.operation import READS_CATALOGUES, AnyOperation, Origin, RawParams, identity_of
from stackroom.tools.toolbox import Toolbox
from support.stories import open_stories

pytestmark = pytest.mark.row("N11")

GUEST = Principal(
    name="guest",
    actions=frozenset({Action.ACCESS_CATALOG}),
    visibility=Visibility(audiences=frozenset()),
)


def gate_of(*declared: AnyOperation) -> Gate:
    """Return a gate over the stories, with these tools."""
    catalogues = [open_stories()]
    return Gate(Toolbox(declared, catalogues=catalogues))


@tool(title="Stories by author", address="GET /v1/stories/authors/{author}")
def stories_of(seen: SeenCatalogue, author: str, limit: int = 10) -> list[str]:
    """List the stories of an author.

    They are in the order of their titles.
    """
    found = seen.named(author, kind="author")
    return sorted(seen.title_of(one) for one in seen.list(author_ids=found.id, limit=limit))


@tool()
def everything_of(seen: SeenCatalogue, title: str) -> dict[str, list[str]]:
    """Read in every way that there is."""
    found = seen.get(title)
    return {
        "got": [seen.title_of(found)] if found else [],
        "listed": [seen.title_of(one) for one in seen.list()],
        "found": [seen.title_of(hit.record) for hit in seen.search(title)],
    }


def test_a_function_declares_a_tool_by_its_signature_and_docstring() -> None:
    gate = gate_of(stories_of)
    tool = gate.toolbox_of(LOCAL_USER).tools["stories_of"]
    assert (tool.display_name, tool.description) == (
        "Stories by author",
        "List the stories of an author.",
    )
    declared = tool.operation
    assert (declared.needs, declared.cost) == (READS_CATALOGUES, Cost.READ)
    assert declared.reads is not None
    assert tool.input_schema["required"] == ["author"]
    assert tool.input_schema["properties"]["limit"]["default"] == 10
    answer = gate.call(LOCAL_USER, "stories_of", {"author": "Ida"})
    assert answer.structured == {"result": ["Secret Snow", "Snow House", "Winter Road"]}


def test_no_read_of_a_tool_returns_what_the_caller_may_not_see() -> None:
    gate = gate_of(everything_of)
    mine, all_of_it = (
        gate.call(who, "everything_of", {"title": "Secret Snow"}).structured["result"]
        for who in (GUEST, LOCAL_USER)
    )
    assert all("Secret Snow" in titles for titles in all_of_it.values())
    assert mine["got"] == []
    assert all("Secret Snow" not in titles for titles in mine.values())
    assert mine["listed"]


def test_an_unknown_name_is_an_error_that_says_so() -> None:
    answer = gate_of(stories_of).call(LOCAL_USER, "stories_of", {"author": "zzz"})
    assert isinstance(answer.error, NotFoundError)
    assert "no author 'zzz' in 'stories'" in answer.text


def test_an_endpoint_takes_arguments_from_its_path_and_its_query() -> None:
    (declared,) = list_doors([stories_of, everything_of])
    assert (declared.method, declared.path, declared.rest.tag) == (
        "GET",
        "/v1/stories/authors/{author}",
        "stories",
    )
    assert declared.query is not None
    assert set(declared.query.model_fields) == {"catalogue", "limit"}
    assert (declared.name, declared.summary) == (
        "stories/stories_of",
        "List the stories of an author.",
    )
    found = gate_of(stories_of).run(
        stories_of,
        Origin(identity=identity_of(), via="rest"),
        RawParams(values={"limit": "2", "catalogue": "stories"}, apart={"author": "Ida"}),
    )
    assert found.model_dump() == {"result": ["Snow House", "Winter Road"]}
