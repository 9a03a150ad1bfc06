"""Resources as a real MCP client sees them, in both eras of the protocol, over the sample library
without vectors.
"""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.gate.gate import Gate
from stackroom.model.principal import Action, Principal
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.tools.resources.resource import ResourceContent, ResourceSpec
from stackroom.tools.toolbox import Toolbox
from support.clients import ERAS, talk_to

NOBODY = Principal(name="nobody", actions=frozenset())
PICTURE = ResourceSpec(
    prefix="files://",
    action=Action.ACCESS_CATALOG,
    entries=lambda _principal: [],
    read=lambda _principal, rest: ResourceContent(mime_type="image/png", blob=rest.encode()),
)

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


@pytest.mark.row("N8")
@pytest.mark.row("T9")
def test_a_long_document_comes_in_parts_that_say_so(tmp_path: Path, converse: Any) -> None:
    long = "# Rules\n\n" + "".join(
        f"Rule {number}: be kind to everybody.\n" for number in range(1_000)
    )
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "rules.md").write_text(long, encoding="utf-8")
    app = App(Settings(home=tmp_path / "home", offline=True))
    recipe = package_recipe(PACKAGES.get("documents"))
    source = open_rows(PACKAGES.get("documents"), str(tmp_path / "files"))
    add_catalogue(
        app, source, recipe=recipe, name="notes", progress=lambda _report: None, embed=False
    )

    async def talk(client: Client) -> None:
        found, uri = "", "documents://notes/rules.md"
        while uri:
            (content,) = (await client.read_resource(uri)).contents
            assert isinstance(content, types.TextResourceContents)
            assert len(content.text.encode()) <= 10_000
            head, _, text = content.text.partition("\n\n")
            assert head.startswith(
                f"[stackroom: characters {len(found) + 1}–{len(found) + len(text)} of "
            )
            found += text
            uri = head.partition("the rest: ")[2].removesuffix("]")
        assert found.strip() == long.strip()

    converse(app.build_gate(), talk)
    app.close()


@pytest.mark.row("T9")
@pytest.mark.parametrize(
    "path", ["nothing.md", "../home/installed.json", "bread.md%231", "bread.md#1", ""]
)
def test_a_document_that_is_not_there_is_an_error(pages: Gate, converse: Any, path: str) -> None:
    async def talk(client: Client) -> None:
        for name in ("notes", "nothing"):
            with pytest.raises(MCPError, match="there is no resource 'documents://") as caught:
                await client.read_resource(f"documents://{name}/{path}")
            assert caught.value.error.code == types.INVALID_PARAMS

    converse(pages, talk)


@pytest.mark.row("T9")
def test_a_caller_who_may_not_read_sees_no_document(pages: Gate, converse: Any) -> None:
    async def talk(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match=r"there is no resource 'documents://notes/bread\.md'"):
            await client.read_resource("documents://notes/bread.md")

    converse(pages, talk, principal=NOBODY)


def test_bytes_are_read_as_they_are(converse: Any) -> None:
    async def talk(client: Client) -> None:
        (content,) = (await client.read_resource("files://7")).contents
        assert isinstance(content, types.BlobResourceContents)
        assert (content.mime_type, base64.b64decode(content.blob)) == ("image/png", b"7")

    converse(Gate(Toolbox([], [PICTURE])), talk)
