import pytest
from benchmarks.tables.marking import Question, TableTruth, mark_table

from stackroom.catalogue.compiler import compile_text

SPEC = """
name = "trees"
title = "Trees"
summary = "Trees."
id = "No"
[fields]
title = { type = "text", role = "title", template = "{Species}, {Planted}" }
planted = { type = "date", role = "time", path = "Planted" }
height = { type = "float", path = "Size.Height", filter = "range" }
"""
FILE = {"source": "npm:trees@1", "file": "trees.csv", "sha256": "", "rows": 100}
RIGHT = {
    "id": ["No"],
    "title": ["Species"],
    "time": ["Planted"],
    "types": {"Height": "number"},
    "shown": ["Planted"],
}
UNNAMED = {"time": [], "title": ["*"], "types": {"Height": "yes/no", "Age": "number"}}
OTHER_ID = {"id": ["", "Name"], "popularity": ["Votes"], "shown": ["Year | Planted"]}
CASES = [({}, 100, 10.0), ({}, 99, 9.5), ({}, 90, 4.0), (OTHER_ID, 100, 8.5), (UNNAMED, 100, 8.0)]


@pytest.mark.parametrize(("changes", "records", "points"), CASES)
def test_each_fault_of_an_inferred_catalogue_has_its_price(changes, records, points) -> None:
    truth = TableTruth(
        **FILE, **RIGHT | changes, questions=[Question(words="oak", first="Oak")] * 5
    )
    spec = compile_text(SPEC, origin="trees")
    assert mark_table(truth, spec, records=records, wrong_answers=[]).points == points
