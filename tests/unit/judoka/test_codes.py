"""Card codes: built, checked, compared."""

import pytest

from stackroom_catalogues.judoka.rows import ALPHABET, build_code, check_code, code_key


def test_a_code_is_the_same_for_the_same_card_and_has_the_declared_form() -> None:
    code = build_code("1|Kenji|Tanaka")
    assert code == build_code("1|Kenji|Tanaka")
    blocks = code.split("-")
    assert [len(block) for block in blocks] == [4, 4, 4, 4]
    assert blocks[0] == "JDKN"
    assert set("".join(blocks)) <= set(ALPHABET)
    assert len(ALPHABET) == len(set(ALPHABET)) == 32
    assert not set("IO01") & set(ALPHABET)


def test_codes_of_many_cards_differ() -> None:
    assert len({build_code(f"{number}|A|B") for number in range(5_000)}) == 5_000


def test_any_one_wrong_letter_is_noticed() -> None:
    letters = code_key(build_code("7|Teddy|Riner"))
    for place in range(4, len(letters)):
        for letter in set(ALPHABET) - {letters[place]}:
            wrong = letters[:place] + letter + letters[place + 1 :]
            assert check_code(wrong).has_right_check is False, wrong


def test_case_dashes_and_blanks_do_not_matter() -> None:
    code = build_code("7|Teddy|Riner")
    for written in (
        code.lower(),
        code.replace("-", ""),
        f"  {code.replace('-', ' ')} ",
        code.replace("-", "–"),
    ):
        assert code_key(written) == code_key(code)
        assert check_code(written).has_right_check is True


def test_a_code_of_the_projects_own_form_is_well_formed_and_has_no_check_letter(
    seed_code: str,
) -> None:
    form = check_code(seed_code)
    assert (form.is_well_formed, form.has_right_check, form.problem) == (True, None, None)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("ABC0-DEFG", "a code has no 0"),
        ("????", "a code has no ?"),
        ("-- --", "1 to 128 letters"),
        ("A" * 129, "1 to 128 letters"),
        ("JDKN-ABCD", "has 16 letters, not 8"),
    ],
)
def test_a_code_of_no_form_is_told_what_would_be_right(code: str, says: str) -> None:
    form = check_code(code)
    assert not form.is_well_formed
    assert form.problem is not None
    assert says in form.problem
