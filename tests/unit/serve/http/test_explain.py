"""`POST /v1/explain`: why a record is in the answer of a search tool, or why not, for whoever may search."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.model.principal import LOCAL_USER
from stackroom.tools.toolbox import Toolbox
from support.libraries import Library

pytestmark = pytest.mark.row("N3")


@pytest.fixture
def plain_site(make_site: Callable[..., Any], plain: Library) -> Any:
    """A server of the sample catalogue without vectors, with a reader."""
    catalogues = [plain.app.open_catalogue("anime")]
    site = make_site(toolboxes=Toolbox(plain.gate.list_tools(LOCAL_USER), catalogues=catalogues))
    site.add_user("ada")
    return site


def explain(site: Any, **body: Any) -> Any:
    return site.client.post("/v1/explain", json={"catalogue": "anime", **body}, headers=site.token("ada"))


def test_a_reader_is_told_why_a_record_has_its_place(plain_site: Any) -> None:
    told = explain(plain_site, id="mal-1", query="Cowboy Bebop").json()
    assert (told["found"], told["rank"], told["tool"]) == (True, 1, "search")
    assert sum(told["strength"].values()) == pytest.approx(told["score"], abs=1.1e-4)
    assert plain_site.last_note().operation == "tools/explain"


@pytest.mark.row("N17")
def test_a_tool_is_asked_about_and_called_by_its_plain_name_and_audited_by_its_own(
    make_site: Callable[..., Any], plain: Library
) -> None:
    search = next(tool for tool in plain.gate.list_tools(LOCAL_USER) if tool.name == "search_anime")
    dotted = replace(search, name="anime.search")
    site = make_site(toolboxes=Toolbox([dotted], catalogues=[plain.app.open_catalogue("anime")]))
    site.add_user("ada")
    assert explain(site, id="mal-1", query="Cowboy Bebop", tool="anime_search").json()["tool"] == "anime.search"
    assert site.last_note().target == "anime.search"
    answer = site.client.post("/v1/tools/anime_search", json={"query": "x"}, headers=site.token("ada"))
    assert (answer.status_code, site.last_note().target) == (200, "anime.search")


def test_a_reader_is_told_which_filter_keeps_a_record_out(plain_site: Any) -> None:
    told = explain(plain_site, id="mal-1", query="Cowboy Bebop", arguments={"filters": {"year": {"min": 2010}}}).json()
    assert (told["found"], told["cut"]) == (False, "condition")
    assert told["because"][:2] == ["the filter 'year' leaves it out: it has 1998", "otherwise it would be number 1"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"id": "mal-0", "query": "x"}, 404, "no record 'mal-0'"),
        ({"id": "mal-1", "query": "x", "catalogue": "anmie"}, 404, "did you mean 'anime'"),
        ({"id": "mal-1", "query": "x", "tool": "search_anmie"}, 400, "did you mean 'search_anime'"),
        ({"id": "mal-1", "query": "x", "tool": "search_anime", "arguments": {"limit": 0}}, 400, "'limit'"),
        ({"id": "mal-1"}, 400, "'query' is missing"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    plain_site: Any, body: dict[str, Any], status: int, says: str
) -> None:
    reply = explain(plain_site, **body)
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]
