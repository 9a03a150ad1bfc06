"""Modules that are imported by their names in strings: each for a reason, and no circle hides
behind one.
"""

import ast
from collections.abc import Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"
RESOURCES = {"files", "getLogger", "load_packaged"}
"""Functions that take the name of a package for something else than to import it."""

REASONS = {
    "the driver of PostgreSQL is an extra": {
        ("stackroom.assembly.build", "stackroom.shelf.postgres.move"),
        ("stackroom.cli.move", "stackroom.shelf.postgres.move"),
        ("stackroom.control.database.engine", "stackroom.control.database.postgresql"),
        ("stackroom.shelf.opening", "stackroom.shelf.postgres.followed_store"),
        ("stackroom.shelf.opening", "stackroom.shelf.postgres_search.searched_index"),
    },
    "LanceDB is an extra": {("stackroom.cli.sync", "stackroom.assembly.sync")},
    "SQLAlchemy is slow to import, and not every command or call needs it": {
        ("stackroom.assembly.serving", "stackroom.control.database.engine"),
        ("stackroom.cli.connect", "stackroom.control.control"),
    },
    "the SDK and the servers are slow to import, and one of them is needed": {
        ("stackroom.cli.connect", "stackroom.assembly.upkeep"),
        ("stackroom.cli.connect", "stackroom.cli.host"),
        ("stackroom.cli.connect", "stackroom.serve.stdio"),
    },
    "a client of HTTP is slow to import, and few catalogues need one": {
        ("stackroom.assembly.serving", "stackroom.search.remote_reranker"),
        ("stackroom.assembly.build", "stackroom.sources.web_file"),
        ("stackroom.assembly.upkeep", "stackroom.packs.places"),
        ("stackroom.embed.adapters", "stackroom.embed.remote"),
        ("stackroom.embed.weights", "stackroom.embed.remote"),
    },
    "the runtime of the models is slow to import, and search by words needs none": {
        ("stackroom.embed.adapters", "stackroom.embed.encoder"),
    },
    "a reader of one format is slow to import, and most sources have others": {
        ("stackroom.sources.extract", "stackroom.sources.pdf_text"),
    },
    "searching is slow to import, and most builds are of catalogues that were never graded": {
        ("stackroom.assembly.build", "stackroom.grading.graded_catalogue"),
        ("stackroom.cli.add", "stackroom.assembly.update_plan"),
    },
    "a command imports what it needs, and no other": {
        ("stackroom.cli.main", "stackroom.cli.ask"),
        ("stackroom.cli.main", "stackroom.cli.build"),
        ("stackroom.cli.main", "stackroom.cli.opening"),
    },
    "importing the package has no side effects": {
        ("stackroom", "stackroom.errors"),
        ("stackroom", "stackroom.python.catalogue"),
        ("stackroom", "stackroom.python.library"),
    },
    "the module of a child process": {
        ("stackroom.admin.sql_tool", "stackroom.admin.sql_process"),
        ("stackroom.shelf.embedded.index_process", "stackroom.shelf.embedded.index_worker"),
    },
    "a package is listed before its tools are needed": {
        (f"stackroom_catalogues.{name}", f"stackroom_catalogues.{name}.{module}")
        for name, modules in {
            "anime": ("tools",),
            "documents": ("rows", "tools"),
            "judoka": ("tools",),
            "music": ("downloads.tools", "player.own", "subsonic.methods", "tools"),
            "papers": ("providers", "tools"),
        }.items()
        for module in modules
    }
    | {("stackroom_catalogues.music.player.endpoints", "stackroom_catalogues.music.player.store")},
}
NO_CIRCLE_AFTER_ALL = {
    "stackroom": "what it names is loaded when somebody asks for it from outside",
    "stackroom.shelf.embedded.index_process": "the other module is run, and not imported",
}
"""Modules whose late imports lead back to them, and why that is no circle."""

Edges = dict[str, set[str]]


@dataclass(frozen=True)
class Module:
    """What a module names: in imports, and in its strings."""

    imports: set[str]
    strings: set[str]


@cache
def modules() -> dict[str, Module]:
    """Return every module of the distribution by its name."""
    found = {path.relative_to(SRC).with_suffix("").parts: path for path in SRC.rglob("*.py")}
    paths = {".".join(parts).removesuffix(".__init__"): path for parts, path in found.items()}
    read = {name: read_module(path) for name, path in paths.items()}
    return {
        name: Module(
            imports={find_module(one, paths.keys()) for one in module.imports} & paths.keys(),
            strings={one for one in module.strings & paths.keys() - {name} if "." in one},
        )
        for name, module in read.items()
    }


def find_module(name: str, known: Set[str]) -> str:
    """Return the module of an imported name: itself, or what it is taken from."""
    return name if name in known else name.rpartition(".")[0]


def read_module(path: Path) -> Module:
    """Read what a module names, but for what only the checker of types sees, and the names of
    resources; `module:name` is a module.
    """
    read = Module(set(), set())
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
                if called in RESOURCES:
                    continue
            case ast.Import():
                read.imports.update(one.name for one in node.names)
            case ast.ImportFrom():
                read.imports.update(f"{node.module}.{one.name}" for one in node.names)
            case ast.Constant(value=str(value)):
                read.strings.add(value.partition(":")[0])
        waiting += ast.iter_child_nodes(node)
    return read


def find_circles(edges: Edges) -> set[str]:
    """Return the modules that are in circles, or between two."""
    left = dict(edges)
    for _ in ("those that lead to none", "those that none leads to"):
        while ends := [name for name, others in left.items() if not others & left.keys()]:
            for name in ends:
                del left[name]
        left = {name: {one for one in left if name in left[one]} for name in left}
    return set(left)


def test_a_module_is_imported_by_its_name_in_a_string_for_a_known_reason_only() -> None:
    late = {(name, target) for name, module in modules().items() for target in module.strings}
    assert late == set().union(*REASONS.values())


def test_no_circle_hides_behind_a_name_in_a_string() -> None:
    edges = {
        name: module.imports | (set() if name in NO_CIRCLE_AFTER_ALL else module.strings)
        for name, module in modules().items()
    }
    assert find_circles(edges) == set()


def test_a_circle_would_be_found() -> None:
    assert find_circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {"b", "c"}
