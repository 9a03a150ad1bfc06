"""Benchmarks run by hand, and seldom: what they take from the project must still be there."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.libraries import REPO

BENCHMARKS = sorted((REPO / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_every_name_that_a_benchmark_imports_exists(path: Path) -> None:
    imports = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
    ]
    own = [
        node
        for node in imports
        if (node.module or "").partition(".")[0] in ("stackroom", "stackroom_catalogues")
    ]
    taken = [(node.module or "", name.name) for node in own for name in node.names]
    assert [
        one
        for one in taken
        if not hasattr(import_module(one[0]), one[1]) and not find_spec(".".join(one))
    ] == []
