"""A proposed spec: shown, and changed by options."""

from pathlib import Path

import pytest

from support.terminals import Run

pytestmark = pytest.mark.row("N1")

FERRIES = (
    "no,from,to,ship,fare,note\n"
    "1,Oban,Craignure,Loch Frisa,4.20,A short crossing past the lighthouse of Lismore\n"
    "2,Mallaig,Armadale,Loch Fyne,3.50,The way to Skye by sea\n"
    "3,Oban,Coll,Clansman,7.90,Three hours to the west where seals lie on the rocks\n"
)


@pytest.fixture
def ferries(tmp_path: Path) -> str:
    """A small timetable."""
    path = tmp_path / "ferries.csv"
    path.write_text(FERRIES)
    return str(path)


def test_the_proposal_shows_the_id_the_title_and_what_an_assistant_will_see(
    ferries: str, run: Run
) -> None:
    ran = run(f"add {ferries} --yes --no-embed --title ship --id no")
    assert ran.code == 0, ran.err
    assert "id:    'no'" in ran.out
    assert "title: 'ship'" in ran.out
    assert "1. Loch Frisa [1]" in ran.out
    assert "fare: 4.2" in ran.out


def test_options_change_what_is_inferred(ferries: str, run: Run) -> None:
    options = "--title Ship --id none --type fare=text --drop note --role to=place"
    ran = run(f"spec infer {ferries} {options}")
    assert ran.code == 0, ran.err
    assert '[fields.ship]\ntype = "text"\nrole = "title"' in ran.out
    assert '[fields.fare]\ntype = "text"' in ran.out
    assert 'role = "place"' in ran.out
    assert "note" not in ran.out.replace("# ", "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--type fare", "--type: 'fare' is not COLUMN=TYPE"),
        ("--type fare=enum", "no type 'enum'"),
        ("--role fare=title", "'fare' is float, and title needs text; choose its type as well"),
        ("--role ship=boss", "no role 'boss'"),
        ("--role ship=time", "'ship' is text, and time needs date or int"),
        ("--type fare=flot", "no type 'flot' (did you mean 'float'?)"),
        ("--title '{from} – {two}'", "title: the table has no column 'two'"),
        ("--drop fair", "drop: the table has no column 'fair' (did you mean 'fare'?)"),
        ("--id nr", "id: the table has no column 'nr'"),
    ],
)
def test_wrong_options_name_the_option_and_what_would_be_right(
    ferries: str, run: Run, options: str, said: str
) -> None:
    ran = run(f"spec infer {ferries} {options}")
    assert ran.code != 0
    assert said in ran.err


def test_options_of_an_inferred_spec_do_not_go_with_a_spec_of_ones_own(
    ferries: str, tmp_path: Path, run: Run
) -> None:
    target = tmp_path / "ferries.toml"
    run(f"spec infer {ferries} --output {target}")
    ran = run(f"add {ferries} --spec {target} --title ship --no-embed")
    assert "are for a spec that is inferred" in ran.err


def test_options_infer_the_spec_of_an_existing_catalogue_anew(ferries: str, run: Run) -> None:
    run(f"add {ferries} --yes --no-embed --title from --id no")
    ran = run(f"add {ferries} --yes --no-embed --title ship --id no")
    assert ran.code == 0, ran.err
    assert '[fields.ship]\ntype = "text"\nrole = "title"' in run("spec show ferries").out


def test_rows_that_are_one_thing_are_grouped_and_shown_as_one(
    tmp_path: Path, find_records: Run, run: Run
) -> None:
    drinks = {"11007": ("Margarita", ("Tequila", "Triple sec", "Lime juice"))}
    drinks |= {
        f"1200{number}": (f"House punch {number}", ("Rum", "Lime juice")) for number in range(9)
    }
    rows = [
        f"{key},{name},glass {key},{len(name)} cl,{one}"
        for key, (name, ingredients) in drinks.items()
        for one in ingredients
    ]
    table = tmp_path / "drinks.csv"
    table.write_text("\n".join(["id_drink,drink,glass,size,ingredient", *rows]) + "\n")
    ran = run(f"add {table} --no-embed --yes --group id_drink")
    assert "id:    'id_drink': all rows with the same value are one record" in ran.out
    assert "Tequila, Triple sec, Lime juice" in ran.out
    (drink,) = find_records("drinks", "Margarita")
    assert drink["id"] == "11007"
    assert [ingredient["value"] for ingredient in drink["ingredient"]] == [
        "Tequila",
        "Triple sec",
        "Lime juice",
    ]


def test_a_column_that_is_declared_a_list_is_split_at_the_mark_that_its_cells_have(
    tmp_path: Path, run: Run, find_records: Run
) -> None:
    path = tmp_path / "wines.csv"
    path.write_text("name,grape\nOrmes,Merlot; Malbec\nSonnhof,Riesling\nVau,Touriga; Tinta\n")
    run(f"add {path} --yes --no-embed --type 'grape=tag[]'")
    (wine,) = find_records("wines", "ormes")
    assert [grape["value"] for grape in wine["grape"]] == ["Merlot", "Malbec"]
