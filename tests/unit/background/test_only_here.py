"""No other module than the background's starts a thread or a process."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import stackroom
import stackroom_catalogues

ROOTS = [Path(package.__file__ or "").parent for package in (stackroom, stackroom_catalogues)]
HERE = Path(stackroom.__file__ or "").parent / "background"
MODULES = frozenset({"subprocess", "multiprocessing", "_thread"})
"""Modules that no other file imports."""
NAMES = frozenset(
    {
        "Thread",
        "Timer",
        "ThreadPoolExecutor",
        "ProcessPoolExecutor",
        "InterpreterPoolExecutor",
        "ThreadPool",
        "create_subprocess_exec",
        "create_subprocess_shell",
        "subprocess_exec",
        "subprocess_shell",
        "open_process",
        "run_process",
        "fork",
        "forkpty",
        "posix_spawn",
        "posix_spawnp",
        "popen",
        "system",
        "startfile",
        *(
            f"{kind}{end}"
            for kind in ("spawn", "exec")
            for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
        ),
    }
)
"""Names that start one, as attributes of a module or imported from one."""
PARENTS = frozenset(
    {
        "threading",
        "os",
        "asyncio",
        "anyio",
        "concurrent.futures",
        "futures",
        "loop",
        "concurrent.futures.thread",
    }
)
"""Where these names are looked for: elsewhere they are other things, such as `platform.system`."""
EXCEPTIONS = {
    (
        "search/searcher.py",
        "ThreadPoolExecutor",
    ): "the arms of one search, at most three at once, end with it",
}


def find_starts(tree: ast.AST) -> Iterator[str]:
    """Yield what a module could start threads or processes with; names that are only annotations do
    not.
    """
    annotations = {
        id(inner)
        for node in ast.walk(tree)
        for note in annotations_of(node)
        for inner in ast.walk(note)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.ImportFrom) and node.module in PARENTS:
            yield from (name.name for name in node.names if name.name in NAMES)
        elif isinstance(node, ast.Attribute) and id(node) not in annotations and is_start(node):
            yield node.attr


def annotations_of(node: ast.AST) -> list[ast.expr]:
    found = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    return [one for one in found if one is not None]


def is_start(node: ast.Attribute) -> bool:
    return node.attr in NAMES and isinstance(node.value, ast.Name) and node.value.id in PARENTS


@cache
def list_starts() -> set[tuple[str, str]]:
    found = set()
    for root in ROOTS:
        for path in root.rglob("*.py"):
            if HERE not in path.parents:
                starts = find_starts(ast.parse(path.read_text(encoding="utf-8")))
                found |= {(path.relative_to(root).as_posix(), name) for name in starts}
    return found


def test_threads_and_processes_are_started_in_the_background_alone() -> None:
    assert list_starts() - EXCEPTIONS.keys() == set(), (
        "use stackroom.background: a Task, start_thread or ChildProcess"
    )


def test_every_exception_is_still_needed() -> None:
    assert EXCEPTIONS.keys() <= list_starts()


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess",
        "from subprocess import run",
        "import multiprocessing.pool",
        "import threading\nthreading.Thread(target=print).start()",
        "from threading import Timer",
        "from concurrent.futures import ProcessPoolExecutor",
        "import os\nos.fork()",
        "import os\nos.system('ls')",
        "import asyncio\nasyncio.create_subprocess_exec('ls')",
    ],
)
def test_what_starts_one_is_seen(code: str) -> None:
    assert list(find_starts(ast.parse(code)))


def test_what_only_names_the_type_is_not_taken_for_a_start() -> None:
    code = "import threading\ndef wait(thread: threading.Thread | None) -> threading.Thread: ..."
    assert not list(find_starts(ast.parse(code)))
