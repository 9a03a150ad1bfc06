"""Folders keep to their budget of lines: what is beyond it, has none, or is gone, is named."""

from pathlib import Path

import check_budgets
import pytest

BUDGETS = {"src/stackroom": 5, "src/stackroom/text": 3, "src/stackroom_catalogues/music": 3, "tests": 10}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of which every folder has as many lines as it may."""
    for name, lines in BUDGETS.items():
        path = tmp_path / name / "some.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n" * lines, encoding="utf-8")
    return tmp_path


def test_a_tree_within_its_budgets_has_no_problem(tree: Path) -> None:
    assert check_budgets.find_problems(tree, BUDGETS) == []


def test_a_folder_beyond_its_budget_is_named_with_both_numbers(tree: Path) -> None:
    (tree / "src/stackroom/text/deep").mkdir()
    (tree / "src/stackroom/text/deep/more.py").write_text("y = 2\n", encoding="utf-8")
    (problem,) = check_budgets.find_problems(tree, BUDGETS)
    assert problem.startswith("src/stackroom/text has 4 lines, its budget is 3: ")


def test_a_folder_without_a_budget_and_a_budget_without_a_folder_are_named(tree: Path) -> None:
    budgets = {name: lines for name, lines in BUDGETS.items() if name != "tests"} | {"src/stackroom/gone": 9}
    assert check_budgets.find_problems(tree, budgets) == [
        "src/stackroom/gone has a budget and is no folder; remove it",
        "tests has 10 lines and no budget; add it to [tool.stackroom.budgets]",
    ]
