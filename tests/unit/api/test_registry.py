"""Catalogue packages are found by their entry points."""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, package_recipe
from stackroom.errors import StorageError
from stackroom.model.principal import LOCAL_USER
from stackroom.packages import GROUP, PackageRegistry
from stackroom.settings import Settings
from stackroom.sources.json_rows import JsonRows

DECLARATION = """
name = "{name}"
title = "Games"
summary = "Board games."

[fields.title]
type = "text"
role = "title"
search = true
"""
MODULE = """
from importlib.resources import files
from stackroom.api import CataloguePackage, ToolParams, ToolResult, operation


class PingResult(ToolResult):
    said: str


@operation("games_ping")
def ping(call, params: ToolParams) -> PingResult:
    "Answer."
    return PingResult(said="pong")


def tools(catalogues):
    return [ping]


PACKAGE = CataloguePackage(declaration=files(__package__) / "catalogue.toml"{more})
"""

pytestmark = pytest.mark.row("N11")

Write = Callable[..., EntryPoint]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a package of one declaration, and returns its entry point."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def written(
        name: str, *, module: str = MODULE, folder: str | None = None, more: str = ""
    ) -> EntryPoint:
        package = tmp_path / (folder or f"{tmp_path.name}_{name}".replace("-", "_"))
        package.mkdir()
        (package / "catalogue.toml").write_text(DECLARATION.format(name=name), encoding="utf-8")
        (package / "__init__.py").write_text(module.replace("{more}", more), encoding="utf-8")
        return EntryPoint(name, f"{package.name}:PACKAGE", GROUP)

    return written


def registry(*entries: EntryPoint) -> PackageRegistry:
    return PackageRegistry(lambda: entries)


def built(home: Path, packages: PackageRegistry, *names: str) -> App:
    rows = home.parent / "rows.jsonl"
    rows.write_text('{"id": "go", "title": "Go"}\n', encoding="utf-8")
    app = App(Settings(home=home), packages=packages)
    for name in names:
        recipe = package_recipe(packages.get(name))
        add_catalogue(
            app,
            JsonRows(rows),
            recipe=recipe,
            name=name,
            progress=lambda _report: None,
            embed=False,
        )
    return app


def test_listing_the_names_loads_no_package(write: Write) -> None:
    entry = write("quiet")
    assert registry(entry).names == ["quiet"]
    assert entry.module not in sys.modules


def test_a_package_that_fails_to_load_is_named_and_the_others_go_on(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    packages = registry(write("broken", module="1 / 0"), write("sound"))
    assert [package.name for package in packages.iter_packages()] == ["sound"]
    assert "catalogue package 'broken'" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    with pytest.raises(
        StorageError, match=r"'broken'.* cannot be loaded: ZeroDivisionError: division by zero"
    ):
        packages.get("broken")


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("PACKAGE = 5", "a stackroom.api.CataloguePackage is expected, not int"),
        ("", "has no attribute 'PACKAGE'"),
    ],
)
def test_an_entry_point_that_leads_to_no_package_is_refused(
    write: Write, module: str, said: str
) -> None:
    with pytest.raises(StorageError, match=said):
        registry(write("odd", module=module)).get("odd")


def test_an_entry_point_must_have_the_name_of_its_declaration(write: Write) -> None:
    entry = write("chess")
    with pytest.raises(
        StorageError, match="called 'chess'; the entry point must have the same name"
    ):
        registry(EntryPoint("draughts", entry.value, GROUP)).get("draughts")


def test_a_catalogue_whose_package_is_gone_says_so_and_the_others_are_served(
    tmp_path: Path, write: Write
) -> None:
    kept, removed = write("kept"), write("removed")
    built(tmp_path / "home", registry(kept, removed), "kept", "removed").close()
    app = App(Settings(home=tmp_path / "home"), packages=registry(kept))
    gate = app.build_gate()
    assert gate.call(LOCAL_USER, "search", {"query": "go"}).structured
    assert (
        "'removed', which is not installed; install it with pip"
        in app.catalogue_problems()["catalogue removed"]
    )
    app.close()


@pytest.mark.parametrize(
    ("more", "tools"),
    [
        (", tools=tools", ["browse", "explain", "fetch", "games_ping", "search", "similar"]),
        (", tools=tools, replaces_generic_tools=True", ["games_ping"]),
    ],
)
def test_the_tools_of_a_package_stand_beside_the_generic_ones_unless_it_says_that_they_replace_them(
    tmp_path: Path, write: Write, more: str, tools: list[str]
) -> None:
    app = built(tmp_path / "home", registry(write("games", more=more)), "games")
    assert [tool.name for tool in app.build_gate().list_tools(LOCAL_USER)] == tools
    app.close()
