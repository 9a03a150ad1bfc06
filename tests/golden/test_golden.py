"""What users and assistants see, to the letter: tool list, error table, help.

`STACKROOM_UPDATE_GOLDEN=1` rewrites the files.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from mcp import Client
from mcp.server import Server

from stackroom import errors
from stackroom.cli.main import COMMANDS, cli
from stackroom.model.principal import LOCAL_USER
from stackroom.tools.operation import NOTED_WHOLE
from support.clients import always, build_server

FOLDER = Path(__file__).parent
LARGEST_TOOL_LIST = 6_144
LARGEST_WHOLE_LIST = 16_384


@pytest.fixture
def require_golden(is_updating_golden: bool) -> Callable[[str, str], None]:
    """Compare a text with the file of that name, or rewrite the file where that is asked for."""

    def check(name: str, text: str) -> None:
        path = FOLDER / name
        if is_updating_golden:
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{name} is missing; run the tests with STACKROOM_UPDATE_GOLDEN=1"
        assert text == path.read_text(encoding="utf-8"), (
            f"{name} has changed; if that is meant: STACKROOM_UPDATE_GOLDEN=1"
        )

    return check


async def received_tools(server: Server[Any], mode: str) -> list[dict[str, Any]]:
    """Return the tools as a client receives them."""
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]


@pytest.mark.row("A13")
def test_the_tool_list_is_as_it_was_and_small(
    plain: Any, require_golden: Callable[[str, str], None]
) -> None:
    server = build_server(lambda: plain.gate, always(LOCAL_USER))
    tools = anyio.run(received_tools, server, "legacy")
    assert anyio.run(received_tools, server, "2026-07-28") == tools
    assert len(json.dumps({"tools": tools}, ensure_ascii=False).encode()) <= LARGEST_TOOL_LIST
    require_golden("tools.json", json.dumps({"tools": tools}, ensure_ascii=False, indent=1) + "\n")


@pytest.mark.row("N8", "N9", "Z14")
def test_the_tool_list_of_all_samples_is_as_it_was_and_small(
    whole: Any, require_golden: Callable[[str, str], None]
) -> None:
    server = build_server(lambda: whole.gate, always(LOCAL_USER))
    tools = anyio.run(received_tools, server, "2026-07-28")
    assert [tool["name"] for tool in tools] == sorted(tool["name"] for tool in tools)
    assert len(json.dumps({"tools": tools}, ensure_ascii=False).encode()) <= LARGEST_WHOLE_LIST
    require_golden(
        "all-tools.json", json.dumps({"tools": tools}, ensure_ascii=False, indent=1) + "\n"
    )


def test_every_tool_whose_answer_has_a_total_or_results_declares_how_to_count_them(
    whole: Any,
) -> None:
    countable = {
        tool.name: tool.operation.faces.audit.count_of is not NOTED_WHOLE.count_of
        for tool in whole.gate.list_tools(LOCAL_USER)
        if not {"total", "total_matches", "results"}.isdisjoint(tool.operation.result.model_fields)
    }
    assert len(countable) >= 8
    assert [name for name, is_counted in countable.items() if not is_counted] == []


def test_the_error_table_is_as_it_was(require_golden: Callable[[str, str], None]) -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ExpectedError)
    ]
    rows = [
        f"{kind.__name__:20} {kind.code:16} {kind.http_status:4} {kind.exit_code:4}"
        for kind in kinds
    ]
    head = f"{'error':20} {'code':16} {'http':>4} {'exit':>4}"
    require_golden("errors.txt", "\n".join([head, *rows]) + "\n")


def test_every_code_has_one_meaning() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ExpectedError)
    ]
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(kind.exit_code for kind in kinds)


def help_of(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[str]:
    """Yield the help of a command and of those within it, as they are shown on a terminal of 80
    columns.
    """
    context = click.Context(
        command,
        parent,
        info_name=name,
        terminal_width=80,
        max_content_width=80,
        **command.context_settings,
    )
    yield f"$ {context.command_path} --help\n{command.get_help(context)}\n"
    for inner in command.list_commands(context) if isinstance(command, click.Group) else ():
        within = command.get_command(context, inner)
        assert within is not None
        yield from help_of(within, inner, context)


def test_the_help_of_every_command_is_as_it_was(require_golden: Callable[[str, str], None]) -> None:
    require_golden("help.txt", "\n".join(help_of(cli, "stackroom")))


def test_the_summary_of_every_command_is_loaded_without_the_command() -> None:
    assert len(COMMANDS) == len(set(COMMANDS))
    for name, (_, summary) in COMMANDS.items():
        assert summary.endswith("."), name
