"""The agent skill over MCP: listed, read and verified as a client does, in both eras; and the icon of the server."""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import unquote

import anyio
import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.model.scope import Visibility
from stackroom.serve.caller import always
from stackroom.serve.icon import ADDRESS, PICTURE
from stackroom.serve.mcp_server import build_server
from stackroom.serve.skills import EXTENSION

pytestmark = pytest.mark.row("N17")

ERAS = ("legacy", "2026-07-28")
URI = "skill://stackroom/SKILL.md"
ANY = TypeAdapter(dict[str, Any])
ResultT = TypeVar("ResultT")


def ask(
    library: Any, work: Callable[[Client], Awaitable[ResultT]], *, mode: str, principal: Principal = LOCAL_USER
) -> ResultT:
    async def run() -> ResultT:
        async with Client(build_server(lambda: library.gate, always(principal)), mode=mode) as client:
            return await work(client)

    return anyio.run(run)


async def request(client: Client, method: str, **params: Any) -> dict[str, Any]:
    return await client.session.send_request(types.Request[dict[str, Any], str](method=method, params=params), ANY)


@pytest.mark.parametrize("mode", ERAS)
def test_every_file_of_the_skill_is_listed_and_read_as_its_digest_says(whole: Any, mode: str) -> None:
    async def look(client: Client) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
        listed = await request(client, "skills/list")
        (skill,) = listed["skills"]
        read = {one["uri"]: (await client.read_resource(one["uri"])).contents[0] for one in skill["resources"]}
        texts = {uri: one.text for uri, one in read.items() if isinstance(one, types.TextResourceContents)}
        return listed, await request(client, "skills/get", uri=skill["uri"]), texts

    listed, got, texts = ask(whole, look, mode=mode)
    (skill,) = listed["skills"]
    assert (listed["ttlMs"], listed["cacheScope"]) == (60_000, "private")
    assert got["skill"] == skill
    assert skill["uri"] == URI
    assert [one["uri"] for one in skill["resources"]] == list(texts)
    assert any(uri.endswith("references/music.md") for uri in texts)
    for one in skill["resources"]:
        content = texts[one["uri"]].encode()
        assert (one["digest"], one["size"]) == (f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))
    head = texts[URI].split("---\n")[1]
    assert f"description: {json.dumps(skill['frontmatter']['description'])}\n" in head
    assert f"name: {skill['frontmatter']['name']}\n" in head


@pytest.mark.parametrize("mode", ERAS)
def test_an_unknown_skill_file_or_cursor_is_refused_with_what_would_be_right(whole: Any, mode: str) -> None:
    async def look(client: Client) -> None:
        with pytest.raises(MCPError, match=f"no skill 'skill://x'; known: {URI}"):
            await request(client, "skills/get", uri="skill://x")
        with pytest.raises(MCPError, match="this list has no pages"):
            await request(client, "skills/list", cursor="1")
        with pytest.raises(MCPError):
            await client.read_resource("skill://stackroom/references/../../catalogue.toml")

    ask(whole, look, mode=mode)


def pages_of(library: Any, principal: Principal) -> list[str]:
    skill = library.gate.guide.find_skill(principal)
    return sorted(skill.files) if skill else []


def test_the_skill_has_no_page_about_catalogues_that_are_hidden_from_the_caller(whole: Any) -> None:
    sees_papers = Visibility(only=frozenset({"papers"}))
    actions = frozenset({Action.ACCESS_CATALOG})
    assert pages_of(whole, LOCAL_USER) == ["SKILL.md", "references/anime.md", "references/music.md"]
    assert pages_of(whole, Principal(name="reader", actions=actions, visibility=sees_papers)) == ["SKILL.md"]
    assert pages_of(whole, Principal(name="nobody", actions=frozenset())) == []


def test_the_extension_is_declared_and_the_icon_is_sent_to_those_who_connect_and_not_with_every_answer(
    plain: Any,
) -> None:
    async def look(client: Client) -> tuple[Any, Any, dict[str, Any]]:
        listed = await client.list_prompts()
        return client.server_capabilities, client.server_info, dict(listed.meta or {})

    capabilities, info, meta = ask(plain, look, mode="auto")
    assert capabilities.extensions[EXTENSION] == {}
    assert "icons" not in json.dumps(meta)
    assert ask(plain, look, mode="legacy")[1].icons[0].src == ADDRESS
    assert info.icons[0].src == ADDRESS
    assert re.fullmatch(r"data:[a-z/+;0-9]+,[A-Za-z0-9+/=]+", ADDRESS)


def test_the_icon_is_that_of_the_page() -> None:
    page = (files("stackroom.serve.http") / "site" / "index.html").read_text(encoding="utf-8")
    assert f'href="data:image/svg+xml,{PICTURE}"' in unquote(page)
