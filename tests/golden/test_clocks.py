"""Tests that measure time run alone: beside others they would fail by chance."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
CLOCKS = ("perf_counter(", "monotonic()", "process_time(", "thread_time(")
LOAD_TOLERANT = TESTS / "fault"
"""Measures with `support.channels.timed`, which leaves out the time that a process waits for a core."""


def iter_clock_readers(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            source = ast.unparse(node)
            if any(clock in source for clock in CLOCKS):
                yield node


def is_marked(node: ast.FunctionDef | ast.AsyncFunctionDef, tree: ast.Module) -> bool:
    own = any("mark.alone" in ast.unparse(decorator) for decorator in node.decorator_list)
    of_module = any(
        isinstance(one, ast.Assign) and "mark.alone" in ast.unparse(one) and ast.unparse(one.targets[0]) == "pytestmark"
        for one in tree.body
    )
    return own or of_module


def unmarked(source: str) -> list[str]:
    tree = ast.parse(source)
    return [node.name for node in iter_clock_readers(tree) if not is_marked(node, tree)]


def test_every_test_that_reads_a_clock_is_marked_to_run_alone() -> None:
    files = [file for file in TESTS.rglob("test_*.py") if LOAD_TOLERANT not in file.parents]
    found = {str(file.relative_to(TESTS)): unmarked(file.read_text("utf-8")) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


def test_a_test_that_reads_a_clock_without_the_mark_is_found() -> None:
    clock = CLOCKS[0]
    assert unmarked(f"def test_quick():\n    assert {clock}) < 1\n") == ["test_quick"]
