"""Holds the lines of Python in each folder against its budget in `[tool.stackroom.budgets]` of `pyproject.toml`.

`make check` runs it; `--present` prints the table with the numbers of now, in hundreds. A folder without a budget
fails as one beyond it does. Raising a budget is a decision page.
"""

import math
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINE = "src/stackroom"


def count_lines(root: Path, folder: str) -> int:
    """Return the lines of Python of a folder; those of `src/stackroom` itself are the files beside its folders."""
    files = (root / folder).glob("*.py") if folder == ENGINE else (root / folder).rglob("*.py")
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def list_folders(root: Path) -> list[str]:
    """Return what needs a budget: the folders of engine and catalogues, the engine's own files, and the tests."""
    packages = [
        path
        for package in ("stackroom", "stackroom_catalogues")
        for path in sorted((root / "src" / package).iterdir())
        if path.is_dir() and any(path.rglob("*.py"))
    ]
    return [ENGINE, *(str(path.relative_to(root)) for path in packages), "tests"]


def find_problems(root: Path, budgets: Mapping[str, int]) -> list[str]:
    """Return what is wrong: folders beyond their budget, without one, or with one though they are gone."""
    folders = list_folders(root)
    problems = [f"{name} has a budget and is no folder; remove it" for name in budgets if name not in folders]
    for name in folders:
        lines = count_lines(root, name)
        if name not in budgets:
            problems.append(f"{name} has {lines:,} lines and no budget; add it to [tool.stackroom.budgets]")
        elif lines > budgets[name]:
            problems.append(
                f"{name} has {lines:,} lines, its budget is {budgets[name]:,}: "
                "delete something, or raise the budget with a page in docs/decisions"
            )
    return problems


def main() -> int:
    """Say what is wrong, and return 1 if anything is; or print the numbers of now."""
    if "--present" in sys.argv[1:]:
        for name in list_folders(ROOT):
            print(f'"{name}" = {math.ceil(count_lines(ROOT, name) / 100) * 100}')
        return 0
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    problems = find_problems(ROOT, settings["tool"]["stackroom"]["budgets"])
    print("\n".join(problems) or "every folder is within its budget of lines")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
