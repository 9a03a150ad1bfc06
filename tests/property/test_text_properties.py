"""What holds for any text whatever."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz

from stackroom.text.analyser import (
    MAX_TERMS,
    MAX_TOKEN_CHARS,
    analyse_query,
    index_tokens,
    query_tokens,
)
from stackroom.text.normalise import clean, fold, fold_name
from stackroom.text.titles import CANDIDATES, TitleIndex
from support.titles import build_title_arrays

any_text = st.text(st.characters(), max_size=80)  # surrogates and control characters included
mixed_text = st.text(
    st.sampled_from("abC é'’+#-_ 12進撃の巨人가나다ไทยहिन्दी\x00\u202e\ud800"), max_size=60
)
texts = any_text | mixed_text
names = st.text(st.sampled_from("abcde é進撃"), min_size=1, max_size=12)


@given(texts)
def test_cleaned_text_can_be_stored_anywhere_and_stays_clean(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert clean(cleaned) == cleaned


@given(texts)
def test_folding_twice_is_folding_once_whatever_the_case(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold_name(fold_name(text)) == fold_name(text)


@given(texts)
def test_a_text_is_found_by_itself(text: str) -> None:
    assert set(query_tokens(text)) <= set(index_tokens(text))


@given(texts)
def test_tokens_are_short_and_have_no_space_in_them(text: str) -> None:
    for token in index_tokens(text):
        assert 0 < len(token) <= MAX_TOKEN_CHARS + 2
        assert token.split() == [token]


@given(texts, texts)
def test_what_stands_beside_a_text_does_not_change_its_tokens(first: str, second: str) -> None:
    assert index_tokens(f"{first} . {second}") == index_tokens(first) + index_tokens(second)


@given(st.text(st.sampled_from("進撃の巨人東京喰種가나다라"), min_size=2, max_size=10), st.data())
def test_any_part_of_an_unspaced_run_finds_the_whole(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    assert set(query_tokens(run[start:end])) <= set(index_tokens(run))


@given(texts | st.text(max_size=3000))
def test_a_query_never_asks_for_too_much_nor_weighs_nothing(text: str) -> None:
    terms = analyse_query(text, synonyms={"a": ("b c",)}).terms
    assert len(terms) <= MAX_TERMS
    assert all(weight > 0 for _, weight in terms)
    assert len({token for token, _ in terms}) == len(terms)


@given(
    st.lists(st.lists(names, max_size=3), min_size=1, max_size=CANDIDATES // 3), names, st.data()
)
@settings(max_examples=150)
def test_titles_alike_are_those_that_comparing_every_name_finds(
    names_by_row: list[list[str]], asked: str, data: st.DataObject
) -> None:
    allowed = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(names_by_row), max_size=len(names_by_row)))
    )
    found = TitleIndex(build_title_arrays(names_by_row)).find_like(
        asked, limit=100, allowed=allowed
    )
    wanted = fold_name(asked)
    alike = {
        row: max(
            fuzz.ratio(wanted, fold_name(name)) / 100
            for name in row_names
            if shares_gram(wanted, name)
        )
        for row, row_names in enumerate(names_by_row)
        if allowed[row] and any(shares_gram(wanted, name) for name in row_names)
    }
    assert found == sorted(alike.items(), key=lambda item: (-item[1], item[0]))


def shares_gram(wanted: str, name: str) -> bool:
    return not grams(wanted).isdisjoint(grams(fold_name(name)))


def grams(name: str) -> set[str]:
    padded = f" {name} "
    return {padded[place : place + 3] for place in range(len(padded) - 2)} if name else set()
