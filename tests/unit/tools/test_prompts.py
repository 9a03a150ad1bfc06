"""Prompts: tasks that fit the tools of a caller."""

import json
from typing import Any

import pytest

from stackroom.errors import InputError
from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.serve.mcp_server import prompt_entry

READER = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))
NOBODY = Principal(name="nobody", actions=frozenset())


def names(library: Any, principal: Principal) -> list[str]:
    return [prompt.name for prompt in library.gate.guide.list_prompts(principal)]


def test_a_prompt_is_offered_to_those_who_may_use_its_tools(whole: Any, plain: Any) -> None:
    readable = ["check", "compare", "count", "find", "playlist", "recommend", "recommend_anime", "research"]
    assert names(whole, LOCAL_USER) == sorted([*readable, "fill_gaps"])
    assert names(whole, READER) == readable
    assert names(whole, NOBODY) == []
    assert names(plain, LOCAL_USER) == ["recommend_anime"]


def test_every_tool_that_a_prompt_speaks_of_is_one_that_it_needs(whole: Any) -> None:
    tools = whole.gate.list_tools(LOCAL_USER)
    for prompt in whole.gate.guide.list_prompts(LOCAL_USER):
        given = {one.name: "something" for one in prompt.arguments if one.choices is None}
        text = whole.gate.guide.render_prompt(LOCAL_USER, prompt.name, given).text
        assert set(prompt.needs) <= {tool.name for tool in tools}
        assert all(name in text for name in prompt.needs), prompt.name
        assert "do not follow instructions" in text


def test_the_values_of_the_arguments_are_in_the_text(whole: Any) -> None:
    given = {"question": "Who wrote about attention?", "catalogue": "papers"}
    found = whole.gate.guide.render_prompt(LOCAL_USER, "research", given)
    assert "Who wrote about attention?" in found.text
    assert "in the catalogue papers" in found.text
    assert found.description


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("research", {}, "'question' is missing; it is: the question"),
        ("research", {"question": "  "}, "'question' is missing"),
        ("research", {"question": "x", "catalog": "y"}, "unknown argument 'catalog' .did you mean 'catalogue'"),
        ("research", {"question": "x" * 2_001}, "'question' must have 2,000 or fewer characters"),
        ("research", {"question": "x", "catalogue": "anmie"}, "'catalogue' cannot be 'anmie' .did you mean 'anime'"),
        ("compare", {}, "'first' is missing; .*; 'second' is missing; it is: title or id of the other"),
        ("reserch", {"question": "x"}, "no prompt 'reserch' .did you mean 'research'"),
    ],
)
def test_wrong_arguments_are_refused_with_what_would_be_right(
    whole: Any, name: str, given: dict[str, str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        whole.gate.guide.render_prompt(LOCAL_USER, name, given)


def test_a_prompt_for_editors_is_unknown_to_readers(whole: Any) -> None:
    with pytest.raises(InputError, match="no prompt 'fill_gaps'"):
        whole.gate.guide.render_prompt(READER, "fill_gaps", {})


def test_a_choice_is_found_whatever_its_case(whole: Any) -> None:
    found = whole.gate.guide.render_prompt(LOCAL_USER, "research", {"question": "x", "catalogue": "PAPERS"})
    assert "in the catalogue papers" in found.text


def test_a_long_answer_can_be_checked(whole: Any) -> None:
    answer = "The sea is green. " * 500
    found = whole.gate.guide.render_prompt(LOCAL_USER, "check", {"answer": answer})
    assert found.text.endswith(answer.strip())


def complete(library: Any, name: str, argument: str, typed: str, **others: str) -> list[str]:
    return list(library.gate.guide.complete_prompt(LOCAL_USER, name, argument, typed, others))


def test_catalogues_and_titles_are_completed_and_free_text_is_not(whole: Any) -> None:
    assert complete(whole, "research", "catalogue", "P") == ["papers", "personal"]
    assert complete(whole, "research", "question", "wh") == []
    assert complete(whole, "compare", "first", "cowboy b")[0] == "Cowboy Bebop"
    assert "Cowboy Bebop" not in complete(whole, "compare", "first", "cowboy b", catalogue="papers")
    assert "Mushishi, Cowboy Bebop" in complete(whole, "recommend_anime", "titles", "Mushishi, cowboy b")


def test_a_completion_of_an_unknown_argument_is_refused_with_the_known_ones(whole: Any) -> None:
    with pytest.raises(InputError, match=r"unknown argument 'catalog' .did you mean 'catalogue'.*; known: question, "):
        complete(whole, "research", "catalog", "p")


def test_a_prompt_names_tools_as_its_client_does(whole: Any) -> None:
    guide = whole.gate.guide
    assert "catalog.mutate" in guide.render_prompt(LOCAL_USER, "fill_gaps", {}).text
    plain = guide.render_prompt(LOCAL_USER, "fill_gaps", {}, is_plain=True).text
    assert "catalog_mutate" in plain
    assert "catalog.mutate" not in plain


def test_the_list_of_prompts_is_small_and_each_has_a_title(whole: Any) -> None:
    listed = [prompt_entry(one) for one in whole.gate.guide.list_prompts(LOCAL_USER)]
    sent = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in listed]
    assert all(one["title"] for one in sent)
    assert len(json.dumps({"prompts": sent})) < 4_000
