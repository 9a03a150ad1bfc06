"""`explain`: why a record is in the answer of a tool, or why not, for whoever may search."""

from typing import Any

import pytest

pytestmark = pytest.mark.row("N3")
TASTE = {"likes": ["Cowboy Bebop"], "limit": 5}


def explain(site: Any, **body: Any) -> Any:
    return site.by_token("ada").post("/v1/tools/explain", json={"id": "anime/mal-1", **body})


@pytest.mark.parametrize(
    ("record", "given", "cut", "says"),
    [
        (
            "Trigun",
            {"wishes": "after 2010"},
            "condition",
            "'year ≥ 2011' leaves it out: it has 1998",
        ),
        (
            "Trigun",
            {"wishes": "5 hours"},
            "condition",
            "'episodes × duration ≤ 300' leaves it out: it has 26, 2",
        ),
        (
            "Trigun",
            {"wishes": "not western"},
            "condition",
            "'tags is not western' leaves it out: it has western",
        ),
        (
            "Trigun",
            {"filters": {"type": ["MOVIE"]}},
            "condition",
            "'type is MOVIE' leaves it out: it has TV",
        ),
        ("Cowboy Bebop", {}, "named", "it is one of the records that were given"),
        ("Doraemon", {}, "limit", "by its score it is number "),
        ("Ashita no Joe", {}, "depth", "it is not among the "),
    ],
)
def test_a_reader_is_told_why_a_record_is_not_recommended(
    plain_site: Any, record: str, given: dict[str, Any], cut: str, says: str
) -> None:
    told = explain(
        plain_site, id=f"anime/{record}", tool="recommend", arguments={**TASTE, **given}
    ).json()
    assert (told["found"], told["cut"]) == (False, cut)
    assert told["because"][0].startswith(says)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"id": "anime/mal-0"}, 404, "no record 'anime/mal-0'"),
        ({"id": "anmie/mal-1"}, 404, "did you mean 'anime'"),
        ({"tool": "recommendd"}, 400, "did you mean 'recommend'"),
        ({"arguments": {"query": "x", "limit": 0}}, 400, "'arguments' of 'search': 'limit'"),
        ({"arguments": {}}, 400, "'query' is missing"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(
    plain_site: Any, body: dict[str, Any], status: int, says: str
) -> None:
    reply = explain(plain_site, **{"arguments": {"query": "x"}, **body})
    assert reply.status_code == status
    assert says in reply.json()["error"]["message"]
