"""Text into tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.text.analyser import MAX_TOKEN_CHARS, index_tokens, query_tokens


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
def test_words_are_folded_and_stemmed_alike_at_build_and_at_query(text: str, tokens: list[str]) -> None:
    assert index_tokens(text) == tokens
    assert query_tokens(text) == tokens


@pytest.mark.parametrize("form", ["run", "runs", "running", "RUNS", "Running"])
def test_the_forms_of_an_english_word_share_one_token(form: str) -> None:
    assert query_tokens(form) == index_tokens("run")


@pytest.mark.parametrize("run", ["進撃", "히어", "ไท", "ガン"])
def test_an_unspaced_run_is_indexed_as_singles_and_pairs_and_asked_for_by_pairs(run: str) -> None:
    assert index_tokens(run) == [*run, run]
    assert query_tokens(run) == [run]


def test_a_single_unspaced_character_is_asked_for_as_it_is() -> None:
    assert query_tokens("花") == ["花"]
    assert "花" in index_tokens("鬼滅の花")


def test_scripts_side_by_side_are_told_apart() -> None:
    assert query_tokens("NARUTO疾風伝2") == ["naruto", "疾風", "風伝", "2"]


def test_half_width_kana_are_found_by_full_width_ones() -> None:
    assert query_tokens("ｱﾆﾒ") == query_tokens("アニメ")


def test_an_endless_word_is_cut() -> None:
    assert [len(token) for token in index_tokens("é" * 500)] == [MAX_TOKEN_CHARS]


def test_a_turkish_word_is_also_indexed_without_its_dotless_letter() -> None:
    assert index_tokens("Kırmızı") == ["kırmızı", "kirmizi"]
    assert query_tokens("Kırmızı") == ["kırmızı"]
    assert query_tokens("KIRMIZI") == ["kirmizi"]


@given(text=st.text(alphabet=st.sampled_from("ab1'’+#_-. \n\u00a0éİıß花カไहि—٣Ａ"), max_size=40))
def test_a_text_is_indexed_as_its_words_are_asked_for_but_for_scripts_without_spaces(text: str) -> None:
    spaced = "".join(" " if letter in "花カไı" else letter for letter in text)
    assert index_tokens(spaced) == query_tokens(spaced)
