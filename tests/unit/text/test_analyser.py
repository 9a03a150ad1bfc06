"""Tokens of texts, and a query's words as weighted terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.text.analyser import (
    MAX_CHARS,
    SYNONYM_WEIGHT,
    analyse_query,
    index_tokens,
    is_english,
    query_tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sad story about friendship", True),
        ("Les Misérables", True),
        ("the café of Amélie", True),
        ("ein Junge und der Hund", False),
        ("une histoire de pirates", False),
        ("進撃の巨人", False),
        ("1984", True),
        ("?!", True),
    ],
)
def test_the_language_of_a_question_is_told_where_several_words_show_it(
    text: str, expected: bool
) -> None:
    assert is_english(text) is expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Running Robots", ["run", "robot"]),
        ("Pokémon", ["pokemon"]),
        ("slice-of-life", ["slice", "of", "life"]),
        ("what's", ["what"]),
        ("O’Brien’s isn't", ["obrien", "isnt"]),
        ("snake_case", ["snake", "case"]),
        ("1990s", ["1990s"]),
        ("C++, C# & C", ["c", "c++", "c", "c#", "c"]),
        ("3.5", ["3", "5"]),
        ("Ёжики", ["ежики"]),
        ("हिन्दी में।", ["हिन्दी", "में"]),
        ("تُحِبّ", ["تحب"]),
        ("", []),
        (" -!? ", []),
    ],
)
def test_words_are_folded_and_stemmed_alike_at_build_and_at_query(
    text: str, tokens: list[str]
) -> None:
    assert index_tokens(text) == tokens
    assert query_tokens(text) == tokens


@pytest.mark.parametrize("run", ["進撃", "히어", "ไท", "ガン"])
def test_an_unspaced_run_is_indexed_as_singles_and_pairs_and_asked_for_by_pairs(run: str) -> None:
    assert index_tokens(run) == [*run, run]
    assert query_tokens(run) == [run]


def test_scripts_side_by_side_are_told_apart() -> None:
    assert query_tokens("NARUTO疾風伝2") == ["naruto", "疾風", "風伝", "2"]


def test_a_turkish_word_is_also_indexed_without_its_dotless_letter() -> None:
    assert index_tokens("Kırmızı") == ["kırmızı", "kirmizi"]
    assert query_tokens("Kırmızı") == ["kırmızı"]
    assert query_tokens("KIRMIZI") == ["kirmizi"]


@given(text=st.text(alphabet=st.sampled_from("ab1'’+#_-. \n\u00a0éİıß花カไहि—٣Ａ"), max_size=40))
def test_a_text_is_indexed_as_its_words_are_asked_for_but_for_scripts_without_spaces(
    text: str,
) -> None:
    spaced = "".join(" " if letter in "花カไı" else letter for letter in text)
    assert index_tokens(spaced) == query_tokens(spaced)


SYNONYMS = {"mecha": ("giant robot",), "giant robot": ("mecha",), "sci-fi": ("science fiction",)}


def terms(text: str) -> dict[str, float]:
    return dict(analyse_query(text, synonyms={}).terms)


def test_function_words_are_kept_when_there_is_nothing_else() -> None:
    assert set(terms("what if")) == {"what", "if"}
    assert set(terms("Now and Then")) == {"now", "and", "then"}


def test_a_repeated_word_weighs_more() -> None:
    assert terms("dragon dragons robot") == {"dragon": 2.0, "robot": 1.0}


def test_only_the_first_two_thousand_characters_are_read() -> None:
    assert "needl" not in terms("x" * MAX_CHARS + " needle")
    assert "needl" in terms("x" * (MAX_CHARS - 10) + " needle")


def test_synonyms_are_added_with_less_weight() -> None:
    found = dict(analyse_query("mecha", synonyms=SYNONYMS).terms)
    assert found == {"mecha": 1.0, "giant": SYNONYM_WEIGHT, "robot": SYNONYM_WEIGHT}


def test_a_synonym_of_two_words_is_seen_in_the_query() -> None:
    assert ("mecha", SYNONYM_WEIGHT) in analyse_query(
        "a Giant Robot story", synonyms=SYNONYMS
    ).terms


def test_punctuation_does_not_hide_a_synonym() -> None:
    assert ("scienc", SYNONYM_WEIGHT) in analyse_query("drama, sci-fi!", synonyms=SYNONYMS).terms


def test_a_word_that_was_written_keeps_its_weight_when_it_is_also_a_synonym() -> None:
    assert dict(analyse_query("mecha robot", synonyms=SYNONYMS).terms)["robot"] == 1.0
