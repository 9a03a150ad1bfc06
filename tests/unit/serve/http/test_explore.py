"""`GET /c/NAME`, `/search` and `/v1/catalogues`: one result set as JSON, for whoever may search."""

from collections.abc import Callable
from typing import Any

import pytest

from pinakes.model.principal import LOCAL_USER
from pinakes.settings import RateLimitSettings
from pinakes.tools.generic.tools import generic_tools
from pinakes.tools.toolbox import Toolbox
from support.libraries import Library

pytestmark = pytest.mark.row("N2")

SENTENCE = "melancholy films after 2010, not horror"


@pytest.fixture
def plain_site(make_site: Callable[..., Any], plain: Library) -> Any:
    """A server of the sample catalogue without vectors, with a reader."""
    catalogues = [plain.app.open_catalogue("anime")]
    tools = [*plain.gate.list_tools(LOCAL_USER), *generic_tools(catalogues)]
    site = make_site(toolboxes=Toolbox(tools, catalogues=catalogues))
    site.add_user("ada")
    return site


@pytest.fixture
def explore(plain_site: Any) -> Callable[..., Any]:
    """Ask for a result set of the sample catalogue."""
    headers = plain_site.token("ada")

    def ask(address: str = "/c/anime", /, **parameters: Any) -> Any:
        given = {name.replace("_", "."): value for name, value in parameters.items()}
        reply = plain_site.client.get(address, params=given, headers=headers)
        assert reply.status_code == 200, reply.text
        return reply.json()

    return ask


def test_a_sentence_is_a_query_with_conditions_that_can_be_taken_back(explore: Callable[..., Any]) -> None:
    found = explore(q=SENTENCE)
    assert (found["query"], found["filters"], found["exclude"]) == (
        "melancholy",
        {"type": ["MOVIE"], "year": {"min": 2011}},
        {"tags": ["horror"]},
    )
    assert [(one["phrase"], one["text"]) for one in found["understood"]] == [
        ("films", "Type: MOVIE"),
        ("after 2010", "Year ≥ 2011"),
        ("not horror", "not horror"),
    ]
    assert all("horror" not in str(hit["fields"]) for hit in found["hits"])
    taken_back = explore(q=SENTENCE, u=["after 2010", "films"])
    assert (taken_back["query"], taken_back["filters"]) == ("melancholy films after 2010", {})


def test_conditions_of_the_query_and_those_by_hand_hold_together_where_they_can(explore: Callable[..., Any]) -> None:
    both = explore(q="films after 2010", f_type=["movie", "tv"], r_year="2005..2015", parts="hits")
    assert both["filters"] == {"type": ["movie"], "year": {"min": 2011, "max": 2015}}
    assert [one["phrase"] for one in both["understood"]] == ["films", "after 2010"]
    assert both["notes"] == []
    by_hand = explore(f_type="tv", r_year="..2005", parts="hits")
    against = explore(q="films after 2010", f_type="tv", r_year="..2005", parts="hits")
    assert (against["understood"], against["total"]) == ([], by_hand["total"])
    assert against["notes"] == [
        "'films' was left aside: it does not go with what you chose under Type",
        "'after 2010' was left aside: it does not go with what you chose under Year",
    ]


def test_words_for_a_mood_only_order_what_has_the_conditions(explore: Callable[..., Any]) -> None:
    found = explore(q=SENTENCE)
    every = explore(f_type="MOVIE", r_year="2011..", x_tags="horror", parts="hits")
    assert (found["evidence"], found["only_orders"]) == ("none", True)
    assert found["listed"] == found["counted"] == every["total"] > 5
    topic = explore(q="qwxzv films after 2010")
    assert (topic["evidence"], topic["only_orders"]) == ("none", False)


def test_the_name_of_a_record_states_nothing(explore: Callable[..., Any]) -> None:
    found = explore(q="no game no life")
    assert (found["understood"], found["hits"][0]["title"]) == ([], "No Game No Life")


def test_a_result_set_names_the_call_that_finds_the_same(explore: Callable[..., Any], plain_site: Any) -> None:
    found = explore(q="space after 1990, not comedy", limit=10, f_type="TV")
    call, headers = found["call"], plain_site.token("ada")
    answer = plain_site.client.post(f"/v1/tools/{call['name']}", json=call["arguments"], headers=headers).json()
    assert [hit["key"] for hit in found["hits"]] == [one["id"] for one in answer["results"]]
    assert (found["total"], found["evidence"]) == (answer["total"], answer["evidence"])


def test_each_count_is_how_many_records_the_choice_leads_to(explore: Callable[..., Any]) -> None:
    found = explore(f_tags="drama", r_year="1990..2010")
    assert found["total"] == found["counted"] > 10
    for facet in found["facets"]:
        for value in facet.get("values", ())[:3]:
            wanted = ["drama", value["value"]] if facet["field"] == "tags" else value["value"]
            narrowed = explore(
                parts="hits", **{"f_tags": "drama", "r_year": "1990..2010", f"f_{facet['field']}": wanted}
            )
            assert narrowed["total"] == value["count"], (facet["field"], value)
    years = next(one for one in found["facets"] if one["field"] == "year")
    assert (years["low"], years["high"]) == ("1990", "2010")
    assert years["min"] < 1990, "the bars show what lies beyond the chosen range too"
    chosen = [bar["count"] for bar in years["bars"] if bar["from"] >= 1990 and bar["to"] <= 2010]
    assert 0 < sum(chosen) <= found["total"]


def test_the_facets_of_a_search_count_what_it_lists(explore: Callable[..., Any]) -> None:
    found = explore(q="space", limit=100)
    tags = next(one for one in found["facets"] if one["field"] == "tags")
    in_space = next(value["count"] for value in tags["values"] if value["value"] == "space")
    listed = explore(q="space", limit=100, view="table", f_tags="space")["hits"]
    keys = {hit["key"] for hit in found["hits"]}
    assert in_space == len(keys & {hit["key"] for hit in listed}) > 0
    assert found["counted"] == len(keys)


def test_results_are_sorted_by_a_column_and_paged(explore: Callable[..., Any]) -> None:
    first = explore(sort="-year", view="table", limit=5, parts="hits")
    years = [int(hit["cells"]["year"]) for hit in first["hits"]]
    assert years == sorted(years, reverse=True)
    second = explore(sort="-year", view="table", limit=5, parts="hits", cursor=first["cursor"])
    assert int(second["hits"][0]["cells"]["year"]) <= years[-1]
    assert {hit["key"] for hit in first["hits"]}.isdisjoint(hit["key"] for hit in second["hits"])
    named = [hit["cells"]["type"] for hit in explore(sort="type", view="table", limit=100, parts="hits")["hits"]]
    assert named == sorted(named)


def test_values_of_a_facet_are_looked_for(explore: Callable[..., Any]) -> None:
    (facet,) = explore(parts="facets", facet="tags", like="rom")["facets"]
    assert "romance" in [value["value"] for value in facet["values"]]
    assert len(facet["values"]) < 10


def test_the_keys_of_a_result_set_are_the_records_that_it_lists(explore: Callable[..., Any]) -> None:
    every = explore(parts="keys", f_type="MOVIE")
    assert len(every["keys"]) == every["total"]
    found = explore(q="space", parts="hits,keys", limit=100)
    assert [hit["key"] for hit in found["hits"]] == found["keys"][:99][: len(found["hits"])]


def test_a_search_of_all_catalogues_has_no_more_hits_than_one_of_one(explore: Callable[..., Any]) -> None:
    found = explore("/search", q="a", parts="keys", limit=20_000)
    assert len(found["hits"]) <= 100 < found["total"]


def test_nonsense_is_said_to_be_answered_by_nothing(explore: Callable[..., Any]) -> None:
    for address in ("/c/anime", "/search"):
        found = explore(address, q="qwxzv blorp")
        assert (found["evidence"], found["total"]) == ("none", 0)
        assert len(found["hits"]) <= 5


def test_a_misspelt_title_is_an_answer(explore: Callable[..., Any]) -> None:
    for address in ("/c/anime", "/search"):
        first = explore(address, q="fulmetal alchemst")["hits"][0]
        assert (first["title"], first["evidence"]) == ("Fullmetal Alchemist", "strong")


def test_the_catalogues_are_listed_with_what_to_begin_with(explore: Callable[..., Any]) -> None:
    (card,) = explore("/v1/catalogues")["catalogues"]
    assert (card["name"], card["title"], card["records"]) == ("anime", "Anime", explore()["total"])
    assert (card["has_map"], card["has_audio"], len(card["samples"])) == (False, False, 5)
    assert card["changed_at"].startswith("20")
    for sample in card["samples"]:
        assert explore(q=sample, parts="hits")["hits"], sample


@pytest.mark.parametrize(
    ("address", "status", "says"),
    [
        ("/c/anmie", 404, "did you mean 'anime'"),
        ("/c/anime?f.yaer=2015", 400, "did you mean 'year'"),
        ("/c/anime?r.type=1..2", 400, "'filters.type'"),
        ("/c/anime?r.year=new..", 400, "'new' is not a number"),
        ("/c/anime?x.yaer=2015", 400, "nothing can be excluded by it"),
        ("/c/anime?sort=yaer", 400, "did you mean 'year'"),
        ("/c/anime?f.tags=zzzzz", 400, "zzzzz"),
        ("/c/anime?parts=facets&facet=nope", 400, "'facet': no field 'nope' to filter by; there are "),
        ("/c/anime?parts=facets&facet=tag", 400, "did you mean 'tags'"),
        ("/c/anime?limit=0", 400, "'limit' must be a whole number from 1 to 100"),
    ],
)
def test_a_wrong_address_says_what_is_right(plain_site: Any, address: str, status: int, says: str) -> None:
    reply = plain_site.client.get(address, headers=plain_site.token("ada"))
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]


def test_what_the_page_reads_is_audited_and_not_kept_by_browsers(plain_site: Any) -> None:
    reply = plain_site.client.get("/c/anime?q=space", headers=plain_site.token("ada"))
    assert (reply.headers["cache-control"], "Accept" in reply.headers["vary"]) == ("no-store", True)
    noted = plain_site.last_note()
    assert (noted.operation, noted.target, noted.principal) == ("explore/catalogue", "anime", "ada")
    assert noted.parameters == {"query": "space"}
    plain_site.client.get("/c/anime?f.type=TV&x.tags=drama&sort=-year", headers=plain_site.token("ada"))
    limits = {"filters": {"type": ["TV"]}, "exclude": {"tags": ["drama"]}, "sort": "-year"}
    assert plain_site.last_note().parameters == {"query": "", **limits}


def test_only_those_who_may_search_are_answered(plain_site: Any) -> None:
    assert plain_site.client.get("/c/anime").status_code == 401
    plain_site.control.accounts.create_user(LOCAL_USER, "eve", password=None, roles=())
    for address in ("/c/anime", "/search?q=space", "/v1/catalogues"):
        assert plain_site.client.get(address, headers=plain_site.token("eve")).status_code == 403


def test_typing_in_the_page_uses_up_no_calls_and_has_a_limit_of_its_own(
    make_site: Callable[..., Any], plain: Library
) -> None:
    catalogues = [plain.app.open_catalogue("anime")]
    site = make_site(
        toolboxes=Toolbox(generic_tools(catalogues), catalogues=catalogues),
        rate_limit=RateLimitSettings(read_per_minute=2),
    )
    site.add_user("ada")
    headers = site.token("ada")
    statuses = [site.client.get("/v1/catalogues", headers=headers).status_code for _ in range(21)]
    assert statuses == [200] * 20 + [429]
    call = {"query": "space", "limit": 1}
    calls = [site.client.post("/v1/tools/search", json=call, headers=headers).status_code for _ in range(3)]
    assert calls == [200, 200, 429]
