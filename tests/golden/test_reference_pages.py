"""The pages in `docs/` say what the code does: reference pages are what the script makes, examples
compile.
"""

import inspect
import re
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import build_reference
import pytest

import stackroom
from stackroom import api
from stackroom.assembly.app import App
from stackroom.cli.host import AdminServer
from stackroom.cli.main import COMMANDS, find_package_commands
from stackroom.control.control import Control
from stackroom.errors import ExpectedError
from stackroom.settings import Settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PUBLIC = [
    name
    for name, item in vars(api).items()
    if not name.startswith("_") and not inspect.ismodule(item)
]


@cache
def page_of(name: str) -> str:
    return build_reference.PAGES[name]()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pages in a folder, to be compared with those that were built once for all tests."""
    for name in build_reference.PAGES:
        (tmp_path / name).write_text(page_of(name), encoding="utf-8")
        monkeypatch.setitem(build_reference.PAGES, name, lambda name=name: page_of(name))
    return tmp_path


@pytest.mark.parametrize("name", build_reference.PAGES)
def test_a_reference_page_is_what_the_code_says(name):
    page = (build_reference.TARGET / name).read_text(encoding="utf-8")

    assert page == page_of(name), (
        f"docs/reference/{name} lags; run: python scripts/build_reference.py"
    )


def test_a_page_that_was_changed_by_hand_or_is_missing_is_named(folder):
    assert build_reference.lagging_pages(folder) == []

    page = folder / "errors.md"
    page.write_text(page.read_text(encoding="utf-8").replace("busy", "bussy"), encoding="utf-8")

    (folder / "cli.md").unlink()

    assert build_reference.lagging_pages(folder) == ["errors.md", "cli.md"]


def test_the_pages_name_no_folder_of_the_machine_they_were_made_on():
    for page in map(page_of, build_reference.PAGES):
        assert str(ROOT) not in page
        assert str(Path.home()) not in page


def test_the_pages_do_not_depend_on_the_terminal(monkeypatch):
    before = page_of("cli.md")
    monkeypatch.setenv("COLUMNS", "40")

    assert build_reference.cli_page() == before


def every_error(error: type[ExpectedError] = ExpectedError) -> Iterator[type[ExpectedError]]:
    for one in error.__subclasses__():
        yield one
        yield from every_error(one)


def test_the_page_of_errors_has_every_code():
    page = page_of("errors.md")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    replies = {
        code for text in sources for code in re.findall(r'status_reply\([^,"]+, "(\w+)"', text)
    }
    codes = {error.code for error in every_error()} | replies

    assert {"not_found", "method_not_allowed", "range_not_satisfiable"} <= codes
    assert {code for code in codes if f"| `{code}` |" not in page} == set()
    assert set(build_reference.HTTP_CODES) <= replies


def test_the_page_of_tools_has_every_tool_of_a_shared_server(tmp_path):
    app = App(
        Settings(home=tmp_path, offline=True, sections={"downloads": {"folder": str(tmp_path)}})
    )
    with closing(Control.open(app.settings)) as control:
        house = AdminServer(app, control)
        tools = {tool.name: tool for tool in house.tools.tools}
        house.stop()
    described = {tool.name: tool for tool in build_reference.list_house_tools()}

    assert set(described) == set(tools)
    assert [name for name, tool in described.items() if tool.params is not tools[name].params] == []
    assert "### `catalog.mutate`" in page_of("tools.md")


def test_the_pages_name_only_commands_that_there_are():
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    commands = {
        name
        for text in pages
        for name in re.findall(r"^\$ (?:[A-Z_]+=\S+ )*stackroom ([a-z][a-z-]*)", text, re.MULTILINE)
    }

    assert commands <= {*COMMANDS, *find_package_commands()}


def test_the_pages_for_users_have_every_command():
    pages = [page for page in DOCS.rglob("*.md") if page.name != "cli.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)

    assert [
        name for name in (*COMMANDS, *find_package_commands()) if f"stackroom {name}" not in text
    ] == []


def test_every_public_name_has_a_word_about_it_within_the_length_of_a_page():
    pages = [page_of(name) for name in ("python-api.md", "package-api.md")]
    assert all(f"`{name}" in pages[0] for name in dir(stackroom) if not name.startswith("_"))
    assert all(
        f"`{name}" in pages[1] for name in [*PUBLIC, "open_sample", "ServerContext", "SqliteRows"]
    )
    assert " at 0x" not in "".join(pages)
    assert sum(len(page.split()) for page in pages) <= 3_500
