"""A library used from Python: tables of every kind go in, answers come out as values, and errors
say what is right.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import arro3.core
import pytest

import stackroom
from stackroom import Catalogue, InputError, Library, NotFoundError

pytestmark = pytest.mark.row("N22")

ROWS = [
    {
        "id": "w1",
        "name": "Vinho verde",
        "country": "Portugal",
        "price": 7.5,
        "notes": "Light, for fish.",
    },
    {"id": "w2", "name": "Barolo", "country": "Italy", "price": 38.0, "notes": "Tannic, for game."},
    {
        "id": "w3",
        "name": "Soave",
        "country": "Italy",
        "price": 11.0,
        "notes": "Almonds and lemon, for fish.",
    },
]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with stackroom.open(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def wines(library: Library) -> Catalogue:
    return library.add(ROWS, name="wines", embed=False)


class Frame:
    """A DataFrame as far as pandas' own is used: rows by `to_dict`, with NaN for what is
    missing.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def to_dict(self, *, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return self._rows


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys, stackroom; stackroom.__version__; print([n for n in sys.modules if"
        " n.startswith('stackroom.')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_dictionaries_become_a_catalogue_that_is_searched_by_words_and_filters(
    wines: Catalogue,
) -> None:
    found = wines.search("fish", price=(None, 10))
    assert [(one.id, one.title, one["price"]) for one in found] == [("w1", "Vinho verde", 7.5)]
    assert (len(wines), found.total, found[0].catalogue, found[0].get("grape", "?")) == (
        3,
        1,
        "wines",
        "?",
    )


def test_a_list_has_everything_in_the_order_that_is_asked_for(wines: Catalogue) -> None:
    assert [one.id for one in wines.search(limit=None, sort="-price")] == ["w2", "w3", "w1"]
    assert [one.id for one in wines.search(limit=1, sort="price", country=["Italy"])] == ["w3"]


def test_a_file_an_arrow_table_and_a_frame_give_the_same_records(
    library: Library, tmp_path: Path
) -> None:
    path = tmp_path / "wines.csv"
    path.write_text("id,name,price\nw1,Soave,11\nw2,Barolo,\n", encoding="utf-8")
    rows = [
        {"id": "w1", "name": "Soave", "price": 11},
        {"id": "w2", "name": "Barolo", "price": None},
    ]
    names, prices = (
        arro3.core.Array(["Soave", "Barolo"], type=arro3.core.DataType.utf8()),
        [11, None],
    )
    table = arro3.core.Table.from_pydict(
        {
            "id": arro3.core.Array(["w1", "w2"], type=arro3.core.DataType.utf8()),
            "name": names,
            "price": arro3.core.Array(prices, type=arro3.core.DataType.int64()),
        }
    )
    frame = Frame([rows[0], {**rows[1], "price": float("nan")}])
    added = [
        library.add(one, name=f"n{number}", embed=False)
        for number, one in enumerate((path, rows, table, frame))
    ]
    listed = [
        [(one.id, one.title, one.get("price")) for one in catalogue.search(limit=None)]
        for catalogue in added
    ]
    assert all(sorted(one) == [("w1", "Soave", 11), ("w2", "Barolo", None)] for one in listed)


def test_rows_that_are_given_again_take_the_place_of_the_former_ones(
    library: Library, wines: Catalogue
) -> None:
    library.add([{**ROWS[0], "price": 8.0}, ROWS[1]], name="wines", embed=False)
    assert {one.id: one["price"] for one in wines.search(limit=None)} == {"w1": 8.0, "w2": 38.0}


def test_values_and_figures_are_tables(wines: Catalogue) -> None:
    assert wines.browse("country").to_dicts() == [
        {"value": "Italy", "count": 2},
        {"value": "Portugal", "count": 1},
    ]
    by_country = {
        row["country"]: row["mean"] for row in wines.browse(by="country", of="price").to_dicts()
    }
    assert by_country == {"Italy": 24.5, "Portugal": 7.5}
    assert wines.browse(of="price").to_dicts()[0] == {
        "id": "wines/w2",
        "title": "Barolo",
        "price": 38.0,
    }
    assert [row["field"] for row in wines.browse().to_dicts()][:2] == ["country", "price"]


def test_results_are_dictionaries_arrow_and_a_table_of_a_notebook(wines: Catalogue) -> None:
    found = wines.search(limit=None, sort="price")
    assert found.to_dicts()[0]["name"] == "Vinho verde"
    arrow = found.to_arrow()
    assert (arrow.num_rows, arrow["price"].to_pylist()) == (3, [7.5, 11.0, 38.0])
    assert "<td>Barolo</td>" in found._repr_html_()


def test_markup_of_a_record_is_text_in_a_notebook(library: Library) -> None:
    shown = library.add(
        [{"name": "<script>", "notes": "x"}, {"name": "b", "notes": "y"}], name="odd", embed=False
    )
    assert "<script>" not in shown.search(limit=None)._repr_html_()


def test_pandas_is_used_where_it_is_installed(
    wines: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SimpleNamespace(DataFrame=lambda rows, columns: (len(rows), columns[0]))
    monkeypatch.setitem(sys.modules, "pandas", made)
    assert wines.search(limit=None).to_pandas() == (3, "id")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pandas is not installed"):
        wines.search().to_pandas()


def test_a_record_is_found_by_its_title_and_its_rank_is_explained(wines: Catalogue) -> None:
    assert wines.get("barolo").id == "w2"
    explained = wines.explain("fish", "w1")
    assert explained.rank in (1, 2)
    assert "by words it is number" in str(explained)


def test_a_change_is_made_and_taken_back(library: Library, tmp_path: Path) -> None:
    spec = tmp_path / "catalogue.toml"
    spec.write_text(
        'name = "cellar"\ntitle = "Cellar"\nsummary = "Wines"\neditable = true\nid ='
        ' "id"\n[fields.name]\ntype = "text"\nrole = "title"\nsearch = true\n[fields.price]\ntype ='
        ' "float"\n',
        encoding="utf-8",
    )
    path = tmp_path / "cellar.csv"
    path.write_text("id,name,price\nw1,Soave,11\n", encoding="utf-8")
    cellar = library.add(path, spec=spec, embed=False)
    change = cellar.edit("w1", price=12.5)
    assert cellar.get("w1")["price"] == 12.5
    assert change.records[0]["fields"] == [{"field": "price", "before": 11.0, "after": 12.5}]
    change.undo()
    assert cellar.get("w1")["price"] == 11.0
    added = cellar.insert(name="Barolo", price=38.0)
    assert [one.title for one in cellar.search("barolo")] == ["Barolo"]
    cellar.delete("Barolo").undo()
    added.undo()
    assert len(cellar) == 1


def test_every_tool_can_be_called_and_its_error_is_raised(
    library: Library, wines: Catalogue
) -> None:
    assert library.call("search", query="barolo")["results"][0]["id"] == "wines/w2"
    with pytest.raises(InputError, match="'limit'"):
        library.call("search", query="barolo", limit=1_000)
    assert [one.title for one in library.search("barolo")] == ["Barolo"]
    assert (list(library), len(library), "wines" in library, "none" in library) == (
        [wines.name],
        1,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("table", "name", "says"),
    [
        (ROWS, None, "'name' is missing"),
        ([], "x", "given: list"),
        (3, "x", "given: int"),
        (["a"], "x", "given: list"),
    ],
)
def test_a_table_that_is_none_is_refused(
    library: Library, table: Any, name: str | None, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        library.add(table, name=name)
    assert list(library) == []


def test_a_wrong_filter_or_name_says_what_would_be_right(
    library: Library, wines: Catalogue
) -> None:
    with pytest.raises(InputError, match="did you mean 'price'"):
        wines.search("fish", prize=3)
    with pytest.raises(NotFoundError, match="installed: wines"):
        library["cellar"]
    with pytest.raises(AttributeError, match="has no attribute 'opened'"):
        stackroom.opened  # noqa: B018


def test_a_library_answers_several_threads_and_an_event_loop(wines: Catalogue) -> None:
    with ThreadPoolExecutor(4) as pool:
        totals = list(
            pool.map(lambda word: wines.search(word).total, ["fish", "game", "lemon", "fish"] * 5)
        )
    assert totals == [2, 1, 1, 2] * 5

    async def ask() -> list[int]:
        found = await asyncio.gather(
            *(asyncio.to_thread(wines.search, word) for word in ("fish", "game"))
        )
        return [one.total for one in found]

    assert asyncio.run(ask()) == [2, 1]
