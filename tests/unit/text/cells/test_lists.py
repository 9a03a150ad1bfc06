"""Lists as JSON, Python and numpy write them."""

from typing import Any

import pytest

from stackroom.text.cells.values import find_literal, find_written_list

pytestmark = pytest.mark.row("N1")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ("['side dish' 'lunch'\n 'main course']", ["side dish", "lunch", "main course"]),
        ("""['a' 'b c' "it's"]""", ["a", "b c", "it's"]),
        (r"['it\'s', '\u00e9\n', '\d']", ["it's", "é\n", "\\d"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        (
            (
                "array([{'id': 1, 'of': array(['x'], dtype='<U1')}, {'id': 2, 'of': None}],"
                " dtype=object)"
            ),
            [{"id": 1, "of": ["x"]}, {"id": 2, "of": None}],
        ),
        ("[1 2 3]", [1, 2, 3]),
        ("[1. 2.5 nan]", [1.0, 2.5, None]),
        ("[('a', 1), ('b', 2)]", [["a", 1], ["b", 2]]),
        ("['a' ... 'z']", ["a", "z"]),
        ("[True, False, None]", [True, False, None]),
        ("[]", []),
        ("[ ]", []),
    ],
)
def test_a_list_is_read_as_it_was_written(text: str, items: list[Any]) -> None:
    assert find_written_list(text) == items


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "[a, b]",
        "['a'",
        "['a]",
        "[1) 2]",
        "[{'a'}]",
        "[{'a': }]",
        "[" * 999 + "(1)" + "]" * 999,
    ],
)
def test_other_texts_are_no_list(text: str) -> None:
    assert find_written_list(text) is None


def test_an_object_is_read_as_python_writes_it() -> None:
    assert find_literal("{'a': [1, None], 'b': {'c': 'x'}}") == {"a": [1, None], "b": {"c": "x"}}
    assert find_literal("{'a': 1} and more") is None
