"""The gate: the one path that every call takes."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field

from stackroom.gate.gate import Gate
from stackroom.model.principal import Action, Cost, Principal
from stackroom.tools.operation import AnyOperation
from stackroom.tools.spec import ToolParams, ToolResult
from stackroom.tools.toolbox import Toolbox
from support.plain_tools import make_tool
from support.work import count_calls

READER = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))


class Filters(ToolParams):
    year_min: int | None = None


class Params(ToolParams):
    query: str
    limit: int = Field(default=10, ge=1, le=50)
    filters: Filters | None = None


class Result(ToolResult):
    found_by: str
    count: int


def greet(principal: Principal, params: Params) -> Result:
    return Result(found_by=f"{principal.name}: {params.query}", count=params.limit)


def tool(
    name: str,
    run: Callable[[Principal, Any], Result] = greet,
    action: Action = Action.ACCESS_CATALOG,
) -> AnyOperation:
    return make_tool(
        name=name,
        title=name,
        description="",
        params=Params,
        result=Result,
        action=action,
        cost=Cost.READ,
        run=run,
        text=lambda result: f"{result.count} found",
    )


GATE = Gate(Toolbox([tool("search"), tool("edit", action=Action.EDIT_CATALOG), tool("browse")]))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"query": "x", "limt": 3},
            "unknown argument 'limt' (did you mean 'limit'?); known: query, limit, filters",
        ),
        ({"query": "x", "limit": 51}, "'limit': must be 50 or less (given: '51')"),
        (
            {"query": "x", "filters": {"yearmin": 1}},
            "unknown argument 'filters.yearmin' (did you mean 'yearMin'?)",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_answered_with_what_would_be_right(
    arguments: dict[str, Any], says: str
) -> None:
    answer = GATE.call(READER, "search", arguments)
    assert answer.error_code == "invalid_input"
    assert answer.structured is None
    assert says in answer.text


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = GATE.call(READER, "search", {"limit": 99, "x": 1}).text
    assert "'query' is missing" in text
    assert "'limit'" in text
    assert "unknown argument 'x'" in text


def test_a_long_wrong_value_is_not_repeated_in_full() -> None:
    assert len(GATE.call(READER, "search", {"query": "x", "limit": "9" * 10_000}).text) < 300


def test_a_long_wrong_name_is_neither_repeated_in_full_nor_compared_at_length() -> None:
    text = GATE.call(READER, "search", {"query": "x", "limit of a kind " * 200_000: 3}).text
    assert len(text) < 400
    assert "known: query, limit, filters" in text


def test_of_many_problems_the_first_are_named_and_of_far_too_many_none() -> None:
    text = GATE.call(
        READER, "search", {"query": "x", **{f"x{number}": 1 for number in range(50)}}
    ).text
    assert text.count("unknown argument") == 10
    assert text.endswith("; and 40 more")
    text = GATE.call(READER, "search", {f"x{number}": 1 for number in range(1000)}).text
    assert "1000 arguments are too many; known: query, limit, filters" in text


@pytest.mark.parametrize(
    "many",
    [
        [1] * 1_000_000,
        {"yearMin": [[1] * 1000] * 100},
        {f"x{number}": {"y": 1} for number in range(6_000)},
    ],
    ids=["list", "lists in a list", "objects in an object"],
)
def test_far_too_many_values_are_refused_before_each_of_them_is_looked_at(many: Any) -> None:
    texts = []
    calls = count_calls(
        lambda: texts.append(GATE.call(READER, "search", {"query": "x", "filters": many}).text)
    )
    assert calls < 60_000
    (text,) = texts
    assert (
        text
        == "invalid_input: the arguments have more than 10,000 values in all; give fewer at once"
    )


def test_of_fewer_the_first_that_are_wrong_are_named() -> None:
    text = GATE.call(
        READER, "search", {"query": "x", "filters": {f"x{number}": 1 for number in range(9_000)}}
    ).text
    assert "unknown argument 'filters.x0'; known: yearMin" in text
    assert text.endswith("; and 8990 more")


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="the same name"):
        Gate(Toolbox([tool("search"), tool("search")]))
