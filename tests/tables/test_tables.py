"""Tables as people have them: what is proposed for each, that no row is lost unsaid, and what
searches find.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.made_tables import SHOP
from support.table_cases import CASES, BuiltTable, TableSearch, build_table, compact, iter_searches

pytestmark = pytest.mark.row("N1")
Build = Callable[[str], BuiltTable]


@pytest.fixture(scope="session")
def table_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Build]:
    """Build the catalogue that is proposed for a table, once, in a library of its own."""
    built: dict[str, BuiltTable] = {}
    with ExitStack() as libraries:

        def build(name: str) -> BuiltTable:
            if name not in built:
                folder: Path = tmp_path_factory.mktemp(name)
                built[name] = libraries.enter_context(build_table(CASES[name], folder))
            return built[name]

        yield build


@pytest.mark.parametrize("name", CASES)
def test_the_spec_that_is_proposed_for_a_table_is_the_one_that_was_reviewed(
    name: str, table_of: Build, is_updating_golden: bool
) -> None:
    golden, proposed = CASES[name].golden, compact(table_of(name))
    if is_updating_golden:
        golden.write_text(proposed, encoding="utf-8")
    assert proposed == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_every_table_has_five_searches(name: str) -> None:
    assert len(CASES[name].searches) >= 5


@pytest.mark.parametrize(
    ("name", "search"),
    [pytest.param(name, search, id=f"{name}-{search.label}") for name, search in iter_searches()],
)
def test_a_search_of_a_table_finds_what_it_must(
    name: str, search: TableSearch, table_of: Build
) -> None:
    filters = {"filters": search.filters} if search.filters else {}
    found = table_of(name).library.structured(
        "search", catalogue=name, query=search.query, **filters
    )
    titles = [hit["title"] for hit in found["results"]]
    if search.first:
        assert titles[:1] == [search.first]
    if search.only is not None:
        assert sorted(titles) == sorted(search.only)
    assert [title for title in search.finds if title not in titles] == []


@pytest.mark.parametrize("name", ["shop", "shop-sheets"])
def test_revenue_by_country_is_answered_by_the_rows_of_another_table(
    name: str, table_of: Build
) -> None:
    prices: dict[str, float] = {}
    countries = {order[0]: order[-1] for order in SHOP["Orders"][1:]}
    for order, _product, price, quantity, discount in SHOP["Order Details"][1:]:
        prices[countries[order]] = prices.get(countries[order], 0) + price * quantity * (
            1 - discount
        )
    counted = table_of(name).library.structured(
        "browse", catalogue=name, by=["ship_country"], of="revenue"
    )
    told = {
        group["values"]["ship_country"]: group["sum"]
        for group in counted["catalogues"][0]["groups"]
    }
    assert told == pytest.approx(prices)
