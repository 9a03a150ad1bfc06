"""Who sees what: every set of permissions against every tool and resource, and catalogues that are
kept for some.
"""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.serving import ToolChoice
from stackroom.errors import UnknownResourceError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.settings import ServerSettings, Settings
from stackroom.tools.faces.mcp import Served
from stackroom.tools.toolbox import Toolbox
from support.fixture_server import RESOURCES, TOOLS
from support.hosting import WHEREVER_KEPT

SUBSETS = [
    frozenset(some) for size in range(len(Action) + 1) for some in combinations(Action, size)
]
HANDFUL = [
    frozenset(),
    frozenset({Action.EDIT_CATALOG, Action.VIEW_ANALYTICS}),
    frozenset(Action) - {Action.SERVER_ADMIN},
]
GUESS = re.compile(r" \(did you mean .*\?\)")
LIST = "list the resources for those there are"


def short(actions: frozenset[Action]) -> str:
    """Return a name for a set of permissions."""
    return "".join(action.name[0] for action in Action if action in actions) or "none"


def can_use(tool: Served, actions: frozenset[Action]) -> bool:
    return tool.operation.needs.allow(somebody(actions))


def somebody(actions: frozenset[Action]) -> Principal:
    return Principal(name="somebody", actions=actions)


@pytest.fixture(scope="module")
def toolbox(whole: Any) -> Iterator[Toolbox]:
    """Every tool and resource of the whole library, and one for each permission."""
    app = App(Settings(home=whole.home))
    served = app.build_gate(tools=ToolChoice.ALL).toolbox_of(LOCAL_USER)
    tools = [tool for tool in TOOLS if tool.name.startswith("needs.")]
    yield Toolbox(
        [*served.tools.values(), *tools],
        [*served.resources, *RESOURCES],
        catalogues=served.catalogues,
    )
    app.close()


def allowed(toolbox: Toolbox, actions: frozenset[Action]) -> Gate:
    """Return a gate at which nothing else exists than what these permissions open."""
    return Gate(
        Toolbox(
            [tool for tool in toolbox.tools.values() if can_use(tool, actions)],
            [one for one in toolbox.resources if one.action in actions],
        )
    )


def tried_read(gate: Gate, principal: Principal, uri: str) -> tuple[str, str]:
    try:
        content = gate.read(principal, uri)
    except UnknownResourceError as error:
        return error.code, error.message
    return "known", content.text or ""


@pytest.mark.row("Z3")
@pytest.mark.parametrize("actions", SUBSETS, ids=short)
def test_resources_are_listed_and_read_by_the_same_people(
    toolbox: Toolbox, actions: frozenset[Action]
) -> None:
    gate, principal, reference = Gate(toolbox), somebody(actions), allowed(toolbox, actions)
    everything = Gate(toolbox).list_resources(somebody(frozenset(Action))).entries
    listed = [entry.uri for entry in gate.list_resources(principal).entries]
    assert listed == [entry.uri for entry in reference.list_resources(principal).entries]
    for uri in [
        *(entry.uri for entry in everything),
        "other://a",
        "accesscatalog://b",
        "editcatalog://",
        "",
    ]:
        found = tried_read(gate, principal, uri)
        assert (found[0] == "known") is (uri in listed)
        assert found == tried_read(reference, principal, uri)
    templates = [resource.template for resource in gate.list_templates(principal)]
    assert templates == [resource.template for resource in reference.list_templates(principal)]


@pytest.mark.row("Z3")
@pytest.mark.parametrize("actions", HANDFUL, ids=short)
@WHEREVER_KEPT
def test_over_every_way_somebody_sees_exactly_what_they_may_use(
    fixture_hosted: Any, connect: Any, network_way: str, request_of: Any, actions: frozenset[Action]
) -> None:
    user = fixture_hosted.accounts.user(*actions)
    with connect(network_way, fixture_hosted, fixture_hosted.accounts.token(user)) as asker:
        tools = [one["name"] for one in asker.ask(request_of("tools/list")).value]
        assert {f"needs.{action}" for action in actions} == {
            name for name in tools if name.startswith("needs.")
        }
        uris = [one["uri"] for one in asker.ask(request_of("resources/list")).value]
        assert uris == sorted(f"{action.lower()}://a" for action in actions)
        templates = [one["name"] for one in asker.ask(request_of("resources/templates/list")).value]
        assert sorted(templates) == sorted(actions)
        for action in Action:
            called = asker.ask(request_of("tools/call", f"needs.{action}", text="sea"))
            unknown = asker.ask(request_of("tools/call", f"needz.{action}", text="sea"))
            read = asker.ask(request_of("resources/read", f"{action.lower()}://a"))
            missing = asker.ask(request_of("resources/read", f"{action.lower()}://z"))
            if action in actions:
                assert (called.value["done"], read.value) == ("sea", ("text/plain", b"a"))
                continue
            # The hints differ, as the names do; all else must not.
            assert called.error == unknown.error == read.error == missing.error
            assert (
                GUESS.sub("", called.message)
                == f"no tool 'needs.{action}'; list the tools for those there are"
            )
            assert (
                GUESS.sub("", unknown.message)
                == f"no tool 'needz.{action}'; list the tools for those there are"
            )
            assert not any(f"'needs.{other}'?" in called.message for other in set(Action) - actions)
            assert read.message == f"there is no resource '{action.lower()}://a'; {LIST}"
            assert missing.message == f"there is no resource '{action.lower()}://z'; {LIST}"


HIDDEN = ("anime", "personal")
VISIBLE = ("dnd", "handbook", "judoka", "music", "papers")
ABOUT_THE_HIDDEN: list[tuple[str, str, dict[str, Any]]] = [
    ("tools/list", "", {}),
    ("tools/call", "browse", {}),
    ("tools/call", "search", {"query": "cowboy bebop", "limit": 50}),
    ("tools/call", "search", {"query": "sea", "catalogue": "anim"}),
    ("tools/call", "fetch", {"id": "anime/mal-1"}),
    ("tools/call", "similar", {"id": "judoka/1", "catalogue": "anime"}),
    ("tools/call", "search_anime", {"query": "sea"}),
    ("tools/call", "recommend_similar", {"titles": ["Cowboy Bebop"]}),
    ("tools/call", "browse_taxonomy", {}),
    ("tools/call", "search_documents", {"query": "dal", "n_results": 10}),
    ("tools/call", "search_documents", {"query": "dal", "sources": ["persona"]}),
    ("tools/call", "query_rag", {"query": "dal"}),
    ("resources/list", "", {}),
    ("resources/templates/list", "", {}),
    ("resources/read", "stackroom://anime/mal-1", {}),
    ("resources/read", "documents://personal/recipes/dal.md", {}),
]
"""What shows each tool and list of a package; `test_visibility` asks the generic ones for more."""


def apart(home: Any, *names: str) -> tuple[App, Gate]:
    """Open these catalogues alone, as in a library that never had another, with the tools of a
    server of several.
    """
    app = App(Settings(home=home, server=ServerSettings(cache_size=0)))
    return app, app.build_gate(names, tools=ToolChoice.ALL)


@pytest.fixture(scope="module")
def never_had(whole: Any) -> Iterator[Gate]:
    """A gate over a library without the hidden catalogues."""
    app, gate = apart(whole.home, *VISIBLE)
    yield gate
    app.close()


@pytest.fixture(scope="module")
def reader() -> Principal:
    """Somebody who may read the catalogues, and do nothing else."""
    return somebody(frozenset({Action.ACCESS_CATALOG}))


@pytest.fixture(scope="module")
def restricted(hosted: Any) -> Iterator[Any]:
    """The shared server, with two catalogues kept for those with the role `insider`."""
    control = hosted.accounts.control
    control.accounts.create_role(LOCAL_USER, "insider", [Action.ACCESS_CATALOG], None)
    for name in HIDDEN:
        control.access.restrict(LOCAL_USER, name, users=[], roles=["insider"])
    yield hosted
    for name in HIDDEN:
        control.access.open_to_all(LOCAL_USER, name)


@pytest.mark.row("Z3")
@pytest.mark.row("T5")
@WHEREVER_KEPT
def test_over_every_way_a_restricted_catalogue_is_as_if_it_were_not_there(
    restricted: Any,
    connect: Any,
    network_way: str,
    never_had: Gate,
    reader: Principal,
    asker_of: Any,
    request_of: Any,
) -> None:
    is_rest = network_way == "rest"
    ada = restricted.accounts.token(restricted.accounts.user(name="ada", roles=["insider"]))
    bob = restricted.accounts.token(restricted.accounts.user(name="bob", roles=["user"]))
    both = 0
    with (
        connect(network_way, restricted, ada) as hers,
        connect(network_way, restricted, bob) as his,
    ):
        for operation, target, arguments in ABOUT_THE_HIDDEN:
            request = request_of(operation, target, **arguments)
            expected = asker_of(never_had, reader).ask(request)
            if is_rest and operation == "tools/call":
                expected = expected.without_text()
            assert his.ask(request) == expected, request
            both += hers.ask(request) != expected
            assert his.ask(request) == expected, request  # ada's answer is in the cache by now
    assert both > 9


@pytest.mark.row("Z3")
@pytest.mark.parametrize("confined_by", ["token", "list"])
@WHEREVER_KEPT
def test_a_caller_confined_to_catalogues_sees_those_alone(
    hosted: Any,
    connect: Any,
    network_way: str,
    whole: Any,
    reader: Principal,
    asker_of: Any,
    request_of: Any,
    confined_by: str,
) -> None:
    user = hosted.accounts.user(Action.ACCESS_CATALOG, name=f"by-{confined_by}")
    secret = hosted.accounts.token(user, catalogues=["judoka"] if confined_by == "token" else None)
    if confined_by == "list":
        hosted.accounts.control.accounts.set_catalogues(LOCAL_USER, user, frozenset({"judoka"}))
    app, gate = apart(whole.home, "judoka")
    with connect(network_way, hosted, secret) as asker:
        for operation, target, arguments in [
            ("tools/list", "", {}),
            ("tools/call", "search", {"query": "sea"}),
            ("tools/call", "judokon.listCountries", {}),
            ("tools/call", "search_anime", {"query": "sea"}),
            ("resources/list", "", {}),
            ("resources/read", "stackroom://anime/mal-1", {}),
        ]:
            request = request_of(operation, target, **arguments)
            expected = asker_of(gate, reader).ask(request)
            is_call = network_way == "rest" and operation == "tools/call"
            assert asker.ask(request) == (expected.without_text() if is_call else expected)
    app.close()
