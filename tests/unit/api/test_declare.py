"""Tools and endpoints that are functions: what they declare, and that no read of theirs can
leak.
"""

import pytest

from stackroom.api import NotFoundError, SeenCatalogue, endpoint, endpoints_of, tool, tools_of
from stackroom.model.principal import LOCAL_USER, Action, Cost, Principal
from stackroom.model.scope import Visibility
from stackroom.tools.spec import validate_arguments
from support.stories import open_stories

pytestmark = pytest.mark.row("N11")

GUEST = Principal(
    name="guest",
    actions=frozenset({Action.ACCESS_CATALOG}),
    visibility=Visibility(audiences=frozenset()),
)


@endpoint("GET", "/v1/stories/authors/{author}")
@tool(title="Stories by author")
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
    (spec,) = tools_of(stories_of)([open_stories()])
    assert (spec.name, spec.title, spec.description) == (
        "stories_of",
        "Stories by author",
        "List the stories of an author.",
    )
    assert (spec.action, spec.cost, spec.read_only, spec.cacheable) == (
        Action.ACCESS_CATALOG,
        Cost.READ,
        True,
        True,
    )
    assert spec.input_schema["required"] == ["author"]
    assert spec.input_schema["properties"]["limit"]["default"] == 10
    answer = spec.run(LOCAL_USER, validate_arguments(spec, {"author": "Ida"}))
    assert answer.model_dump() == {"result": ["Secret Snow", "Snow House", "Winter Road"]}


def test_no_read_of_a_tool_returns_what_the_caller_may_not_see() -> None:
    stories = open_stories()
    mine, all_of_it = (
        spec.run(who, validate_arguments(spec, {"title": "Secret Snow"})).model_dump()["result"]
        for (spec,) in [tools_of(everything_of)([stories])]
        for who in (GUEST, LOCAL_USER)
    )
    assert all("Secret Snow" in titles for titles in all_of_it.values())
    assert mine["got"] == []
    assert all("Secret Snow" not in titles for titles in mine.values())
    assert mine["listed"]


def test_an_unknown_name_is_an_error_that_says_so() -> None:
    (spec,) = tools_of(stories_of)([open_stories()])
    with pytest.raises(NotFoundError, match="no author 'zzz' in 'stories'"):
        spec.run(LOCAL_USER, validate_arguments(spec, {"author": "zzz"}))


def test_an_endpoint_takes_arguments_from_its_path_and_its_query() -> None:
    (declared,) = endpoints_of(stories_of, everything_of)()
    assert (declared.method, declared.path, declared.tag) == (
        "GET",
        "/v1/stories/authors/{author}",
        "stories",
    )
    assert declared.query is not None
    assert set(declared.query.model_fields) == {"catalogue", "limit"}
    assert (declared.audited_as, declared.run.__doc__) == (
        "stories/stories_of",
        "List the stories of an author.",
    )
