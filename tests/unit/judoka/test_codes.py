"""Card codes: built, checked, compared."""

import pytest

from stackroom_catalogues.judoka.rows import ALPHABET, build_code, check_code, code_key


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
