"""Answers that are cut to a budget."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stackroom.errors import InputError
from stackroom.text.safe import shorten
from stackroom.tools.budget import (
    DEFAULT_TOKENS,
    Forms,
    OffsetParams,
    PagedParams,
    PricedResult,
    fit_answer,
    shorten_list,
    shorten_value,
)
from stackroom.tools.spec import ToolResult

pytestmark = pytest.mark.row("N8")


class Item(ToolResult):
    """A result with a long text."""

    id: int
    text: str


class Listed(PricedResult):
    """An answer with shortened texts."""

    long_texts = ("text",)
    results: list[Item]


class Passages(Listed):
    """An answer with whole passages."""

    has_passages = True


class Params(PagedParams):
    """The arguments of a list."""

    limit: int = 10


def render(result: ToolResult) -> Forms:
    structured = result.model_dump(mode="json")
    return Forms(structured=structured, text=json.dumps(structured, ensure_ascii=False))


def answer(kind: type[Listed], texts: list[str], **arguments: Any) -> dict[str, Any]:
    """Return the structured answer of a tool that lists these texts."""
    params = Params(**arguments)
    items = [Item(id=number, text=text) for number, text in enumerate(texts)][params.start :]
    return fit_answer(kind(results=items), params, render).structured


def test_a_text_that_is_shorter_than_the_json_has_all_that_fits_it_and_its_own_cursor() -> None:
    items = [Item(id=number, text="ö" * 40) for number in range(40)]
    forms = fit_answer(
        Passages(results=items),
        Params(max_tokens=500),
        lambda shown: replace(render(shown), text=str(shown)),
    )
    told = forms.text.count("Item(")
    assert len(forms.structured["results"]) < told == len((forms.told or {})["results"]) < 40
    assert f"cursor='{told}'" in forms.text
    assert 400 < forms.text_tokens <= 500


def test_without_a_budget_an_answer_has_the_default_one_unless_the_call_names_its_own() -> None:
    texts = ["a long text " * 200] * 10
    assert len(json.dumps(answer(Listed, texts))) <= DEFAULT_TOKENS * 4
    assert [one["text"] for one in answer(Listed, texts, limit=10)["results"]] == texts


def test_long_texts_are_shortened_before_results_are_left_out_and_the_answer_says_so() -> None:
    found = answer(Listed, ["a long text " * 200] * 10, max_tokens=1000)
    assert len(found["results"]) == 10
    assert all(one["text"].endswith(" …") for one in found["results"])
    assert found["notes"] == [
        "long texts and lists are cut to fit max_tokens; whole with a greater max_tokens"
    ]


def test_passages_stay_whole_and_the_cursor_names_the_rest() -> None:
    passage = "a passage of some length " * 20
    found = answer(Passages, [passage] * 10, max_tokens=400)
    assert [one["text"] for one in found["results"]] == [passage] * 2
    assert found["cursor"] == "2"
    assert found["notes"] == ["2 of 10 fit max_tokens; the rest with cursor '2'"]


def test_a_single_passage_that_is_too_long_is_cut() -> None:
    found = answer(Passages, ["word " * 2_000], max_tokens=400)
    assert 200 < len(found["results"][0]["text"]) < 1_600


@given(
    st.lists(st.text(max_size=800), max_size=30),
    st.integers(100, 800),
    st.sampled_from([Listed, Passages]),
)
def test_the_pages_of_a_budget_have_every_result_once_and_each_fits(
    texts: list[str], tokens: int, kind: type[Listed]
) -> None:
    seen: list[int] = []
    cursor: str | None = None
    for _ in range(len(texts) + 1):
        found = answer(kind, texts, max_tokens=tokens, cursor=cursor)
        assert len(json.dumps(found)) <= 4 * max(tokens, 200)
        seen += [one["id"] for one in found["results"]]
        cursor = found.get("cursor")
        if cursor is None:
            break
    assert seen == list(range(len(texts)))


@pytest.mark.parametrize("cursor", ["", "0", "-1", "nonsense", "1e3", "9" * 20])
def test_a_wrong_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InputError, match="'cursor' is not valid here"):
        answer(Listed, [], cursor=cursor)


@given(st.text(max_size=300), st.integers(1, 300))
@example(" " * 9, 3)
@example("\r0", 1)
def test_a_shortened_text_is_a_beginning_with_a_mark(text: str, chars: int) -> None:
    short = shorten(text, chars)
    assert short == text if len(text) <= chars else text.startswith(short.removesuffix(" …"))
    assert len(short) <= chars + 2 or short == text


def test_a_shortened_list_has_its_first_values_and_at_least_one() -> None:
    assert shorten_list(["one", "two", "three"], 11) == ["one", "two"]
    assert shorten_list(["a long one", "two"], 5) == ["a long one"]
    assert shorten_list([Item(id=1, text="x")] * 3, 40) == [Item(id=1, text="x")] * 2
    assert shorten_list([], 5) == []


def test_an_answer_with_an_offset_has_no_cursor() -> None:
    items = [Item(id=number, text="a long text " * 20) for number in range(10)]
    found = fit_answer(Passages(results=items), OffsetParams(max_tokens=400), render).structured
    assert "cursor" not in found
    assert found["notes"] == ["5 of 10 fit max_tokens; the rest with offset 5"]


def test_a_cursor_past_the_last_item_gives_a_note_and_an_answer_that_fits_has_none() -> None:
    past = answer(Listed, ["one", "two"], cursor="2")
    assert past == {
        "results": [],
        "notes": ["there is nothing after cursor '2'; start again without it"],
    }
    assert answer(Listed, ["word"], max_tokens=400) == {"results": [{"id": 0, "text": "word"}]}


def test_a_value_that_is_too_long_is_cut_and_a_short_one_is_as_it_was() -> None:
    assert shorten_value("one two three", 8) == "one two …"
    assert shorten_value(["one", "two"], 6) == ["one"]
    assert shorten_value({"a": 1}, 60) == {"a": 1}
    assert shorten_value({"a": "one two three"}, 12).endswith("…")
    assert shorten_value(12_345_678, 3) == 12_345_678
