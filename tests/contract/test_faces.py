"""The faces of operations: over every surface the same call gives the same answer, the same error
and the same list of tools: MCP over each transport and in both eras, REST, terminal and Python.
"""

import json
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import stackroom
from stackroom.admin import jobs, users
from stackroom.assembly.builtin_jobs import list_builtin_jobs
from stackroom.cli.job import job_command
from stackroom.cli.main import cli
from stackroom.cli.operations import (
    access_command,
    audit_command,
    describe_command,
    remove_command,
    rename_command,
    role_command,
    token_command,
    undo_command,
    user_command,
)
from stackroom.control.control import Control
from stackroom.errors import ExpectedError, UnknownToolError
from stackroom.gate.gate import Gate
from stackroom.jobs.board import JobBoard
from stackroom.library import Library
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.serve.http.routes import ADMIN_OPERATIONS
from stackroom.settings import Settings
from stackroom.tools.faces.rest import list_doors
from stackroom.tools.operation import (
    AnyOperation,
    Command,
    Office,
    Origin,
    RawParams,
    Rest,
    identity_of,
)
from stackroom.tools.toolbox import Toolbox
from support.clients import INVALID_PARAMS, WAYS, Connect, GateAsker, Reply, Request
from support.hosting import Hosted
from support.texts import require_fitting

REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("tools/list", "", {}),
    ("tools/call", "search", {"query": "a journey over the sea"}),
    ("tools/call", "search", {"query": "進撃の巨人", "limit": 3}),
    (
        "tools/call",
        "search",
        {"query": "sea", "catalogue": "anime", "filters": {"year": {"from": 1990}}},
    ),
    ("tools/call", "search", {"query": "sea", "limit": 2, "cursor": "2"}),
    ("tools/call", "browse", {}),
    ("tools/call", "browse", {"catalogue": "anime", "field": "tags", "search": "vampire"}),
    (
        "tools/call",
        "browse",
        {"catalogue": "anime", "by": ["type", "year/decade"], "of": "episodes", "query": "sea"},
    ),
    ("tools/call", "browse", {"catalogue": "anime", "by": ["yaer"]}),
    ("tools/call", "search", {"query": "* sea", "catalogue": "anime", "filters": {"type": ["TV"]}}),
    ("tools/call", "fetch", {"id": "anime/mal-1"}),
    ("tools/call", "search_anime", {"query": "re:zero", "limit": 1}),
    ("tools/call", "get_anime_details", {"title": "cowboy bebop"}),
    ("tools/call", "browse_taxonomy", {"category": "setting"}),
    ("tools/call", "recommend_similar", {"titles": ["Cowboy Bebop"], "preferences": "not horror"}),
    ("tools/call", "judokon.search", {"query": "strong grip", "topK": 2}),
    ("tools/call", "judokon.getById", {"id": 1}),
    ("tools/call", "judokon.random", {"filters": "seven"}),
    ("tools/call", "judokon.compare", {"idA": 1, "idB": 2}),
    ("tools/call", "judokon.suggestOpponent", {"id": 1}),
    ("tools/call", "judokon.listCountries", {}),
    ("tools/call", "judokon.resolveCode", {"code": "jp"}),
    ("tools/call", "judokon.validateCardCode", {"code": "x"}),
    ("tools/call", "ping", {}),
    ("tools/call", "query_rag", {"query": "grip"}),
    ("tools/call", "search_papers", {"query": "attention"}),
    ("tools/call", "search_documents", {"query": "resting", "n_results": 2}),
    ("tools/call", "search_handbook", {"query": "on call"}),
    ("tools/call", "similar", {"id": "anime/mal-1"}),
    ("tools/call", "fetch", {"id": "anime/mal-0"}),
    ("tools/call", "fetch", {"id": "anmie/mal-1"}),
    ("tools/call", "fetch", {"id": "x"}),
    ("tools/call", "fetch", {}),
    ("tools/call", "search", {"query": ""}),
    ("tools/call", "search", {"query": "sea", "limit": 0}),
    ("tools/call", "search", {"query": "sea", "limit": "many", "x": None}),
    ("tools/call", "search", {"qurey": "sea"}),
    ("tools/call", "search", {"query": "sea", "catalogue": "anmie"}),
    ("tools/call", "search", {"query": "sea", "catalogue": "anime", "filters": {"yaer": 1990}}),
    ("tools/call", "serch", {"query": "sea"}),
    ("tools/call", "no.such-tool", {}),
    ("resources/list", "", {}),
    ("resources/list", "", {"cursor": "0"}),
    ("resources/list", "", {"cursor": "later"}),
    ("resources/templates/list", "", {}),
    ("resources/read", "documents://handbook/people/hiring.md", {}),
    ("resources/read", "judokon://synonyms.json", {}),
    ("resources/read", "stackroom://anime/mal-1", {}),
    ("resources/read", "stackroom://anime/Cowboy%20Bebop", {}),
    ("resources/read", "stackroom://anime/mal-0", {}),
    ("resources/read", "stackroom://nothing/mal-1", {}),
    ("resources/read", "other://x", {}),
]


WAYS_AND_PYTHON = [*WAYS, "python"]


class PythonAsker:
    """Asks by `import stackroom`; only tools can be called."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def ask(self, request: Request) -> Reply:
        try:
            return Reply(value=self._library.call(request.target, **request.arguments))
        except UnknownToolError as error:
            return Reply(error=INVALID_PARAMS, message=error.message)
        except ExpectedError as error:
            return Reply(error=error.code, message=error.message)


@pytest.fixture(scope="module", params=WAYS_AND_PYTHON)
def surface(request: pytest.FixtureRequest) -> str:
    """Every surface in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def asker(hosted: Hosted, connect: Connect, surface: str) -> Iterator[Any]:
    """A client by each surface, of somebody who may do everything with catalogues.

    So they see what the user of this machine does, where there is no server to administer.
    """
    if surface == "python":
        with stackroom.open(hosted.server.home) as library:
            yield PythonAsker(library)
        return
    name = hosted.accounts.user(
        Action.ACCESS_CATALOG, Action.EDIT_CATALOG, name=surface.replace(" ", "-")
    )
    with connect(surface, hosted, hosted.accounts.token(name)) as asker:
        yield asker


@pytest.mark.row("T6")
@pytest.mark.row("Z1")
@pytest.mark.row("T8")
@pytest.mark.parametrize(
    "asked", REQUESTS, ids=lambda asked: f"{asked[0]} {asked[1]} {asked[2]}"[:70]
)
def test_every_surface_gives_the_answer_of_the_gate(
    asker: Any, surface: str, whole: Any, asked: tuple[str, str, dict[str, Any]]
) -> None:
    request = Request(operation=asked[0], target=asked[1], arguments=asked[2])
    is_call = request.operation == "tools/call"
    if surface == "python" and not is_call:
        return
    expected = GateAsker(whole.gate).ask(request)
    has_text = surface not in ("rest", "python") or not is_call
    assert asker.ask(request) == (expected if has_text else expected.without_text())


@pytest.mark.row("A2", "A8")
def test_an_answer_fits_its_tool_s_own_schema(whole: Any) -> None:
    for operation, target, arguments in REQUESTS:
        tool = whole.gate.toolbox_of(LOCAL_USER).tools.get(target)
        answer = whole.call(target, **arguments) if operation == "tools/call" and tool else None
        if answer and tool and not answer.is_error:
            require_fitting(answer.structured, tool.output_schema)


MOOD = {"filters": {"type": ["MOVIE"], "year": {"min": 2011}}, "exclude": {"tags": ["horror"]}}
TERMINAL: list[tuple[str, str, dict[str, Any]]] = [
    ("search anime 'space adventure' --limit 20", "search", {"query": "space adventure"}),
    ("search anime 'fulmetal alchemst' --limit 20", "search", {"query": "fulmetal alchemst"}),
    ("search anime '*' --type MOVIE", "search", {"query": "*", "filters": {"type": ["MOVIE"]}}),
    ("search anime 'qwxzv blorp'", "search", {"query": "qwxzv blorp"}),
    (
        "search anime melancholy --type MOVIE --year 2011.. --not-tags horror",
        "search",
        {"query": "melancholy", **MOOD},
    ),
    ("recommend anime 'Cowboy Bebop' --limit 4", "recommend", {"likes": ["Cowboy Bebop"]}),
    ("search anime x --yaer 3", "search", {"query": "x", "filters": {"yaer": 3}}),
    (
        "browse anime --by type --of episodes --tags space --sort sum",
        "browse",
        {"by": ["type"], "of": "episodes", "filters": {"tags": ["space"]}, "sort": "sum"},
    ),
    ("browse anime --field season", "browse", {"field": "season"}),
    ("browse anime --field yaer", "browse", {"field": "yaer"}),
    (
        "explain anime Cowboy mal-1 --year 2010..",
        "explain",
        {
            "id": "anime/mal-1",
            "arguments": {
                "query": "Cowboy",
                "catalogue": "anime",
                "filters": {"year": {"min": 2010}},
            },
        },
    ),
]
"""A command, and the call of a tool about the anime catalogue that gives the same."""
OF_THE_SURFACE = {"catalogues", "tool", "notes"}
"""Parts of an answer that are another at the terminal, which names one catalogue and no tool."""


def require_held(shown: Any, answer: Any) -> None:
    """Require that all that a tool answers is in what a command prints."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name not in OF_THE_SURFACE:
                require_held(shown.get(name), value)
    elif isinstance(answer, list):
        assert len(shown) == len(answer)
        for one, value in zip(shown, answer, strict=True):
            require_held(one, value)
    else:
        assert shown == answer


@pytest.mark.row("N20", "N1", "N3", "A1")
@pytest.mark.parametrize(
    ("command", "tool", "arguments"), TERMINAL, ids=[one[0] for one in TERMINAL]
)
def test_the_terminal_prints_what_the_tool_answers(
    plain: Any,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    tool: str,
    arguments: dict[str, Any],
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(plain.home))
    ran = CliRunner().invoke(cli, [*shlex.split(command), "--json"])
    limits = {} if tool in ("browse", "explain") else {"limit": 10}
    if "--limit" in command:
        limits = {"limit": int(command.rpartition(" ")[2])}
    chosen = {} if tool == "explain" else {"catalogue": "anime"}
    answer = plain.call(tool, **chosen, **limits, **arguments)
    if answer.error is not None:
        assert isinstance(ran.exception, type(answer.error))
        assert ran.exit_code == 1, "the exit code is that of `main`"
        return
    shown, (found,) = (
        json.loads(ran.stdout),
        answer.structured.get("catalogues", [answer.structured]),
    )
    if isinstance(shown, list):
        (field,) = found["fields"]
        shown, found = {"values": shown}, {"values": field["values"]}
    require_held(shown, found)


GROUPS: dict[str, click.Group] = {
    "user": user_command,
    "role": role_command,
    "token": token_command,
    "access": access_command,
    "job": job_command,
    "audit": audit_command,
}
SINGLE = {one.name: one for one in (remove_command, rename_command, describe_command, undo_command)}
ROOT = click.Context(cli, **cli.context_settings)
VARIABLE = {
    "created_at",
    "id",
    "token",
    "one_time_password",
    "expires_at",
    "queued_at",
    "next_run_at",
}
"""Fields whose values differ each time."""
BY_NAME = {operation.name: operation for operation in ADMIN_OPERATIONS}
CHOICES: dict[tuple[str, str], Mapping[str, AnyOperation]] = {
    ("users.query", "query_type"): users.QUERIES,
    ("users.mutate", "action"): users.CHANGES,
    ("jobs.query", "query_type"): jobs.QUERIES,
    ("jobs.action", "action"): jobs.ACTIONS,
}
LOCAL = Origin(identity=identity_of(), via="rest")


def find_choice(operation: AnyOperation) -> tuple[str, str, str] | None:
    """Return the tool of an operation, and the argument with the value by which it is chosen."""
    for (tool, chosen_by), choice in CHOICES.items():
        for chosen, one in choice.items():
            if one is operation:
                return tool, chosen_by, chosen
    return None


def command_of(operation: AnyOperation) -> Command:
    face = operation.faces.command
    return face if isinstance(face, Command) else Command()


@dataclass(kw_only=True)
class Surfaces:
    """A library with an editor and a catalogue, and the ways to run an operation on it as the local
    user.
    """

    home: Path

    def __post_init__(self) -> None:
        for name in ("diary", "gone", "notes"):
            folder = self.home / "catalogues" / name
            folder.mkdir(parents=True)
            (folder / "installed.json").write_text('{"spec": "anime"}')
        self.library.set_aside("gone", now=time.time())
        with closing(self.open_control()) as control:
            control.accounts.create_user(LOCAL_USER, "ada", password=None, roles=["editor"])

    @property
    def library(self) -> Library:
        """The library, with the catalogues `diary` and `notes`, and `gone`, which was removed."""
        return Library(self.home / "catalogues")

    def open_control(self) -> Control:
        return Control.open(Settings(home=self.home))

    def by_tool(self, operation: AnyOperation, values: dict[str, Any]) -> Any:
        found = find_choice(operation)
        if found is None:
            return None
        tool, chosen_by, chosen = found
        with closing(self.open_control()) as control:
            tools = [*users.USERS_TOOLS, *jobs.jobs_tools(_board(control))]
            answer = Gate(Toolbox(tools), office=self._office(control)).call(
                LOCAL_USER, tool, {chosen_by: chosen, **values}
            )
        return answer.structured if answer.error is None else answer.error

    def by_rest(self, operation: AnyOperation, values: dict[str, Any]) -> Any:
        if not isinstance(operation.faces.rest, Rest):
            return None
        with closing(self.open_control()) as control:
            (endpoint,) = list_doors([operation])
            path = {name: values[name] for name in endpoint.path_parameters if name in values}
            rest = {name: value for name, value in values.items() if name not in path}
            gate = Gate(Toolbox([]), office=self._office(control))
            answer = gate.run(operation, LOCAL, RawParams(values=rest, apart=path))
            return answer.model_dump(mode="json")

    def by_command(self, operation: AnyOperation, values: dict[str, Any]) -> Any:
        if not (command_name := command_of(operation).name):
            return None
        group, _, name = command_name.rpartition(" ")
        command = GROUPS[group].commands[name] if group else SINGLE[name]
        ran = CliRunner().invoke(command, [*_typed(command, values), "--json"], parent=ROOT)
        if isinstance(ran.exception, ExpectedError):
            raise ran.exception
        assert ran.exception is None, ran.output
        return json.loads(ran.stdout)

    def _office(self, control: Control) -> Office:
        return Office(
            control=control,
            list_names=lambda: ["diary", "notes"],
            open_board=lambda: _board(control),
            library=self.library,
        )


def _board(control: Control) -> JobBoard:
    nothing_runs: Any = None
    return JobBoard(control.database, list_builtin_jobs(nothing_runs))


def _typed(command: click.Command, values: dict[str, Any]) -> list[str]:
    """Return values as somebody types them."""
    typed: list[str] = []
    for parameter in command.params:
        value = values.get(str(parameter.name))
        for one in [] if value is None else value if isinstance(value, list) else [value]:
            flag = [max(parameter.opts, key=len)] if isinstance(parameter, click.Option) else []
            typed += [*flag, *([] if one is True else [str(one)])]
    return typed


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: bool(one) if name in VARIABLE else _masked(one) for name, one in value.items()
        }
    return [_masked(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def surfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Surfaces]:
    """Make the library anew for each surface."""
    made: Iterator[int] = iter(range(100))

    def make() -> Surfaces:
        home = tmp_path / str(next(made))
        monkeypatch.setenv("STACKROOM_HOME", str(home))
        return Surfaces(home=home)

    return make


CASES: list[tuple[str, dict[str, Any]]] = [
    ("account/list_users", {}),
    ("account/get_user", {"name": "ADA"}),
    ("account/create_user", {"name": "bob", "role": ["agent"], "permissions": ["ViewAnalytics"]}),
    ("account/set_roles", {"name": "ada", "role": ["user"]}),
    ("account/grant", {"name": "ada", "permission": "ServerAdmin"}),
    ("account/disable_user", {"name": "ada"}),
    ("account/enable_user", {"name": "ada"}),
    ("account/reset_password", {"name": "ada"}),
    ("account/end_sessions", {"name": "ada"}),
    ("account/list_roles", {}),
    ("account/create_role", {"name": "curator", "permissions": ["EditCatalog"]}),
    ("account/change_role", {"name": "agent", "permissions": ["AccessCatalog"]}),
    ("account/create_token", {"name": "laptop", "user": "ada", "catalogues": ["diary"]}),
    ("account/list_tokens", {"user": "ada"}),
    ("account/list_access", {}),
    ("account/restrict_catalogue", {"catalogue": "diary", "users": ["ada"]}),
    ("catalogue/remove", {"name": "diary"}),
    ("catalogue/rename", {"name": "diary", "new": "journal"}),
    ("catalogue/describe", {"name": "diary", "title": "My diary", "editable": True}),
    ("catalogue/undo", {"name": "gone"}),
    ("job/list", {"limit": 1}),
    ("job/get", {"job_id": "backup"}),
    ("job/history", {"job_id": "backup"}),
    ("job/trigger", {"job_id": "backup"}),
    ("job/disable", {"job_id": "backup"}),
    ("job/enable", {"job_id": "backup"}),
    ("job/schedule", {"job_id": "backup", "schedule": "2h"}),
]

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("account/get_user", {"name": "adda"}, "did you mean 'ada'?"),
    ("account/create_user", {"name": "ada"}, "there is a user 'ada' already; choose another name"),
    ("account/create_user", {"name": "a b"}, "cannot be the name of a user: 1 to 64 of a-z"),
    ("account/create_user", {"name": "bob", "role": ["editr"]}, "did you mean 'editor'?"),
    (
        "account/create_user",
        {"name": "bob", "permissions": ["Fly"]},
        "must be one of AccessCatalog",
    ),
    ("account/create_user", {"name": "bob", "role": ["none", "user"]}, "give it alone"),
    ("account/set_roles", {"name": "ada", "role": ["boss"]}, "roles: admin, agent, editor, user"),
    ("account/grant", {"name": "zoe", "permission": "ServerAdmin"}, "no user 'zoe'"),
    ("account/revoke", {"name": "ada", "permission": "EditCatalog"}, "change their roles instead"),
    ("account/disable_user", {"name": "zoe"}, "no user 'zoe'"),
    ("account/change_role", {"name": "user"}, "needs 'permissions', 'quotas' or 'catalogues'"),
    ("account/delete_role", {"name": "editor"}, "is built in and stays"),
    ("account/delete_role", {"name": "editr"}, "did you mean 'editor'?"),
    (
        "account/create_role",
        {"name": "none", "permissions": ["EditCatalog"]},
        "'none' stands for no role",
    ),
    (
        "account/create_token",
        {"name": "x", "user": "ada", "expires": "soon"},
        "write 90d, 12h or never",
    ),
    (
        "account/create_token",
        {"name": "x", "user": "ada", "catalogues": ["dairy"]},
        "did you mean 'diary'?",
    ),
    (
        "account/create_token",
        {"name": "x", "user": "ada", "scopes": ["ServerAdmin"]},
        "they may do: AccessCatalog",
    ),
    ("account/create_token", {"name": "x", "user": "ada", "expires": "0h"}, "more than nothing"),
    (
        "account/create_token",
        {"name": "x", "user": "ada", "expires": "999999d"},
        "at most 3,650 days",
    ),
    (
        "account/create_token",
        {"name": "x", "user": "ada", "scopes": ["EditCatalogue"]},
        "did you mean 'EditCatalog'?",
    ),
    ("account/create_token", {"name": "x", "user": "adda"}, "did you mean 'ada'?"),
    ("account/create_token", {"name": " ", "user": "ada"}, "1 to 64 printable characters"),
    ("account/list_tokens", {"user": "adda"}, "did you mean 'ada'?"),
    (
        "account/change_role",
        {"name": "admin", "permissions": ["AccessCatalog"]},
        "has every permission and stays so",
    ),
    (
        "account/create_role",
        {"name": "a b", "permissions": ["EditCatalog"]},
        "cannot be the name of a role",
    ),
    ("account/revoke_token", {"id": "123456"}, "list them to see their ids"),
    ("account/restrict_catalogue", {"catalogue": "dairy"}, "did you mean 'diary'?"),
    (
        "account/restrict_catalogue",
        {"catalogue": "diary", "roles": ["editr"]},
        "did you mean 'editor'?",
    ),
    ("account/open_catalogue", {"catalogue": "diary"}, "is not restricted"),
    ("catalogue/remove", {"name": "dairy"}, "did you mean 'diary'?"),
    ("catalogue/remove", {"name": "../../etc"}, "there are: diary, notes"),
    ("catalogue/rename", {"name": "diary", "new": "notes"}, "there is a catalogue 'notes' already"),
    ("catalogue/rename", {"name": "diary", "new": "diary"}, "is its name already"),
    ("catalogue/rename", {"name": "diary", "new": "../x"}, "lower-case letters, digits"),
    ("catalogue/describe", {"name": "diary"}, "what is to change"),
    ("catalogue/undo", {"name": "diary"}, "there is a catalogue 'diary' already"),
    ("catalogue/undo", {"name": "other"}, "there are: gone"),
    ("catalogue/undo", {"name": "../x"}, "cannot name a catalogue"),
    ("job/get", {"job_id": "bakcup"}, "did you mean 'backup'?"),
    ("job/trigger", {"job_id": "bakcup"}, "did you mean 'backup'?"),
    ("job/history", {"job_id": "bakcup"}, "did you mean 'backup'?"),
    ("job/enable", {"job_id": "bakcup"}, "did you mean 'backup'?"),
    (
        "job/schedule",
        {"job_id": "backup", "schedule": "61 * * * *"},
        "bad minute; write an interval such as 30m",
    ),
    ("job/cancel", {"job_id": "backup"}, "is neither queued nor running"),
    ("job/schedule", {"job_id": "backup", "schedule": "10s"}, "between a minute and a year"),
    ("job/output", {"job_id": "77"}, "not kept any more"),
]


@pytest.mark.row("Z2", "Z3", "Z6", "Z9")
@pytest.mark.parametrize(("name", "values"), CASES, ids=[name for name, _ in CASES])
def test_every_surface_of_administrators_gives_the_same_result(
    surfaces: Callable[[], Surfaces], name: str, values: dict[str, Any]
) -> None:
    operation = BY_NAME[name]
    runs = (Surfaces.by_tool, Surfaces.by_rest, Surfaces.by_command)
    found = [_masked(run(surfaces(), operation, values)) for run in runs]
    given = [one for one in found if one is not None]
    assert given
    assert all(one == given[0] for one in given)


@pytest.mark.row("Z2", "Z3", "Z6", "Z9")
@pytest.mark.parametrize(
    ("name", "values", "says"), REFUSED, ids=[f"{one[0]} {one[2]}" for one in REFUSED]
)
def test_every_surface_of_administrators_refuses_with_what_would_be_right(
    surfaces: Callable[[], Surfaces], name: str, values: dict[str, Any], says: str
) -> None:
    operation = BY_NAME[name]
    refusals = []
    for run in (Surfaces.by_tool, Surfaces.by_rest, Surfaces.by_command):
        try:
            refused = run(surfaces(), operation, values)
        except ExpectedError as error:
            refused = error
        if refused is not None:
            assert isinstance(refused, ExpectedError), refused
            refusals.append((type(refused), says in refused.message))
    assert refusals
    assert set(refusals) == {(refusals[0][0], True)}


@pytest.mark.parametrize("operation", ADMIN_OPERATIONS, ids=lambda operation: operation.name)
def test_a_declaration_names_only_what_it_has(operation: AnyOperation) -> None:
    fields, faces, command = operation.params.model_fields, operation.faces, command_of(operation)
    named = {*operation.arguments, *([faces.audit.target] if faces.audit.target else [])}
    assert named <= fields.keys()
    assert {name for name, field in fields.items() if not field.description} == set()
    assert not faces.secret or faces.secret in operation.result.model_fields
    assert not command.table or command.table in operation.result.model_fields
    assert operation.summary.endswith(".")


def test_operations_have_one_name_one_address_and_one_command_each() -> None:
    addresses = [
        one.faces.rest.address for one in ADMIN_OPERATIONS if isinstance(one.faces.rest, Rest)
    ]
    commands = [command_of(one).name for one in ADMIN_OPERATIONS if command_of(one).name]
    for stated in ([one.name for one in ADMIN_OPERATIONS], addresses, commands):
        assert len(stated) == len(set(stated))
    assert all(
        isinstance(one.faces.rest, Rest) or command_of(one).name or find_choice(one)
        for one in ADMIN_OPERATIONS
    )


def test_every_command_of_administrators_has_an_example_and_prints_json() -> None:
    for group, commands in GROUPS.items():
        for name, command in commands.commands.items():
            assert f"Example: stackroom {group} {name}" in (command.help or ""), name
            assert "--json" in [option for parameter in command.params for option in parameter.opts]
    assert all(
        f"Example: stackroom {name} " in (command.help or "") for name, command in SINGLE.items()
    )
