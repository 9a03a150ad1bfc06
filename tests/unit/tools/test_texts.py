"""The checker of texts, which tests of every tool rely on."""

import pytest

from support.texts import values_missing_from_text

FOUND = {
    "id": 7,
    "score": 0.25,
    "title": "A  long\nname",
    "tags": ["sea", ""],
    "more": {"isOpen": True, "by": None},
}


def test_a_text_with_every_value_lacks_none() -> None:
    assert values_missing_from_text(FOUND, "7. A long name (0.25), sea, open") == []
    assert values_missing_from_text({"results": []}, '{"results": []}') == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("17. A long name (0.25), sea, open", "id: 7"),
        ("7. A name (0.25), sea, open", "title: 'A  long\\nname'"),
        ("7. A long name (0.25), open", "tags[0]: 'sea'"),
        ("7. A long name (0.25), sea", "more.isOpen: True"),
    ],
)
def test_a_value_that_a_text_lacks_is_named(text: str, missing: str) -> None:
    assert values_missing_from_text(FOUND, text) == [missing]


def test_a_json_text_must_be_the_same_and_fields_may_be_left_out() -> None:
    assert values_missing_from_text({"results": []}, '{"results": [1]}')
    assert (
        values_missing_from_text(FOUND, "7, 0.25, A long name", apart_from={"tags", "isOpen"}) == []
    )
