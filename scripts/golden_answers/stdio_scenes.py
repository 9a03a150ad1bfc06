"""Over stdio: every tool, as the user of this machine; edits, resources, prompts, odd calls."""

import time
from typing import Any

from golden_answers.clients import ENVELOPE, Stdio
from golden_answers.questions import ERRORS, OTHERS, PAGES, SEARCHES, TYPICAL, Ask
from golden_answers.recorder import Recorder, World, all_pages, warm_up

WHO = "local"
RESOURCES = (
    "stackroom://anime/mal-1",
    "stackroom://wines/A1",
    "stackroom://wines/Mas%20Blanc%20Gigondas",
    "stackroom://dnd/monsters/dragons.md%232",
    "stackroom://anime/mal-0",
    "stackroom://nothing/1",
    "documents://dnd/monsters/dragons.md",
    "documents://handbook/people/time-off.md?max_tokens=400",
    "documents://handbook/people/time-off.md?max_tokens=400&cursor=1480",
    "documents://handbook/people/nothing.md",
    "judokon://judoka.json",
    "config://server",
    "logs://recent",
    "gopher://what",
    "",
)
PROMPTS = (
    ("find", {"about": "a bounty hunter in space", "catalogue": "anime"}),
    ("research", {"question": "how warm should red wine be"}),
    ("count", {"question": "how many wines are from Italy", "catalogue": "wines"}),
    ("recommend", {"titles": "Cowboy Bebop, Trigun", "wish": "shorter"}),
    ("check", {"answer": "Shor wrote about factoring in 1997."}),
    ("find", {}),
    ("find", {"about": "x", "abuot": "y"}),
    ("nothing", {}),
)
A_SECOND = 1.1  # so that changes of two catalogues have an order by their times
ODD_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "find"},
            "argument": {"name": "about", "value": "a"},
        },
    ),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": "stackroom://{catalogue}/{+id}"},
            "argument": {"name": "catalogue", "value": "a"},
        },
    ),
    ("tools/call", {"name": "search"}),
    ("tools/call", {"arguments": {"query": "robots"}}),
    ("tools/call", {"name": "search", "arguments": ["robots"]}),
    ("tools/list", {"cursor": "nonsense"}),
    ("resources/list", {"cursor": "nonsense"}),
    ("resources/subscribe", {"uri": "stackroom://anime/mal-1"}),
    ("logging/setLevel", {"level": "debug"}),
    ("nothing/at_all", {}),
    ("ping", {}),
)


def record_stdio(recorder: Recorder, world: World) -> None:
    """Record everything that one server over stdio answers, and what other options offer."""
    server = _start(world, "--tools", "all")
    recorder.note(server.surface, WHO, "initialize", {}, server.hello)
    warm_up(lambda tool, arguments: _content(server, tool, arguments))
    record_lists(recorder, server, WHO)
    for ask in (*TYPICAL, *SEARCHES, *OTHERS, *ERRORS, *PAGES):
        recorder.ask(server, WHO, ask)
    recorder.ask(server, WHO, Ask("judokon.random", {}), by_form=True)
    record_reading(recorder, server, WHO)
    for method, params in ODD_CALLS:
        recorder.note(server.surface, WHO, method, params, server.ask(method, params))
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "fetch", "arguments": {"id": "wines/A1"}}),
    ):
        answer = server.ask(method, {**params, "_meta": ENVELOPE})
        recorder.note(server.surface, WHO, f"{method} of 2026", params, answer)
    record_edits(recorder, server, WHO)
    server.close()
    for options in (
        ["anime"],
        ["anime", "wines"],
        ["music"],
        ["handbook", "dnd"],
        ["--tools", "own"],
        ["--tools", "generic"],
        ["--tool-names", "plain"],
    ):
        other = _start(world, *options)
        recorder.note(other.surface, f"{WHO} of {' '.join(options)}", "initialize", {}, other.hello)
        record_lists(recorder, other, f"{WHO} of {' '.join(options)}")
        for ask in (
            Ask("fetch", {"id": "anime/mal-1"}),
            Ask("fetch", {"id": "wines/A1"}),
            Ask("catalog_get", {"query_type": "stats"}),
        ):
            recorder.ask(other, f"{WHO} of {' '.join(options)}", ask)
        other.close()


def _start(world: World, *options: str) -> Stdio:
    return Stdio([str(world.stackroom), "serve", *options], world.environment)


def _content(server: Any, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = server.ask("tools/call", {"name": tool, "arguments": arguments})
    return answer.get("result", {}).get("structuredContent") or {}


def record_lists(recorder: Recorder, server: Any, who: str) -> None:
    """Record the lists of tools, resources and prompts."""
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        for number, answer in enumerate(all_pages(server, method)):
            recorder.note(server.surface, who, method, {"page": number}, answer)


def record_reading(recorder: Recorder, server: Any, who: str) -> None:
    """Record resources and prompts."""
    for uri in RESOURCES:
        answer = server.ask("resources/read", {"uri": uri})
        is_log = uri.startswith("logs:") and "result" in answer
        recorder.note(server.surface, who, "resources/read", {"uri": uri}, answer, by_form=is_log)
    for name, arguments in PROMPTS:
        params = {"name": name, "arguments": arguments}
        recorder.note(server.surface, who, "prompts/get", params, server.ask("prompts/get", params))


def record_edits(recorder: Recorder, server: Any, who: str) -> None:
    """Record previews, plans that are applied, what is found then, undoing, and refused edits."""

    def mutate(**arguments: Any) -> dict[str, Any]:
        return recorder.ask(server, who, Ask("catalog.mutate", arguments))

    plan = mutate(
        catalogue="wines",
        action="update",
        id="A1",
        fields={"points": 93, "price": 21},
        preview=True,
    )
    applied = mutate(
        catalogue="wines",
        action="update",
        id="A1",
        fields={"points": 93, "price": 21},
        plan=plan.get("plan"),
    )
    mutate(
        catalogue="wines", action="update", id="A1", fields={"points": 94}, plan=plan.get("plan")
    )
    recorder.ask(server, who, Ask("fetch", {"id": "wines/A1"}))
    recorder.ask(
        server,
        who,
        Ask("search", {"query": "wines with 93 points", "catalogue": "wines", "limit": 3}),
    )
    mutate(catalogue="wines", action="undo", id=applied.get("call_id"), preview=True)
    mutate(catalogue="wines", action="undo", id=applied.get("call_id"))
    mutate(catalogue="wines", action="undo", id=applied.get("call_id"))
    recorder.ask(server, who, Ask("fetch", {"id": "wines/A1"}))
    new = {
        "name": "Golden Hill Cabernet",
        "country": "Chile",
        "price": 12,
        "points": 88,
        "notes": "Plum and mint.",
    }
    created = mutate(catalogue="wines", action="create", kind="record", fields={**new, "bin": "G1"})
    recorder.ask(
        server, who, Ask("search", {"query": "plum and mint", "catalogue": "wines", "limit": 2})
    )
    mutate(catalogue="wines", action="create", kind="record", fields={**new, "bin": "G1"})
    mutate(catalogue="wines", action="delete", id="Golden Hill Cabernet", preview=True)
    removed = mutate(catalogue="wines", action="delete", id="record-golden-hill-cabernet")
    mutate(catalogue="wines", action="undo", id=removed.get("call_id"))
    mutate(catalogue="wines", action="undo", id=created.get("call_id"))
    changes = [
        {"action": "update", "id": "A2", "fields": {"grape": "Merlot"}},
        {"action": "delete", "id": "A3"},
        {"action": "create", "kind": "record", "fields": {**new, "bin": "G2"}},
    ]
    several = mutate(catalogue="wines", changes=changes)
    mutate(catalogue="wines", changes=[*changes, {"action": "delete", "id": "Z9"}])
    recorder.ask(server, who, Ask("browse", {"catalogue": "wines", "field": "country"}))
    mutate(catalogue="wines", action="undo", id=several.get("call_id"))
    time.sleep(A_SECOND)
    renamed = mutate(
        catalogue="music", action="update", id="artist-henry-purcell", fields={"name": "H. Purcell"}
    )
    recorder.ask(
        server,
        who,
        Ask("catalog.get", {"query_type": "album", "id": "album-purcell-abdelazer", "limit": 2}),
    )
    recorder.ask(server, who, Ask("catalog.search", {"query": "Purcell", "limit": 2}))
    mutate(catalogue="music", action="delete", id="artist-henry-purcell")
    mutate(
        catalogue="music", action="delete", id="artist-henry-purcell", cascade=True, preview=True
    )
    mutate(catalogue="music", action="undo", id=renamed.get("call_id"))
    time.sleep(A_SECOND)
    mutate(
        catalogue="music",
        action="create",
        kind="album",
        fields={"name": "Golden", "artist_ids": ["nobody"]},
    )
    mutate(catalogue="music", action="create", kind="sculpture", fields={"name": "Golden"})
    mutate(catalogue="anime", action="update", id="mal-1", fields={"episodes": 27})
    mutate(catalogue="wines", action="update", id="Z9", fields={"points": 1})
    mutate(catalogue="wines", action="update", id="A1", fields={"points": "many"})
    mutate(catalogue="wines", action="update", id="A1", fields={"pionts": 1})
    mutate(catalogue="wines", action="update", id="A1", fields={"points": None})
    mutate(catalogue="wines", action="undo", id="0123456789abcdef")
    mutate(catalogue="wines", action="paint", id="A1")
    mutate(action="update", id="A1", fields={"points": 90})
    mutate(catalogue="nothing", action="update", id="A1", fields={"points": 90})
    uri = "changelog://recent"
    recorder.note(
        server.surface,
        who,
        "resources/read",
        {"uri": uri},
        server.ask("resources/read", {"uri": uri}),
    )
    uri = "changelog://recent?max_tokens=200"
    recorder.note(
        server.surface,
        who,
        "resources/read",
        {"uri": uri},
        server.ask("resources/read", {"uri": uri}),
    )
