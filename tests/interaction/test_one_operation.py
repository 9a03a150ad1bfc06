"""One operation, declared in forty lines, is on every surface: nothing else names it."""

import ast
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import build_reference
import pytest

from stackroom.generic import tools
from stackroom.model.principal import Action
from support import one_operation
from support.clients import WAYS, Connect, Request
from support.hosting import Accounts, Hosted
from support.launching import run
from support.libraries import copy_samples
from support.one_operation import PROGRAM, find_letters

SERVING = ("serve", "--http", "--port", "0")
FOUND = {"catalogues": ["anime"], "letter": "a"}
ASK = Request(operation="tools/call", target="letters.find", arguments={"letter": "a"})


@pytest.fixture(scope="module")
def lettered(tmp_path_factory: pytest.TempPathFactory, start_server: Any) -> Iterator[Hosted]:
    """A server with the operation, and accounts."""
    home = copy_samples(tmp_path_factory.mktemp("letters"), "anime", "papers")
    with closing(Accounts(home)) as accounts:
        server = start_server(home, *SERVING, program=PROGRAM)
        yield Hosted(server=server, accounts=accounts, environment={}, program=PROGRAM)


def run_command(hosted: Hosted, *arguments: str) -> str:
    """Run a command on the library of a server, and return what it wrote."""
    done = run(*arguments, environment=hosted.server.environment, program=PROGRAM)
    return done.stdout + done.stderr


def test_the_declaration_has_forty_lines_at_most() -> None:
    tree = ast.parse(Path(one_operation.__file__).read_text())
    declared = [one for one in tree.body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
    assert sum(one.end_lineno - one.lineno + 1 for one in declared if one.end_lineno) <= 40


@pytest.mark.parametrize("way", WAYS)
def test_it_is_a_tool_and_answers_the_same_over_every_way(
    way: str, lettered: Hosted, connect: Connect
) -> None:
    secret = lettered.accounts.token(lettered.accounts.user(Action.ACCESS_CATALOG))
    with connect(way, lettered, secret) as asker:
        listed = asker.ask(Request(operation="tools/list")).value
        answer = asker.ask(ASK)
        wrong = asker.ask(Request(operation="tools/call", target="letters.find"))
    (tool,) = [one for one in listed if one["name"] == "letters.find"]
    assert tool["description"].startswith("Find the catalogues whose names begin with a letter")
    assert tool["inputSchema"]["required"] == ["letter"]
    assert answer.value == FOUND
    assert "'letter' is missing" in wrong.message
    assert wrong.error == "invalid_input"


def test_it_is_in_the_document_of_the_addresses(lettered: Hosted) -> None:
    secret = lettered.accounts.token(lettered.accounts.user(Action.ACCESS_CATALOG))
    with lettered.rest(secret) as client:
        paths = client.get("/openapi.json").json()["paths"]
    endpoint = paths["/v1/tools/letters.find"]["post"]
    assert endpoint["description"] == "Find the catalogues whose names begin with a letter."


def test_it_is_a_command_with_help_and_json(lettered: Hosted) -> None:
    told = run_command(lettered, "letters.find", "--help")
    assert "Find the catalogues whose names begin with a letter." in told
    assert "letters.find [OPTIONS] LETTER" in told
    assert json.loads(run_command(lettered, "letters.find", "a", "--json")) == FOUND
    written = run_command(lettered, "letters.find", "a")
    assert written == "catalogues: anime; letter: a\n"
    assert "'letter'" in run_command(lettered, "letters.find", "ab")


def test_it_has_its_place_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "GENERIC_OPERATIONS", (*tools.GENERIC_OPERATIONS, find_letters))
    page = build_reference.tools_page()
    assert "letters.find" in page
    assert "the letter that names begin with" in page
