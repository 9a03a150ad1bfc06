"""The view of hits inside an assistant: offered to clients that show views, over every transport,
and to no others.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client, types
from mcp.client import advertise

from stackroom.serve.hits_view import EXTENSION, MIME_TYPE, TILES, TOOL_META, URI
from support.clients import ERAS, ResultT, talk_to

pytestmark = pytest.mark.row("Z16")

SHOWS = {"mimeTypes": [MIME_TYPE]}


def ask(
    library: Any,
    work: Callable[[Client], Awaitable[ResultT]],
    *,
    mode: str,
    settings: dict[str, Any] | None = None,
    extension: str = EXTENSION,
) -> ResultT:
    """Run work with a client that declares the extension with these settings, if any."""
    declared = None if settings is None else [advertise(extension, settings)]
    return talk_to(lambda: library.gate, work, mode=mode, extensions=declared)


async def tools_of(client: Client) -> list[dict[str, Any]]:
    listed = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_shows_views_is_told_the_view_of_tools_that_find_records(
    whole: Any, mode: str
) -> None:
    tools = ask(whole, tools_of, mode=mode, settings=SHOWS)
    with_view = {tool["name"] for tool in tools if "_meta" in tool}
    assert {
        "search",
        "similar",
        "search_anime",
        "recommend_similar",
        "catalog.search",
        "search_papers",
    } <= with_view
    assert not {"ping", "fetch", "browse", "catalog.mutate", "get_anime_details"} & with_view
    assert all(tool["_meta"] == TOOL_META for tool in tools if "_meta" in tool)
    assert TOOL_META["ui"]["resourceUri"] == TOOL_META["ui/resourceUri"] == URI


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("extension", "settings"),
    [
        (EXTENSION, None),
        (EXTENSION, {}),
        (EXTENSION, {"mimeTypes": ["text/html"]}),
        ("io.example/ui", SHOWS),
    ],
)
def test_every_other_client_gets_the_list_that_it_always_got(
    whole: Any, mode: str, extension: str, settings: dict[str, Any] | None
) -> None:
    tools = ask(whole, tools_of, mode=mode, settings=settings, extension=extension)
    assert EXTENSION not in json.dumps(tools)
    assert [tool for tool in tools if "_meta" in tool] == []
    shown = ask(whole, tools_of, mode=mode, settings=SHOWS)
    assert [
        {key: value for key, value in tool.items() if key != "_meta"} for tool in shown
    ] == tools


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_view_is_one_document_that_needs_nothing_else(whole: Any, mode: str) -> None:
    async def look(client: Client) -> tuple[Any, list[str], Any]:
        listed = [one.uri for one in (await client.list_resources()).resources]
        return client.server_capabilities, listed, await client.read_resource(URI)

    capabilities, listed, read = ask(whole, look, mode=mode, settings=SHOWS)
    assert capabilities.extensions[EXTENSION] == SHOWS
    assert URI not in listed
    (content,) = read.contents
    assert isinstance(content, types.TextResourceContents)
    assert (content.uri, content.mime_type) == (URI, MIME_TYPE)
    assert content.meta == {"ui": {"prefersBorder": True}}
    assert content.text.startswith("<!doctype html>")
    assert content.text.count("</script>") == 2  # the texts of its languages, and its modules
    for loaded in (' src="', ' href="', "@import", "url(", "import(", "http://", "fetch("):
        assert loaded not in content.text.replace("http://www.w3.org/", "")
    assert len(content.text) < 60_000


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_shows_views_gets_the_results_as_the_page_draws_them_beside_the_answer(
    whole: Any, mode: str
) -> None:
    async def search(client: Client) -> Any:
        return await client.call_tool(
            "search", {"query": "space", "catalogue": "anime", "limit": 3}
        )

    drawn, plain = ask(whole, search, mode=mode, settings=SHOWS), ask(whole, search, mode=mode)
    ids = [one["id"] for one in drawn.structured_content["results"]]
    tiles = drawn.meta[TILES]
    assert list(tiles) == ids
    assert all({"kind", "line", "fields", "image"} <= tile.keys() for tile in tiles.values())
    assert drawn.structured_content["results"] == plain.structured_content["results"]
    assert TILES not in (plain.meta or {})
