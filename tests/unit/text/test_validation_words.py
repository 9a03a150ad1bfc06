"""Problems of validation in plain words."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from stackroom.text.validation_words import plain_words, shown_value


class Form(BaseModel):
    """A value of each kind."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=3)] = "x"
    number: int = Field(default=1, ge=1, le=9)
    share: float = Field(default=0.5, gt=0, lt=1)
    flag: bool = True
    items: list[str] = Field(default=["x"], min_length=1, max_length=2)
    choice: Literal["TV", "MOVIE"] = "TV"
    inner: dict[str, int] = Field(default={})


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("text", 1, "must be a text"),
        ("text", "", "must not be empty"),
        ("text", "long", "must have 3 or fewer characters"),
        ("number", "x", "must be a whole number"),
        ("number", 1.5, "must be a whole number"),
        ("number", 10, "must be 9 or less"),
        ("number", 0, "must be 1 or more"),
        ("share", 0, "must be more than 0"),
        ("share", "x", "must be a number"),
        ("flag", "maybe", "must be true or false"),
        ("items", "x", 'must be a list, as in ["a", "b"]'),
        ("items", [], "must not be empty"),
        ("items", ["a", "b", "c"], "must have 2 or fewer items"),
        ("choice", "MOVI", "must be one of TV, MOVIE (did you mean 'MOVIE'?)"),
        ("inner", [], 'must be an object, as in {"name": "value"}'),
    ],
)
def test_a_problem_says_what_the_value_must_be(field: str, value: Any, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Form.model_validate({field: value})
    assert [plain_words(details) for details in refused.value.errors()] == [words]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, " (given: null)"), ("x", " (given: 'x')"), (5, " (given: '5')"), ([1], ""), (True, "")],
)
def test_a_wrong_value_is_shown_in_the_words_of_json_unless_it_has_parts(
    value: Any, shown: str
) -> None:
    assert shown_value(value) == shown
