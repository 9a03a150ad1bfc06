"""Filters typed as options."""

from typing import Any

import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.cli.answers import with_options
from stackroom.cli.ask import read_filters, split_arguments
from stackroom.errors import InputError


@pytest.mark.parametrize(
    ("arguments", "filters", "excluded"),
    [
        ([], {}, {}),
        (["--year", "2015"], {"year": {"min": "2015", "max": "2015"}}, {}),
        (["--year", "2010..2020"], {"year": {"min": "2010", "max": "2020"}}, {}),
        (["--year=2015.."], {"year": {"min": "2015"}}, {}),
        (["--year", "..1999"], {"year": {"max": "1999"}}, {}),
        (["--type", "MOVIE, OVA"], {"type": ["MOVIE", "OVA"]}, {}),
        (["--type=TV", "--not-tags", "horror"], {"type": ["TV"]}, {"tags": ["horror"]}),
    ],
)
def test_options_become_the_filters_of_a_call(
    anime_spec: CatalogueSpec,
    arguments: list[str],
    filters: dict[str, Any],
    excluded: dict[str, Any],
) -> None:
    assert read_filters(split_arguments(arguments)[1], [anime_spec]) == (filters, excluded)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--yaer", "2015"], r"no filter '--yaer' \(did you mean 'year'\?\); filters: --year"),
        (["--synopsis", "x"], "no filter '--synopsis'"),
        (["--year"], "'--year' wants a value"),
        (["--year", ".."], r"'--year' wants a value; such as .* 2010\.\.2020 for a range"),
        (["--tags", " , "], "'--tags' wants a value"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_what_would(
    anime_spec: CatalogueSpec, arguments: list[str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        read_filters(split_arguments(arguments)[1], [anime_spec])


def test_messages_about_filters_name_the_options() -> None:
    assert (
        with_options("'filters.year': 'soon' is not a number") == "'--year': 'soon' is not a number"
    )
    assert with_options("'exclude.tags' has no value 'x'") == "'--not-tags' has no value 'x'"
