"""Passages of a text: along its headings, of a size, with true lines."""

import itertools

import pytest

from stackroom.text.chunks import (
    MOST_CHARS,
    READ_TOKENS,
    MeasuredText,
    Passage,
    estimate_tokens,
    split_passages,
)

pytestmark = pytest.mark.row("T10")


def measured(text: str) -> int:
    return MeasuredText(text).tokens(0, len(text))


SENTENCE = "The quick brown fox number {} jumps over the lazy dog and runs into the dark forest."


def prose(sentences: int, *, start: int = 0) -> str:
    return " ".join(SENTENCE.format(number) for number in range(start, start + sentences))


def headings(text: str) -> list[tuple[str, ...]]:
    return [passage.headings for passage in split_passages(text)]


def lines(passage: Passage, text: str) -> str:
    return "\n".join(text.split("\n")[passage.first_line - 1 : passage.last_line])


def test_there_is_no_passage_where_there_is_no_text() -> None:
    assert split_passages("") == []
    assert split_passages(" \n\t\n\f\n") == []


def test_each_section_of_the_second_level_is_a_passage_under_its_headings() -> None:
    text = f"# Guide\n\n{prose(4)}\n\n## Start\n\n{prose(5)}\n\n## Stop\n\n{prose(5)}\n"
    assert headings(text) == [("Guide",), ("Guide", "Start"), ("Guide", "Stop")]
    assert [passage.title for passage in split_passages(text)] == ["Guide", "Start", "Stop"]
    assert split_passages(text)[1].text.startswith("## Start\n\nThe quick")


def test_short_sections_stay_apart_but_a_few_words_before_a_deeper_heading_go_with_it() -> None:
    text = (
        "# Conditions\n\nA list.\n\n## Blinded\n\nIt cannot see.\n\n## Deafened\n\nIt cannot"
        " hear.\n"
    )
    first, second = split_passages(text)
    assert first.text == "# Conditions\n\nA list.\n\n## Blinded\n\nIt cannot see."
    assert second.headings == ("Conditions", "Deafened")


def test_a_heading_without_a_text_goes_with_what_follows_or_with_what_precedes_at_the_end() -> None:
    assert len(split_passages(f"## Empty\n\n## Full\n\n{prose(5)}\n")) == 1
    (passage,) = split_passages(f"## Full\n\n{prose(5)}\n\n## Later")
    assert (passage.headings, passage.last_line) == (("Full",), 5)
    assert [passage.text for passage in split_passages("# Only a title")] == ["# Only a title"]


def test_deeper_headings_share_a_passage_until_it_has_enough() -> None:
    small = "".join(f"### Part {number}\n\n{prose(2)}\n\n" for number in range(6))
    passages = split_passages(f"## All\n\n{small}")
    assert 2 <= len(passages) < 6
    assert all(passage.text.startswith("##") for passage in passages)


def test_a_long_section_is_cut_between_sentences_with_the_last_one_said_again() -> None:
    text = f"## Long\n\n{prose(60)}\n"
    passages = split_passages(text)
    assert len(passages) > 3
    for passage in passages[:-1]:
        assert 150 <= measured(passage.text) <= READ_TOKENS
    for before, after in itertools.pairwise(passages):
        assert after.text.startswith("The quick")
        assert before.text.endswith("forest.")
        last = before.text.rsplit(". ", 1)[1]
        assert after.text.startswith(last)
        assert not before.text.startswith(after.text[:80])


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_a_hash_in_fenced_code_is_no_heading(fence: str) -> None:
    text = f"# Real\n\n{prose(3)}\n\n{fence}sh\n# a comment\n## another\n{fence}\n\nAfter it.\n"
    (passage,) = split_passages(text)
    assert passage.headings == ("Real",)


def test_a_fence_is_closed_by_its_own_kind_and_an_open_one_goes_to_the_end() -> None:
    assert headings(f"~~~\n```\n# no\n~~~\n\n# Yes\n\n{prose(2)}") == [("Yes",)]
    assert headings("text before\n\n```\n# no\n\n# no\n") == [()]


def test_code_and_tables_are_kept_whole_where_they_fit() -> None:
    code = (
        "```python\n"
        + "\n".join(f"value_{number} = compute({number})" for number in range(18))
        + "\n```"
    )
    table = "| a | b |\n|---|---|\n" + "\n".join(
        f"| row {number} | {number} |" for number in range(25)
    )
    for block in (code, table):
        passages = split_passages(f"## S\n\n{prose(14)}\n\n{block}\n\n{prose(14, start=20)}\n")
        assert sum(block in passage.text for passage in passages) == 1


def test_what_does_not_fit_is_cut_at_lines_and_at_worst_anywhere() -> None:
    code = (
        "```\n"
        + "\n".join(f"line {number} of a very long listing" for number in range(400))
        + "\n```"
    )
    endless = "x" * 20_000
    for text in (
        code,
        endless,
        "日本語の文章です。" * 1_000,
        "* " * 5_000,
        "| - " * 5_000,
        "https://a.b/c " * 1_000,
    ):
        passages = split_passages(text)
        assert len(passages) > 3
        assert all(len(passage.text) <= MOST_CHARS for passage in passages)
        assert all(measured(passage.text) <= READ_TOKENS for passage in passages)


def test_underlined_headings_are_recognised_and_rules_are_not() -> None:
    text = f"Title\n=====\n\n{prose(4)}\n\nChapter\n-------\n\n{prose(4)}\n\n---\n\nAfter a rule.\n"
    assert headings(text) == [("Title",), ("Title", "Chapter")]
    assert headings("- item\n---\n\ntext") == [()]
    assert headings("| a |\n---\ntext") == [()]


def test_a_passage_ends_before_a_paragraph_that_does_not_fit_in_it() -> None:
    first, second = prose(7), prose(7, start=20)
    one, two = split_passages(f"## Two paragraphs\n\n{first}\n\n{second}\n")
    assert one.text.endswith(first)
    assert two.text.endswith(second)


def test_a_run_of_headings_without_texts_is_cut_too() -> None:
    text = "".join(f"### A heading of a few words, number {number}\n\n" for number in range(80))
    passages = split_passages(text)
    assert len(passages) > 3
    assert all(measured(passage.text) <= READ_TOKENS for passage in passages)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("The cat sat, twice.", 6),
        ("internationalisation", 4),
        ("9936678fd62d27141a02ab5482f2492003f508d5", 21),
        ("日本語の文章", 6),
        ("snake_case", 3),
    ],
)
def test_long_words_numbers_signs_and_other_scripts_have_more_tokens(
    text: str, tokens: int
) -> None:
    assert estimate_tokens(text) == tokens
    assert MeasuredText(text).tokens(0, len(text)) == tokens
