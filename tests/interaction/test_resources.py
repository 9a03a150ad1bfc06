"""Resources as a real MCP client sees them, in both eras of the protocol, over the sample library
without vectors.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import Client, types

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.gate.gate import Gate
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from support.clients import ERAS, talk_to

PAGES = {
    "bread.md": "# Bread\n\nFlour, water, salt and time.\n",
    "sea/sail & swim.md": "# Sailing\n\nMind the boom.\n\n## Swimming\n\nMind the current.\n",
    "sea/tides.txt": "High water follows the moon.\n",
}


@pytest.fixture(params=ERAS)
def converse(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Let a client of each era talk to a server over a gate."""
    return lambda gate, talk, **options: talk_to(lambda: gate, talk, mode=request.param, **options)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """A gate over a collection of documents."""
    folder = tmp_path_factory.mktemp("pages")
    for path, text in PAGES.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    app = App(Settings(home=tmp_path_factory.mktemp("home")))
    source = open_rows(PACKAGES.get("documents"), str(folder))
    recipe = package_recipe(PACKAGES.get("documents"))
    add_catalogue(
        app, source, recipe=recipe, name="notes", progress=lambda _report: None, embed=False
    )
    yield app.build_gate()
    app.close()


@pytest.mark.row("T9")
def test_every_document_is_listed_once_and_reads_as_its_file(pages: Gate, converse: Any) -> None:
    async def talk(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert sorted(one.name for one in listed) == sorted(f"notes/{path}" for path in PAGES)
        for one in listed:
            (content,) = (await client.read_resource(one.uri)).contents
            assert isinstance(content, types.TextResourceContents)
            assert content.text.strip() == PAGES[one.name.removeprefix("notes/")].strip()
            assert content.mime_type == one.mime_type

    converse(pages, talk)
