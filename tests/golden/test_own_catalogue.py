"""The page on adding a catalogue, followed to the letter: one declaration, no change of the
engine.
"""

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import Recipe, add_catalogue, own_recipe, package_recipe
from stackroom.catalogue.compiler import load_spec
from stackroom.model.principal import LOCAL_USER
from stackroom.packages import GROUP, PACKAGES, PackageRegistry
from stackroom.settings import Settings
from stackroom.sources.opener import open_source

PAGE = Path(__file__).parents[2] / "docs" / "add-a-catalogue.md"

pytestmark = pytest.mark.row("N1")


def fenced(language: str) -> str:
    """Return the first block of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def games(tmp_path: Path) -> Path:
    (tmp_path / "games.jsonl").write_text(fenced("json"), encoding="utf-8")
    (tmp_path / "games.toml").write_text(fenced("toml"), encoding="utf-8")
    return tmp_path


@pytest.fixture
def packages(games: Path, monkeypatch: pytest.MonkeyPatch) -> PackageRegistry:
    """The declaration in a package of its own, with an entry point."""
    package = games / "more_games"
    package.mkdir()
    (package / "__init__.py").write_text(fenced("python"), encoding="utf-8")
    (package / "catalogue.toml").write_text(fenced("toml"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(games))
    entry = EntryPoint("boardgames", "more_games:PACKAGE", GROUP)
    return PackageRegistry(lambda: [entry])


def build(folder: Path, recipe: Recipe, packages: PackageRegistry = PACKAGES) -> App:
    app = App(Settings(home=folder / "home"), packages=packages)
    source = open_source(str(folder / "games.jsonl"))
    report = add_catalogue(
        app, source, recipe=recipe, name="boardgames", progress=lambda _report: None, embed=False
    )
    assert (report.rows, report.written, report.rejected) == (4, 4, 0)
    return app


def require_answers(app: App) -> None:
    gate = app.build_gate()
    assert [tool.name for tool in gate.list_tools(LOCAL_USER)] == [
        "browse",
        "explain",
        "fetch",
        "recommend",
        "search",
        "similar",
    ]
    arguments = {
        "query": "diseases",
        "filters": {"minutes": {"max": 60}, "mechanics": ["Cooperative"]},
    }
    found = gate.call(LOCAL_USER, "search", arguments)
    assert found.structured is not None
    assert [one["id"] for one in found.structured["results"]] == ["boardgames/pandemic"]
    mechanics = gate.call(LOCAL_USER, "browse", {"catalogue": "boardgames", "field": "mechanics"})
    assert mechanics.structured is not None
    values = mechanics.structured["catalogues"][0]["fields"][0]["values"]
    assert values[0] == {"value": "cooperative", "count": 2}
    app.close()


def test_a_declaration_of_one_s_own_makes_a_catalogue_with_search_filters_and_facets(
    games: Path,
) -> None:
    require_answers(build(games, own_recipe(load_spec(games / "games.toml"))))


def test_the_same_file_in_a_package_with_an_entry_point_is_a_catalogue_package(
    games: Path, packages: PackageRegistry
) -> None:
    require_answers(build(games, package_recipe(packages.get("boardgames")), packages))
