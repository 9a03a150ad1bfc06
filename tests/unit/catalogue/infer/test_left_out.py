"""Columns that are left out of a proposal because another one says the same, or nothing is left of what they said."""

from typing import Any

import pytest

from stackroom.catalogue.infer.declare import infer_declaration
from stackroom.catalogue.profile import profile_columns

pytestmark = pytest.mark.row("N1")


def left_out(rows: list[dict[str, Any]], *, id_column: str | None = None) -> dict[str, str]:
    """Return the columns of a table that get no field, with the reasons."""
    return dict(infer_declaration(profile_columns(rows), name="table", id_column=id_column).left_out)


def track(number: int) -> dict[str, Any]:
    """Return a track with its album and genre, by id and by name."""
    album, genre = number // 4, number % 3
    return {
        "track_id": number,
        "name": f"Song {number} of the sea",
        "album_id": album,
        "genre_id": genre,
        "album": f"Album {album}",
        "genre": ("Jazz", "Rock", "Folk")[genre],
    }


def test_a_single_id_beside_a_name_stays_because_several_rows_may_be_one_thing() -> None:
    rows = [{key: value for key, value in track(number).items() if "genre" not in key} for number in range(24)]
    assert left_out(rows) == {}


def book(number: int) -> dict[str, Any]:
    """Return a book as another site exports it."""
    return {
        "book_id": number,
        "site_book_id": 7000 + 13 * number,
        "title": f"Tale {number} of the wood",
        "isbn13": f"9.78{100 + number}e+12",
    }


def test_the_key_that_a_source_declares_is_never_left_out() -> None:
    assert "site_book_id" not in left_out([book(number) for number in range(24)], id_column="site_book_id")


def test_fields_with_long_names_are_named_by_their_first_and_last_words() -> None:
    question = "Please say how much you like each of the following instruments when you hear them."
    rows = [
        {"name": f"Person {number}", f"{question} Violin": number % 5, f"{question} Bagpipes": number % 3}
        for number in range(24)
    ]
    fields = infer_declaration(profile_columns(rows), name="table").fields
    assert [field.name for field in fields] == [
        "name",
        "please_say_following_instruments_when_you_hear_them_violin",
        "please_say_following_instruments_when_you_hear_them_bagpipes",
    ]
