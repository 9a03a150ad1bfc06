"""A result set as the page asks for it: `search` and `browse` over REST, with the parts that it
draws.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.row("N2")

SENTENCE = "melancholy films after 2010, not horror"


@pytest.fixture
def explore(plain_site: Any) -> Callable[..., Any]:
    """Ask for a result set of the sample catalogue."""
    ada = plain_site.by_token("ada")

    def ask(query: str = "*", **given: Any) -> Any:
        asked = {
            "query": query,
            "catalogue": "anime",
            "read_conditions": True,
            "include": ["tiles", "counts"],
            "limit": 24,
            **given,
        }
        reply = ada.post("/v1/tools/search", json=asked)
        assert reply.status_code == 200, reply.text
        return reply.json()

    return ask


def test_a_sentence_is_a_query_with_conditions_that_can_be_taken_back(
    explore: Callable[..., Any],
) -> None:
    found = explore(SENTENCE)
    understood = found["understood"]
    assert (understood["query"], understood["filters"], understood["exclude"]) == (
        "melancholy",
        {"type": ["MOVIE"], "year": {"min": 2011}},
        {"tags": ["horror"]},
    )
    assert [(one["phrase"], one["text"]) for one in understood["phrases"]] == [
        ("films", "Type: Movie"),
        ("after 2010", "Year ≥ 2011"),
        ("not horror", "not horror"),
    ]
    assert all("horror" not in str(one["tile"]["fields"]) for one in found["results"])
    taken_back = explore(SENTENCE, as_words=["after 2010", "films"])["understood"]
    assert (taken_back["query"], taken_back["filters"]) == ("melancholy films after 2010", {})


def test_conditions_of_the_query_and_those_by_hand_hold_together_where_they_can(
    explore: Callable[..., Any],
) -> None:
    by_hand = {"type": ["movie", "tv"], "year": {"min": "2005", "max": "2015"}}
    both = explore("films after 2010", filters=by_hand)
    assert both["understood"]["filters"] == {"type": ["MOVIE"], "year": {"min": 2011, "max": 2015}}
    assert [one["phrase"] for one in both["understood"]["phrases"]] == ["films", "after 2010"]
    assert both["notes"] == []
    others = {"type": ["tv"], "year": {"max": "2005"}}
    against = explore("films after 2010", filters=others)
    assert (against["understood"]["phrases"], against["total"]) == (
        [],
        explore(filters=others)["total"],
    )
    assert against["notes"] == [
        "'films' was left aside: it does not go with what you chose under Type",
        "'after 2010' was left aside: it does not go with what you chose under Year",
    ]


def test_words_for_a_mood_only_order_what_has_the_conditions(explore: Callable[..., Any]) -> None:
    found = explore(SENTENCE, include=["counts", "facets"])
    limits = {
        "filters": {"type": ["MOVIE"], "year": {"min": 2011}},
        "exclude": {"tags": ["horror"]},
    }
    every = explore(**limits)
    assert (found["evidence"], found["only_orders"]) == ("weak", True)
    assert found["total"] == found["listed"] == every["total"] > 5
    kinds = next(facet for facet in found["facets"] if facet["field"] == "type")
    assert [one["count"] for one in kinds["values"] if one["chosen"]] == [every["total"]]
    asked_by_a_tool = explore("melancholy", **limits)
    assert [one["id"] for one in asked_by_a_tool["results"]] == [
        one["id"] for one in found["results"]
    ]
    topic = explore("qwxzv films after 2010")
    assert (topic["evidence"], topic["only_orders"]) == ("none", False)


def test_the_name_of_a_record_states_nothing(explore: Callable[..., Any]) -> None:
    found = explore("no game no life")
    assert (found["understood"]["phrases"], found["results"][0]["title"]) == ([], "No Game No Life")


def test_a_sorted_search_has_what_answers_before_what_is_only_near(
    explore: Callable[..., Any],
) -> None:
    found = explore(
        "space adventure of robots", sort="-year", include=["cells", "counts"], limit=50
    )
    answers = [one["relevance"] is not None for one in found["results"]]
    assert answers == sorted(answers, reverse=True)
    assert sum(answers) == found["total"] < len(answers)
    years = [int(one["tile"]["cells"]["year"]) for one in found["results"][: found["total"]]]
    assert years == sorted(years, reverse=True)


def test_values_of_a_facet_are_looked_for(explore: Callable[..., Any]) -> None:
    (facet,) = explore(include=["facets"], facet="tags", like="rom")["facets"]
    assert "romance" in [value["value"] for value in facet["values"]]
    assert len(facet["values"]) < 10


def test_the_catalogues_are_described_with_what_to_begin_with(
    plain_site: Any, explore: Callable[..., Any]
) -> None:
    asked = {"include": ["fields"], "limit": 200}
    answer = plain_site.by_token("ada").post("/v1/tools/browse", json=asked).json()
    (catalogue,) = answer["catalogues"]
    overview = catalogue["overview"]
    assert (catalogue["name"], catalogue["title"], overview["listed"]) == (
        "anime",
        "Anime",
        explore()["total"],
    )
    assert (overview["has_vectors"], overview["has_audio"], len(overview["samples"])) == (
        False,
        False,
        5,
    )
    assert overview["changed_at"].startswith("20")
    assert next(field for field in overview["fields"] if field["field"] == "year")["sortable"]
    for sample in overview["samples"]:
        assert explore(sample)["results"], sample


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"exclude": {"yaer": ["2015"]}}, 400, "nothing can be excluded by it"),
        ({"sort": "yaer"}, 400, "did you mean 'year'"),
        (
            {"include": ["facets"], "facet": "nope"},
            400,
            "'facet': no field 'nope' to filter by; there are ",
        ),
    ],
)
def test_a_wrong_part_says_what_is_right(
    plain_site: Any, asked: dict[str, Any], status: int, says: str
) -> None:
    given = {"query": "*", "catalogue": "anime", **asked}
    reply = plain_site.by_token("ada").post("/v1/tools/search", json=given)
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]


def test_a_result_set_is_downloaded_whole_as_it_is_filtered_and_sorted(plain_site: Any) -> None:
    search = {"catalogue": "anime", "query": "*", "filters": {"type": ["MOVIE"]}, "sort": "-year"}
    asked = {"format": "jsonl", "search": json.dumps(search)}
    reply = plain_site.by_token("ada").get("/v1/export", params=asked)
    assert reply.headers["content-disposition"] == "attachment; filename*=utf-8''anime.jsonl"
    years = [json.loads(line)["year"] for line in reply.text.splitlines()]
    assert len(years) > 40
    assert years == sorted(years, reverse=True)


@pytest.mark.parametrize("asked", [{}, {"search": "{}", "browse": "{}"}])
def test_a_download_is_of_records_or_of_figures(plain_site: Any, asked: dict[str, str]) -> None:
    params = {"format": "csv", **asked}
    reply = plain_site.by_token("ada").get("/v1/export", params=params)
    assert reply.json()["error"]["message"] == "give 'search' or 'browse'"


@pytest.mark.parametrize(
    ("search", "says"),
    [("[", "not valid JSON"), ("[]", "must be a JSON object"), ('{"qury": "x"}', "did you mean")],
)
def test_a_download_with_other_arguments_than_those_of_search_is_refused(
    plain_site: Any, search: str, says: str
) -> None:
    asked = {"format": "csv", "search": search}
    reply = plain_site.by_token("ada").get("/v1/export", params=asked)
    assert reply.status_code == 400
    assert says in reply.json()["error"]["message"]
