"""A pytest plugin: with STACKROOM_QUICK=1, only the tests of what has changed are collected.

Changed is what differs from the commit in STACKROOM_BASE (else from where the branch left main, or
the last commit), committed or not. A test file is chosen if it has changed, if it imports a changed
module, or if it imports one that imports a changed module: further away, nearly everything imports
everything. A string that names a module counts as an import, also in a table beside it, since
commands are loaded by name; so does the place of a test file, which mirrors that of its module.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
ROOTS = ("src", "tests", "scripts")
"""Folders from which modules are imported."""
DISTANCE = 2
"""How many imports lie between a test and a changed module at most."""
MODULE = re.compile(r"\b[a-z_]\w*(?:\.[a-z_]\w*)+")
FROM = re.compile(r"^\s*from ([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def list_changed(repo: Path, base: str | None = None) -> set[Path]:
    """Return the files that differ from the base, and those that git does not know yet."""
    base = base or os.environ.get("STACKROOM_BASE") or _find_base(repo)
    named = _git(repo, "diff", "--name-only", base) + _git(
        repo, "ls-files", "--others", "--exclude-standard"
    )
    return {repo / name for name in named}


def choose_tests(repo: Path, changed: set[Path]) -> set[Path]:
    """Return the test files that are near a changed file."""
    modules = dict(_iter_modules(repo))
    names = {path: name for name, path in modules.items()}
    near = {names.get(path, "") for path in changed if path.suffix == ".py"}
    imports = {name: _imported(name, path, modules) for name, path in modules.items()}
    for _ in range(DISTANCE):
        near |= {name for name, imported in imports.items() if imported & near}
    tests = {
        modules[name] for name in near if name in modules and modules[name].name.startswith("test_")
    }
    shared = {
        path.parent
        for path in changed
        if path.name == "conftest.py" and path.parent != repo / "tests"
    }
    return tests | {
        path for path in names if path.name.startswith("test_") and shared & set(path.parents)
    }


def _find_base(repo: Path) -> str:
    found = _git(repo, "merge-base", "HEAD", "main")
    here = _git(repo, "rev-parse", "HEAD")
    return found[0] if found and found != here else "HEAD~1"


def _git(repo: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=repo, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


def _iter_modules(repo: Path) -> Iterator[tuple[str, Path]]:
    for root in ROOTS:
        for path in sorted((repo / root).rglob("*.py")):
            parts = path.relative_to(repo / root).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _imported(name: str, path: Path, modules: Mapping[str, Path]) -> set[str]:
    """Return the modules that a file names, and for a test file the module whose place it has."""
    text = path.read_text(encoding="utf-8")
    tables = [path.with_name(table) for table in re.findall(r'"(\w+\.toml)"', text)]
    text += "".join(table.read_text(encoding="utf-8") for table in tables if table.is_file())
    found = _mirrored(name) | set(MODULE.findall(text))
    for module, names in FROM.findall(text):
        found |= {module} | {f"{module}.{part}" for part in re.findall(r"\w+", names)}
    return found & modules.keys() - {name}


def _mirrored(name: str) -> set[str]:
    if not name.startswith("unit."):
        return set()
    place = name.removeprefix("unit.").replace("test_", "")
    return {f"stackroom.{place}", f"stackroom_catalogues.{place}"}


@cache
def _chosen() -> set[Path]:
    return choose_tests(REPO, list_changed(REPO))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the test files that are far from what has changed."""
    if os.environ.get("STACKROOM_QUICK") != "1" or not collection_path.name.startswith("test_"):
        return None
    return None if collection_path.is_dir() or collection_path in _chosen() else True
