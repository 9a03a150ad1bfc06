"""The addresses of the page, read strictly."""

import pytest

from pinakes.errors import InputError
from pinakes.text.query import MAX_CHARS
from pinakes.tools.explore.request import parse_address


def test_an_address_has_a_query_values_ranges_exclusions_and_phrases_to_leave_alone() -> None:
    asked = parse_address(
        [
            ("q", " space "),
            ("f.tags", "drama"),
            ("f.tags", "war"),
            ("x.tags", "horror"),
            ("r.year", "2015.."),
            ("r.episodes", "12"),
            ("u", "after 2010"),
            ("sort", "-year"),
            ("open", "anime/mal-1"),
        ]
    )
    assert asked.query == "space"
    assert asked.filters == {
        "tags": ["drama", "war"],
        "year": {"min": "2015"},
        "episodes": {"min": "12", "max": "12"},
    }
    assert (asked.exclude, asked.unread, asked.sort) == ({"tags": ["horror"]}, ["after 2010"], "-year")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("limit", "-5", "'limit' must be a whole number from 1 to 100; given: '-5'"),
        ("limit", "101", "'limit' must be a whole number from 1 to 100"),
        ("cursor", "٣", "'cursor' must be a whole number"),
        ("parts", "hits,covers", "'parts': 'covers' is no part of an answer; right are catalogue, hits"),
        ("r.year", "..", "'r.year' must be a range, as in 2015..2019, 2015.. or ..2019"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_would_be_right(name: str, value: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_address([(name, value)])
    assert says in refused.value.message


def test_a_query_is_cut_where_that_of_a_tool_is() -> None:
    assert len(parse_address([("q", "space " * 10_000)]).query) == MAX_CHARS


def test_as_many_as_keys_is_for_keys_alone() -> None:
    assert parse_address([("parts", "keys"), ("limit", "20000")]).limit == 20_000
    with pytest.raises(InputError, match="from 1 to 100"):
        parse_address([("parts", "hits,keys"), ("limit", "20000")])
