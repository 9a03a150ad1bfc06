"""Holds each folder against its budget in `[tool.stackroom.budgets]` of `pyproject.toml`.

Python is counted in tokens, without comments and line ends, so that folding lines changes nothing;
TOML under `src` in lines that are not blank. `make check` runs it; `--present` prints the table
with a twentieth of air. A folder without a budget fails as one beyond it does. Raising a budget is
a decision page.
"""

import math
import sys
import tokenize
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINE = "src/stackroom"
TOML = "src/**/*.toml"
AIR = 1.05
NOT_COUNTED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def count_tokens(path: Path) -> int:
    """Return the number of tokens that somebody has to read in a Python file."""
    with path.open("rb") as file:
        return sum(token.type not in NOT_COUNTED for token in tokenize.tokenize(file.readline))


def measure(root: Path, name: str) -> int:
    """Return the size of what has a budget; that of `src/stackroom` itself is of the files beside
    its folders.
    """
    if name == TOML:
        texts = [path.read_text(encoding="utf-8") for path in root.glob(TOML)]
        return sum(bool(line.strip()) for text in texts for line in text.splitlines())
    folder = root / name
    return sum(map(count_tokens, folder.glob("*.py") if name == ENGINE else folder.rglob("*.py")))


def list_budgeted(root: Path) -> list[str]:
    """Return what needs a budget: the folders of engine and catalogues, the engine's own files, all
    TOML, and the tests.
    """
    packages = [
        path
        for package in ("stackroom", "stackroom_catalogues")
        for path in sorted((root / "src" / package).iterdir())
        if path.is_dir() and any(path.rglob("*.py"))
    ]
    return [ENGINE, *(str(path.relative_to(root)) for path in packages), TOML, "tests"]


def find_problems(root: Path, budgets: Mapping[str, int]) -> list[str]:
    """Return what is wrong: folders beyond their budget, without one, or with one though they are
    gone.
    """
    names = list_budgeted(root)
    problems = [
        f"{name} has a budget and is no folder; remove it" for name in budgets if name not in names
    ]
    for name in names:
        size, unit = measure(root, name), "lines" if name == TOML else "tokens"
        if name not in budgets:
            problems.append(
                f"{name} has {size:,} {unit} and no budget; add it to [tool.stackroom.budgets]"
            )
        elif size > budgets[name]:
            problems.append(
                f"{name} has {size:,} {unit}, its budget is {budgets[name]:,}: "
                "delete something, or raise the budget with a page in docs/decisions"
            )
    return problems


def main() -> int:
    """Say what is wrong, and return 1 if anything is; or print the present sizes as budgets."""
    if "--present" in sys.argv[1:]:
        for name in list_budgeted(ROOT):
            print(f'"{name}" = {math.ceil(measure(ROOT, name) * AIR / 100) * 100}')
        return 0
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    problems = find_problems(ROOT, settings["tool"]["stackroom"]["budgets"])
    print("\n".join(problems) or "everything is within its budget")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
