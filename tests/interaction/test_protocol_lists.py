"""What a client is told at connecting and in lists: instructions, capabilities, names of tools."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from stackroom.model.principal import LOCAL_USER
from stackroom.tools.spec import COMMON_ARGUMENTS, FOR_PAGES
from support.clients import ResultT, talk_to

pytestmark = pytest.mark.row("Z14")

ERAS = ("legacy", "auto")


def ask(
    library: Any,
    work: Callable[[Client], Awaitable[ResultT]],
    *,
    client: str = "somebody",
    **options: Any,
) -> ResultT:
    """Run work with a client of a server over this library."""
    about = types.Implementation(name=client, version="1")
    return talk_to(lambda: library.gate, work, client_info=about, **options)


async def tool_names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_is_told_what_there_is_and_that_lists_do_not_change_where_rights_do_not(
    whole: Any, mode: str
) -> None:
    async def look(client: Client) -> tuple[str | None, Any]:
        return client.instructions, client.server_capabilities

    instructions, capabilities = ask(whole, look, mode=mode)
    assert instructions == whole.gate.instructions(LOCAL_USER)
    assert not capabilities.tools.list_changed
    assert not capabilities.prompts.list_changed
    assert capabilities.completions is None
    assert not capabilities.resources.subscribe


@pytest.mark.parametrize("mode", ERAS)
def test_a_prompt_is_listed_and_filled_in_and_a_wrong_one_refused_with_what_would_be_right(
    whole: Any, mode: str
) -> None:
    async def look(client: Client) -> tuple[list[str], str, list[str]]:
        listed = [prompt.name for prompt in (await client.list_prompts()).prompts]
        given = {"question": "Which ships fly in space?", "catalogue": "anime"}
        found = await client.get_prompt("research", given)
        refused = []
        for name, arguments in (
            ("reserch", {}),
            ("research", {}),
            ("research", {"question": "x", "year": "1"}),
        ):
            with pytest.raises(MCPError) as error:
                await client.get_prompt(name, arguments)
            refused.append(str(error.value))
        return listed, found.messages[0].content.text, refused

    listed, text, refused = ask(whole, look, mode=mode)
    assert listed == ["research"]
    assert text.startswith("Answer this question from the catalogues, with evidence: Which ships")
    assert "1. Call search with the question in the catalogue anime and max_tokens" in text
    assert "did you mean 'research'" in refused[0]
    assert "'question' is missing: the question" in refused[1]
    assert "valid: question, catalogue" in refused[2]


@pytest.mark.parametrize("mode", ERAS)
def test_tools_are_listed_with_plain_names_where_that_is_set_and_called_by_either(
    whole: Any, mode: str
) -> None:
    async def look(client: Client) -> tuple[list[str], list[bool], str]:
        listed = await client.list_tools()
        named = {tool.name: tool for tool in listed.tools}
        called = [
            (await client.call_tool(name, {"query_type": "stats"})).is_error
            for name in ("catalog_get", "catalog.get")
        ]
        return (
            sorted(named),
            called,
            str(named["catalog_get"].description) + str(client.instructions),
        )

    listed, failed, told = ask(whole, look, mode=mode, tool_names="plain")
    assert failed == [False, False]
    assert {"catalog_get", "catalog_mutate", "judokon_getById"} <= set(listed)
    assert not any("." in name for name in listed)
    assert "catalog_mutate" in told
    assert "catalog.mutate" not in told


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_is_known_to_need_plain_names_gets_them(whole: Any, mode: str) -> None:
    for name in ("OpenAI-MCP", "claude-ai", "cursor-vscode"):
        assert "catalog_get" in ask(whole, tool_names, mode=mode, client=name)
    assert "catalog.get" in ask(whole, tool_names, mode=mode, client="another")


def test_a_tool_that_is_not_there_by_either_name_is_unknown(whole: Any) -> None:
    async def call(client: Client) -> None:
        with pytest.raises(MCPError, match=r"no tool 'catalog_gett' .did you mean"):
            await client.call_tool("catalog_gett", {})

    ask(whole, call)


def test_every_argument_is_described_unless_it_is_a_choice_of_listed_values(whole: Any) -> None:
    undescribed = [
        f"{tool.name}.{field.alias or name}"
        for tool in whole.gate.list_tools(LOCAL_USER)
        for name, field in tool.params.model_fields.items()
        if not field.description
        and FOR_PAGES not in field.metadata
        and {"description", "enum"}.isdisjoint(tool.input_schema["properties"][field.alias or name])
    ]
    assert undescribed == []


def test_arguments_for_pages_are_in_no_list(whole: Any) -> None:
    for tool in whole.gate.list_tools(LOCAL_USER):
        fields = tool.params.model_fields.items()
        listed = {field.alias or name for name, field in fields if FOR_PAGES not in field.metadata}
        assert tool.listed_schema["properties"].keys() == listed, tool.name


def test_the_list_of_many_tools_leaves_out_only_descriptions_that_instructions_or_names_replace(
    whole: Any,
) -> None:
    plain = {"query", "limit", "offset", "catalogue", "filters", *COMMON_ARGUMENTS}
    bare = {
        (tool.name, name): schema
        for tool in whole.gate.list_tools(LOCAL_USER)
        for name, schema in tool.input_schema["properties"].items()
        if "description" not in schema and "enum" not in schema and name not in plain
    }
    assert all("maximum" in schema for schema in bare.values()), list(bare)
    told = whole.gate.instructions(LOCAL_USER)
    assert all(name in told for name in COMMON_ARGUMENTS)


def test_every_list_says_what_its_items_are(whole: Any) -> None:
    """Clients of several providers refuse a list whose schema has no `items`."""

    def lists_in(node: Any) -> list[dict[str, Any]]:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        own = [node] if isinstance(node, dict) and node.get("type") == "array" else []
        return own + [found for one in inner for found in lists_in(one)]

    for tool in whole.gate.list_tools(LOCAL_USER):
        assert all("items" in one for one in lists_in(tool.input_schema)), tool.name


def test_every_argument_has_one_type_for_clients_that_translate_schemas(whole: Any) -> None:
    """autogen-ext cannot list any tool of a server where one argument has two types."""

    async def look(client: Client) -> list[str]:
        tools = (await client.list_tools()).tools
        arguments = [
            (tool.name, name, one)
            for tool in tools
            for name, one in tool.input_schema["properties"].items()
        ]
        return [
            f"{tool}: {name}"
            for tool, name, one in arguments
            if not isinstance(one.get("type"), str)
        ]

    assert ask(whole, look) == []
