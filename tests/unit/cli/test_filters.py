"""Filters typed as options."""

import pytest

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.cli.filters import parse_conditions
from pinakes.errors import InputError
from pinakes.model.scope import AllOf, AnyOf, Condition, NoneOf, Range


@pytest.mark.parametrize(
    ("arguments", "conditions"),
    [
        ([], []),
        (["--year", "2015"], [Range("year", 2015, 2015)]),
        (["--year", "2010..2020"], [Range("year", 2010, 2020)]),
        (["--year=2015.."], [Range("year", 2015, None)]),
        (["--year", "..1999"], [Range("year", None, 1999)]),
        (["--type", "MOVIE, OVA"], [AnyOf("type", ("MOVIE", "OVA"))]),
        (["--tags", "space,drama"], [AllOf("tags", ("space", "drama"))]),
        (["--not-tags", "horror"], [NoneOf("tags", ("horror",))]),
        (["--type=TV", "--not-type", "OVA"], [AnyOf("type", ("TV",)), NoneOf("type", ("OVA",))]),
    ],
)
def test_options_become_conditions(
    anime_spec: CatalogueSpec, arguments: list[str], conditions: list[Condition]
) -> None:
    assert list(parse_conditions(arguments, anime_spec)) == conditions


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--yaer", "2015"], r"no filter '--yaer' \(did you mean 'year'\?\); filters: --type"),
        (["--synopsis", "x"], "no filter '--synopsis'"),
        (["--year"], "'--year' wants a value"),
        (["--year", "soon"], "'soon' is not a range; right are 2015, 2010..2020"),
        (["--not-year", "2015"], "a range cannot be negated"),
        (["stray"], "a query of several words goes in quotes"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_what_would(
    anime_spec: CatalogueSpec, arguments: list[str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        list(parse_conditions(arguments, anime_spec))
