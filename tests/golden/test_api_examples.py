"""Every name of `stackroom.api` has an example in the reference, and each example runs: over the
sample of a package that `stackroom new` writes.
"""

import importlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import api_pages
import pytest
from click.testing import CliRunner

from stackroom import api
from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.cli.main import cli
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.packages import GROUP, PackageRegistry
from stackroom.settings import Settings
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.operation import Operation
from stackroom.tools.toolbox import Toolbox

MOST_NAMES = 60


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("site")
    made = CliRunner().invoke(cli, ["new", "workshop", "--output", str(folder)])
    assert made.exit_code == 0, made.output
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield importlib.import_module("api_examples")


@pytest.fixture(scope="module")
def workshop(
    examples: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Gate, OpenCatalogue]]:
    package = replace(examples.PACKAGE, mapping=None)
    operations = [one for one in vars(examples).values() if isinstance(one, Operation)]
    registry = PackageRegistry(lambda: [EntryPoint("workshop", "workshop:PACKAGE", GROUP)])
    home = Settings(home=tmp_path_factory.mktemp("home"))
    with closing(App(home, packages=registry)) as app:
        add_catalogue(
            app,
            open_rows(package, str(package.samples[0].files)),
            recipe=package_recipe(package),
            name="workshop",
            progress=lambda _report: None,
            embed=False,
        )
        opened = app.open_catalogue("workshop")
        resources = examples.resources([opened])
        yield Gate(Toolbox(operations, resources, catalogues=[opened])), opened


def test_each_of_at_most_sixty_names_has_an_example() -> None:
    shown = [(name, code) for names, code in api_pages.iter_examples() for name in names]

    assert len(api.__all__) <= MOST_NAMES
    assert sorted(name for name, _ in shown) == sorted(api.__all__)
    assert [name for name, code in shown if name not in code] == []


def test_the_examples_of_tools_answer(workshop: tuple[Gate, OpenCatalogue]) -> None:
    gate, _ = workshop
    listed = gate.call(LOCAL_USER, "items_of_year", {"year": 2021}).structured
    found = gate.call(LOCAL_USER, "find_items", {"query": "glass lantern", "explain": True})
    counted = gate.call(LOCAL_USER, "count_items", {"limit": 2, "offset": 0}).structured

    assert listed == {"result": ["Reading lamp"]}
    assert found.structured is not None, found.text
    assert found.structured["results"][0]["title"] == "Harbour lantern"
    assert found.structured["results"][0]["why"]["strength"]
    assert counted == {"items_in_all": 3, "listed": 2}


def test_the_other_examples_do_what_they_say(
    examples: Any, workshop: tuple[Gate, OpenCatalogue]
) -> None:
    gate, opened = workshop
    (record,) = examples.records_of({"id": "i9", "title": "Élan"})
    wishes, wish = examples.Wishes(), {"kind": "wish", "fields": {"text": "a bench"}}
    request = api.EditRequest(action="create", **wish)  # type: ignore[arg-type]

    assert [tag.value for tag in record.get("marks")] == ["e"]
    assert examples.describe_year("2019") == "the year 2019"
    assert "a number such as 2019" in examples.describe_year("soon")
    assert [error.message for error in examples.ERRORS]
    assert opened.view().reader.count(examples.SCOPE) == 1
    assert examples.is_cheap(examples.search_items)
    assert examples.titles_of(opened.view(), "makers") == ["Ada Lind", "Bruno Costa"]
    assert "Oak bench" in (gate.read(LOCAL_USER, "workshop://workshop").text or "")
    assert wishes.change(LOCAL_USER, request).op == "insert"
    assert wishes.change(LOCAL_USER, request) is None
    assert examples.WorkshopSettings().hidden_makers == ()
