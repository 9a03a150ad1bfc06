"""The texts of the judoka tools, their sizes, and their pages under a budget."""

import json
from typing import Any

import pytest

from support.texts import values_missing_from_text

pytestmark = [pytest.mark.row("N8"), pytest.mark.row("J2")]

CODE = "VZL6-J823-2DQ7-EB57-NZ43-WN4U-J9MX-NKUW-XMZF-SVUX-W"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("query_rag", {"query": "how does scoring work"}),
    ("query_rag", {"query": "strong judoka from Japan"}),
    ("query_rag", {"query": "municipal wastewater permits"}),
    ("judokon.search", {"query": "strong judoka from Japan"}),
    ("judokon.search", {"query": "judoka", "topK": 50}),
    ("judokon.search", {"query": "judoka", "filters": {"country": "Japan"}}),
    ("judokon.getById", {"id": 1}),
    ("judokon.random", {"seed": 3}),
    ("judokon.resolveCode", {"code": CODE}),
    ("judokon.validateCardCode", {"code": CODE}),
    ("judokon.validateCardCode", {"code": "nothing like it"}),
    ("judokon.compare", {"idA": 1, "idB": 2}),
    ("judokon.suggestOpponent", {"id": 1}),
    ("judokon.listCountries", {}),
]
PAGED: list[tuple[str, dict[str, Any], str]] = [
    ("query_rag", {"query": "judoka"}, "results"),
    ("judokon.search", {"query": "judoka"}, "results"),
    ("judokon.search", {"query": "judoka", "filters": {"gender": "male"}}, "results"),
    ("judokon.suggestOpponent", {"id": 1}, "opponents"),
    ("judokon.listCountries", {}, "countries"),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_the_text_says_everything_that_the_structured_content_does(
    judokon: Any, tool: str, arguments: dict[str, Any]
) -> None:
    answer = judokon.call(tool, **arguments)
    assert not answer.is_error, answer.text
    assert values_missing_from_text(answer.structured, answer.text) == []


@pytest.mark.parametrize(("tool", "arguments", "name"), PAGED)
def test_pages_under_a_budget_have_every_item_once_and_each_fits(
    judokon: Any, tool: str, arguments: dict[str, Any], name: str
) -> None:
    seen, cursor = [], None
    for _ in range(50):
        answer = judokon.call(tool, **arguments, max_tokens=150, cursor=cursor)
        assert max(len(json.dumps(answer.structured)), len(answer.text.encode())) <= 600
        seen += [json.dumps(one) for one in answer.structured[name]]
        cursor = answer.structured.get("cursor")
        if cursor is None:
            break
        assert f"cursor '{cursor}'" in answer.text
    sizes = {"topK": 50 if tool == "judokon.search" else 10}
    whole = judokon.call(tool, **arguments, **(sizes if "listCountries" not in tool and tool != "query_rag" else {}))
    wanted = [json.dumps(one) for one in whole.structured[name]]
    assert seen[: len(wanted)] == wanted
    assert len(set(seen)) == len(seen)


def test_the_text_of_a_search_has_all_of_its_results(judokon: Any) -> None:
    answer = judokon.call("judokon.search", query="judoka", topK=50, filters={"weightMin": 1})
    shown = [f"[{one['id']}]" in answer.text for one in answer.structured["results"]]
    assert len(shown) >= 5
    assert all(shown)


def test_a_long_card_is_cut_to_a_budget_and_says_so(judokon: Any) -> None:
    whole, cut = (judokon.call("judokon.getById", id=1, **sized).structured for sized in ({}, {"max_tokens": 100}))
    assert "notes" not in whole
    assert whole.keys() <= cut.keys() | {"notes"}
