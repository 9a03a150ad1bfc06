"""Several rows with an attribute each are one thing."""

from pathlib import Path

import pytest

from stackroom.sources.location import ReadOptions
from stackroom.sources.opener import open_file, open_source
from stackroom.sources.port import describe_notes

pytestmark = pytest.mark.row("N1")
LINES = ["name;attribute;value"]
LINES += [
    f"Ann {number};{pair}"
    for number in range(9)
    for pair in (f"offence;theft {number}", "sentence;2 years")
]
LINES += ["Ann 3;offence;fraud"]
PEOPLE = "\n".join(LINES)


def test_rows_of_attributes_are_one_record_for_each_thing_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    source = open_file(tmp_path / "people.csv")
    rows = list(source.iter_rows())
    assert [row.place for row in rows][:2] == ["line 2", "line 4"]
    assert rows[0].values == {"name": "Ann 0", "offence": "theft 0", "sentence": "2 years"}
    assert rows[3].values["offence"] == ["theft 3", "fraud"]
    assert len(rows) == 9
    assert describe_notes(source.notes) == [
        "each 'attribute' is a column, as several rows describe one 'name'; --no-pairs reads the"
        " rows as they are"
    ]


def test_the_rows_are_read_as_they_are_where_that_is_asked_for_and_again_by_the_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    source = open_file(tmp_path / "people.csv", ReadOptions(pairs=False))
    assert len(list(source.iter_rows())) == len(list(open_source(source.name).iter_rows())) == 19


@pytest.mark.parametrize(
    "table",
    [
        "country;year;value\n"
        + "\n".join(f"C{number // 3};{1990 + number % 3};{number}" for number in range(30)),
        "lang;key;value\n"
        + "\n".join(f"en;greeting_{number};Hello {number}" for number in range(30)),
        "name;key;value\n"
        + "\n".join(f"thing {number};A{number % 2};{number}" for number in range(30)),
        PEOPLE.replace("name;attribute;value", "name;crime;note"),
    ],
)
def test_other_tables_of_three_columns_are_not_changed(tmp_path: Path, table: str) -> None:
    (tmp_path / "a.csv").write_text(table)
    assert len(list(open_file(tmp_path / "a.csv").iter_rows())) == table.count("\n")
