"""The MCP Inspector's command line against the real server: tools are listed and called over every
transport.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from conformance.library import STACKROOM, ServedLibrary, serving_library
from conformance.node import INSPECTOR, Node
from conformance.processes import Finished, run_bounded

TIMEOUT_S = 60
ERAS = ("legacy", "modern")
"""The revisions with a handshake, and those without."""

PRINTING = ("--format", "json", "--quiet")
TOOLS = ["browse_taxonomy", "get_anime_details", "recommend_similar", "search_anime"]
TOOL_FAILED = 5
"""The Inspector's exit code for a result that is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the Inspector is told to do, and what must be true of its exit code and of the result
    that it prints.
    """

    arguments: tuple[str, ...]
    is_answered: Callable[[int | None, Any], bool]


def check_inspector(node: Node) -> bool:
    """Ask every question over every transport and era, print the outcomes, and return whether all
    are right.
    """
    print("\ninspector")
    outcomes: list[bool] = []
    with (
        tempfile.TemporaryDirectory(prefix="stackroom-inspector-") as folder,
        serving_library() as library,
    ):
        # The Inspector keeps servers and secrets in the home folder; it gets one of its own.
        environment = {**node.environment(), "HOME": folder}
        targets = _targets(library)
        for transport, era, name in product(targets, ERAS, QUESTIONS):
            arguments = [
                *targets[transport],
                "--protocol-era",
                era,
                *QUESTIONS[name].arguments,
                *PRINTING,
            ]
            command = node.command(INSPECTOR, "--cli", *arguments)
            finished = run_bounded(command, environment=environment, timeout_s=TIMEOUT_S)
            outcomes.append(_is_right(QUESTIONS[name], finished))
            print(
                f"  {'passed' if outcomes[-1] else 'FAILED'}  {transport} {era}: {name}", flush=True
            )
            if not outcomes[-1]:
                print(
                    f"    exit code {finished.code}; {finished.output[:500]}"
                    f" {finished.errors[-500:]}"
                )
    return all(outcomes)


def _is_right(question: Question, finished: Finished) -> bool:
    try:
        return question.is_answered(finished.code, json.loads(finished.output)["result"])
    except (ValueError, LookupError, TypeError):  # not the JSON that was asked for
        return False


def _targets(library: ServedLibrary) -> Mapping[str, list[str]]:
    """Return how the Inspector gets at the library over each transport."""
    return {
        "stdio": ["-e", f"STACKROOM_HOME={library.home}", STACKROOM, "serve"],
        "http": [f"{library.url}/mcp", "--transport", "http"],
        "sse": [f"{library.url}/sse", "--transport", "sse"],
    }


def _call(tool: str, **arguments: Any) -> tuple[str, ...]:
    return (
        "--method",
        "tools/call",
        "--tool-name",
        tool,
        "--tool-args-json",
        json.dumps(arguments),
    )


def _lists_the_tools(code: int | None, result: Any) -> bool:
    return code == 0 and [tool["name"] for tool in result["tools"]] == TOOLS


def _finds_two(code: int | None, result: Any) -> bool:
    return code == 0 and len(result["structuredContent"]["results"]) == 2


def _names_the_field(code: int | None, result: Any) -> bool:
    return code == TOOL_FAILED and result["isError"] and "'limit'" in result["content"][0]["text"]


QUESTIONS = {
    # `--strict`: a schema that some client could not take is an error.
    "tools/list": Question(
        arguments=("--method", "tools/list", "--strict"), is_answered=_lists_the_tools
    ),
    "tools/call": Question(
        arguments=_call("search_anime", query="space", limit=2), is_answered=_finds_two
    ),
    "a wrong call": Question(
        arguments=_call("search_anime", query="space", limit=99), is_answered=_names_the_field
    ),
}
