"""How the rows of admin tools read in a text."""

from pinakes.tools.admin.row_text import TEXT_CHARS, iter_bounded, rows_text


def test_every_row_of_a_page_is_in_the_text() -> None:
    rows = [{"id": number, "title": f"Song {number}"} for number in range(200)]
    lines = rows_text("popular", 500, rows).splitlines()
    assert lines[:2] == ["popular: 500 rows", "id 0, title Song 0"]
    assert len(lines) == 201


def test_what_a_text_has_no_room_for_is_counted() -> None:
    lines = list(iter_bounded(["x" * 999] * 100))
    assert lines[:-1] == ["x" * 999] * 16
    assert lines[-1] == "… 84 more of these rows are in the structured content; or ask for fewer at once"


def test_a_single_row_that_is_too_long_is_cut() -> None:
    (line,) = iter_bounded(["x" * 2 * TEXT_CHARS])
    assert line == "x" * TEXT_CHARS + "…"
