"""Filters typed as options."""

from dataclasses import replace
from datetime import date

import pytest

from stackroom.catalogue.spec import CatalogueSpec, FieldSpec, FieldType, FilterKind
from stackroom.cli.filters import parse_conditions
from stackroom.errors import InputError
from stackroom.model.scope import AllOf, AnyOf, Condition, NoneOf, Range


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
        (["--yaer", "2015"], r"no filter '--yaer' \(did you mean 'year'\?\); filters: --year"),
        (["--synopsis", "x"], "no filter '--synopsis'"),
        (["--year"], "'--year' wants a value"),
        (["--year", "soon"], "'soon' is not a range; right are 2015, 2010..2020"),
        (["--year", "2020..2010"], "begins after it ends; right are 2015, 2010..2020"),
        (["--year", "nan"], "'nan' is not a range"),
        (["--year", ".."], "'..' is not a range"),
        (["--year="], "'' is not a range"),
        (["--tags", " , "], "'--tags' wants a value"),
        (["--not-year", "2015"], "a range cannot be negated"),
        (["stray"], "a query of several words goes in quotes"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_with_what_would(
    anime_spec: CatalogueSpec, arguments: list[str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        list(parse_conditions(arguments, anime_spec))


def test_a_range_of_dates_that_does_not_fit_is_refused_with_dates(anime_spec: CatalogueSpec) -> None:
    fields = {"aired": FieldSpec(name="aired", type=FieldType.DATE, filter=FilterKind.RANGE)}
    for value in ("2015-12-31..2015-01-01", "2015-13-01"):
        with pytest.raises(InputError, match=r"right are 2015, 2015-04, 2015-04-30, 2015\.\.2016-03"):
            list(parse_conditions(["--aired", value], replace(anime_spec, fields=fields)))


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("2015", "2015-01-01", "2015-12-31"),
        ("2015-02..2016", "2015-02-01", "2016-12-31"),
        ("..1999-02", None, "1999-02-28"),
    ],
)
def test_a_year_or_a_month_is_a_bound_of_dates(
    anime_spec: CatalogueSpec, value: str, first: str | None, last: str
) -> None:
    fields = {"aired": FieldSpec(name="aired", type=FieldType.DATE, filter=FilterKind.RANGE)}
    (found,) = parse_conditions(["--aired", value], replace(anime_spec, fields=fields))
    days = [None if one is None else float(date.fromisoformat(one).toordinal()) for one in (first, last)]
    assert found == Range("aired", *days)
