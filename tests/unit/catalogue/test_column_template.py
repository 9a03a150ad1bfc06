"""Texts composed of columns."""

import pytest

from stackroom.catalogue.column_template import compose, parse_column_template

TRAIN = "{from} – {to}, {month}"


@pytest.mark.parametrize(
    ("template", "row", "text"),
    [
        (TRAIN, {"from": "Paris", "to": "Lyon", "month": "2018-01"}, "Paris – Lyon, 2018-01"),
        (TRAIN, {"from": "Paris", "month": "2018-01"}, "Paris, 2018-01"),
        (TRAIN, {"to": "Lyon", "month": "2018-01"}, "Lyon, 2018-01"),
        (TRAIN, {}, ""),
        ("{title} ({year})", {"title": "Alien", "year": "1979"}, "Alien (1979)"),
        ("{title} ({year})", {"title": "Alien"}, "Alien"),
        ("{title} ({year})", {"year": "1979"}, "(1979)"),
        ("{title} ({year}), {place}", {"title": "Alien", "place": "Earth"}, "Alien, Earth"),
        ("No. {number}", {"number": "7"}, "No. 7"),
        ("{minutes} minutes", {"minutes": "91"}, "91 minutes"),
        ("{Rating: overall} of 10", {"Rating: overall": "8"}, "8 of 10"),
    ],
)
def test_a_column_without_a_value_is_omitted_with_the_text_before_it(
    template: str, row: dict[str, str], text: str
) -> None:
    assert compose(parse_column_template(template), lambda column: row.get(column, "")) == text


@pytest.mark.parametrize("template", ["", "no column", "{", "{}", "{a", "a}", "{a}}", "{{a}"])
def test_a_malformed_template_has_no_parts(template: str) -> None:
    assert parse_column_template(template) == ()
