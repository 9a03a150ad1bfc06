"""Rows of what must work ↔ tests that show them, both ways."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
NUMBERS = {
    "A": set(range(1, 15)) - {11},
    "T": {1, 2, 3, 4, 5, 6, 8, 9, 10, 11},
    "J": set(range(1, 11)),
    "P": set(range(1, 9)),
    "Z": set(range(1, 18)) - {16},
    "N": {1, 5, 9},
}
ROWS = {f"{letter}{number}" for letter, numbers in NUMBERS.items() for number in numbers}
"""The rows of `MISSION.md` that are built."""


def marked_rows(tree: ast.AST) -> Iterator[str]:
    """Yield the row of every `pytest.mark.row("…")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "row":
            yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))


def rows_by_file() -> dict[str, set[str]]:
    files = sorted(TESTS.rglob("test_*.py"))
    return {str(file.relative_to(TESTS)): set(marked_rows(ast.parse(file.read_text("utf-8")))) for file in files}


def test_every_row_is_shown_by_a_test() -> None:
    shown = set().union(*rows_by_file().values())
    assert shown >= ROWS, f"no test shows {sorted(ROWS - shown)}"


def test_every_row_that_a_test_claims_to_show_exists() -> None:
    unknown = {file: rows - ROWS for file, rows in rows_by_file().items() if rows - ROWS}
    assert not unknown
