"""How the rows of admin tools read in a text."""

from stackroom.admin.row_text import rows_text
from stackroom.tools.budget import shorten_value


def test_every_row_of_a_page_is_in_the_text() -> None:
    rows = [{"id": number, "title": f"Song {number}"} for number in range(200)]
    lines = rows_text("popular", 500, rows).splitlines()
    assert lines[:2] == ["popular: 500 rows", "id: 0; title: Song 0"]
    assert len(lines) == 201


def test_a_value_that_is_too_long_is_cut_and_a_short_one_is_as_it_was() -> None:
    assert shorten_value("one two three", 8) == "one two …"
    assert shorten_value(["one", "two"], 6) == ["one"]
    assert shorten_value({"a": 1}, 60) == {"a": 1}
    assert shorten_value({"a": "one two three"}, 12).endswith("…")
    assert shorten_value(12_345_678, 3) == 12_345_678
