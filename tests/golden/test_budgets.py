"""Folders keep to their budgets: what is beyond its own, has none, or is gone, is named."""

from pathlib import Path

import check_budgets
import pytest

LINE = "x = 1  # a remark\n"  # three tokens
BUDGETS = {
    "src/stackroom": 15,
    "src/stackroom/text": 9,
    "src/stackroom_catalogues/music": 9,
    "src/**/*.toml": 2,
    "tests": 30,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of which every folder has as many tokens as it may."""
    for name, tokens in BUDGETS.items():
        if name != check_budgets.TOML:
            path = tmp_path / name / "some.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(LINE * (tokens // 3), encoding="utf-8")
    (tmp_path / "src/stackroom/text/words.toml").write_text("a = 1\n\nb = 2\n", encoding="utf-8")
    return tmp_path


def test_a_tree_within_its_budgets_has_no_problem(tree: Path) -> None:
    assert check_budgets.find_problems(tree, BUDGETS) == []


def test_a_folder_beyond_its_budget_is_named_with_both_numbers(tree: Path) -> None:
    (tree / "src/stackroom/text/deep").mkdir()
    (tree / "src/stackroom/text/deep/more.py").write_text("y = (\n    2\n)\n", encoding="utf-8")
    (problem,) = check_budgets.find_problems(tree, BUDGETS)
    assert problem.startswith("src/stackroom/text has 14 tokens, its budget is 9: ")


def test_a_folder_without_a_budget_and_a_budget_without_a_folder_are_named(tree: Path) -> None:
    budgets = {name: size for name, size in BUDGETS.items() if name != "tests"} | {
        "src/stackroom/gone": 9
    }
    assert check_budgets.find_problems(tree, budgets) == [
        "src/stackroom/gone has a budget and is no folder; remove it",
        "tests has 30 tokens and no budget; add it to [tool.stackroom.budgets]",
    ]
