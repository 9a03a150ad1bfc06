"""Passages cover the text, in order, whatever it is."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.text.chunks import MOST_CHARS, READ_TOKENS, MeasuredText, split_passages

pytestmark = pytest.mark.row("T10")


def measured(text: str) -> int:
    return MeasuredText(text).tokens(0, len(text))


LINES = st.one_of(
    st.sampled_from(
        [
            *(
                "",
                "  ",
                "# One",
                "## Two",
                "### Three",
                "#### Four",
                "===",
                "---",
                "```",
                "~~~",
                "````",
                "| a | b |",
            ),
            *(
                "|---|---|",
                "- item",
                "1. item",
                "> quote",
                "    indented",
                "\f",
                "\fpage",
                "#tag",
                "<b>",
                "\u2028",
            ),
        ]
    ),
    st.text(st.characters(exclude_characters="\n"), max_size=40),
    st.integers(1, 90).map(lambda count: "word " * count),
    st.integers(1, 30).map(lambda count: "A sentence of some words. " * count),
    st.integers(1, 4000).map(lambda count: "x" * count),
)
TEXTS = st.one_of(st.lists(LINES, max_size=40).map("\n".join), st.text())


@given(TEXTS)
def test_every_line_with_something_on_it_is_in_a_passage(text: str) -> None:
    covered = {
        line
        for passage in split_passages(text)
        for line in range(passage.first_line, passage.last_line + 1)
    }
    wanted = {number for number, line in enumerate(text.split("\n"), start=1) if line.strip()}
    assert wanted <= covered


@given(TEXTS)
def test_every_word_is_in_a_passage_of_its_line(text: str) -> None:
    lines = text.split("\n")
    said = [""] * (len(lines) + 1)
    for passage in split_passages(text):
        for number in range(passage.first_line, passage.last_line + 1):
            said[number] += passage.text + "\n"
    for number, line in enumerate(lines, start=1):
        for word in line.split():
            assert len(word) > 300 or word in said[number]


@given(TEXTS)
def test_passages_are_in_order_and_never_empty(text: str) -> None:
    passages = split_passages(text)
    for passage in passages:
        assert passage.text.strip()
        assert 1 <= passage.first_line <= passage.last_line <= text.count("\n") + 1
    for before, after in itertools.pairwise(passages):
        assert before.first_line <= after.first_line
        assert before.last_line <= after.last_line


@given(TEXTS)
def test_passages_are_parts_of_the_text_and_of_a_size(text: str) -> None:
    for passage in split_passages(text):
        assert passage.text in text
        assert len(passage.text) <= MOST_CHARS
        assert measured(passage.text) <= READ_TOKENS
