"""Rows of docs/rows.md ↔ tests that show them, both ways."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
PAGE = TESTS.parent / "docs" / "rows.md"
ROW = re.compile(r"^\| ([A-Z]\d+) \| (built|planned) \|", re.MULTILINE)


def rows(status: str) -> set[str]:
    return {row for row, its_status in ROW.findall(PAGE.read_text("utf-8")) if its_status == status}


def marked_rows(tree: ast.AST) -> Iterator[str]:
    """Yield the row of every `pytest.mark.row("…")`."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "row"
        ):
            yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))


@cache
def rows_by_file() -> dict[str, set[str]]:
    files = sorted(TESTS.rglob("test_*.py"))
    return {
        str(file.relative_to(TESTS)): set(marked_rows(ast.parse(file.read_text("utf-8"))))
        for file in files
    }


def test_every_row_that_is_built_is_shown_by_a_test() -> None:
    shown = set().union(*rows_by_file().values())
    assert shown >= rows("built"), f"no test shows {sorted(rows('built') - shown)}"


def test_every_row_that_a_test_claims_to_show_is_on_the_page() -> None:
    known = rows("built") | rows("planned")
    unknown = {file: marked - known for file, marked in rows_by_file().items() if marked - known}
    assert not unknown
