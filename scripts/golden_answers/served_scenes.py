"""Over a shared server: the same calls on each surface; each caller's tools, rights and limits."""

import json
from typing import Any
from urllib.parse import quote, urlencode

from golden_answers.changing_scenes import record_changes
from golden_answers.clients import Http, StreamableHttp, WebSocket
from golden_answers.questions import ERRORS, PAGES, TYPICAL, Ask
from golden_answers.recorder import Recorder, World, warm_up
from golden_answers.served import CALLERS, LIAR, STRANGER, Served, serving
from golden_answers.stdio_scenes import (
    ODD_CALLS,
    RESOURCES,
    record_edits,
    record_lists,
    record_reading,
)

SURFACES = ("http", "http-2026", "websocket", "sse")
EACH_MAY = (
    Ask("search", {"query": "sourdough bread", "limit": 2}),
    Ask("fetch", {"id": "personal/recipes/sourdough.md#1"}),
    Ask("search", {"query": "bread", "catalogue": "personal", "limit": 1}),
    Ask("browse", {"limit": 2}),
    Ask(
        "catalog.mutate",
        {
            "catalogue": "wines",
            "action": "update",
            "id": "B1",
            "fields": {"points": 91},
            "preview": True,
        },
    ),
    Ask("users.query", {"query_type": "roles"}),
    Ask("analytics.query", {"query_type": "popular"}),
    Ask("downloads.query", {"query_type": "stats"}),
    Ask("downloads.action", {"action": "status", "id": 1}),
    Ask("jobs.query", {"query_type": "get", "job_id": "backup"}),
    Ask("server.query", {"query_type": "sessions"}),
    Ask(
        "debug.sql",
        {"query": "SELECT id, points FROM items ORDER BY id LIMIT 2", "catalogue": "wines"},
    ),
    Ask("debug.inspect", {"query_type": "errors"}),
)
"""Asked by every caller, since each may do something else."""


HIDDEN_EXPORT = {"format": "csv", "search": '{"catalogue": "personal", "query": "*", "limit": 1}'}


def record_served(recorder: Recorder, world: World) -> None:
    """Record a shared server: surfaces, callers, what changes it, and what it noted of all this."""
    with serving(recorder, world) as served:
        for scene in (record_surfaces, record_callers, record_limits, record_files):
            recorder.attempt(scene, served)
        record_changes(recorder, served)


def record_open(recorder: Recorder, world: World) -> None:
    """Record a server without accounts, whose tools have plain names, and one without MCP."""
    (world.home / "stackroom.toml").write_text(
        "[mcp.rate_limit]\nread_per_minute = 100000\n", encoding="utf-8"
    )
    with world.serve("--no-accounts", "--tool-names", "plain") as port:
        recorder.mask.learn(str(port), "PORT")
        rest = Http(port)
        warm_up(
            lambda tool, arguments: json.loads(
                rest.request("POST", f"/v1/tools/{tool}", body=arguments)[2]
            )
        )
        for surface, client in (
            ("http", StreamableHttp(port, "")),
            ("websocket", WebSocket(port, "")),
        ):
            recorder.note(surface, "local", "initialize", {}, client.hello)
            record_lists(recorder, client, "local")
            for ask in TYPICAL[:12]:
                recorder.ask(client, "local", ask)
            recorder.ask(client, "local", Ask("catalog_get", {"query_type": "stats"}))
            client.close()
        for path in (
            "/",
            "/v1/me",
            "/v1/users",
            "/v1/audit",
            "/v1/tools",
            "/openapi.json",
            "/v1/likes",
            "/health",
            "/v1/tables",
        ):
            recorder.request(rest, "local", "GET", path, by_form=path == "/health")
        recorder.request(rest, "local", "POST", "/v1/login", {"name": "ada", "password": "x"})
        recorder.request(rest, "local", "GET", "/rest/getArtists?f=json&u=x&p=y&v=1.16.1&c=golden")
    with world.serve("--no-accounts", "--no-mcp-enabled", "wines") as port:
        recorder.mask.learn(str(port), "PORT")
        rest = Http(port)
        for path in ("/", "/mcp", "/v1/mcp", "/v1/tools", "/openapi.json"):
            recorder.request(rest, "local, without MCP", "GET", path)
        recorder.ask_rest(rest, "local, without MCP", Ask("fetch", {"id": "wines/A1"}))


def record_surfaces(recorder: Recorder, served: Served) -> None:
    """Record the typical calls over each surface, and what else MCP and REST have in common."""
    for surface in SURFACES:
        client = served.mcp("ada", surface)
        recorder.note(surface, "ada", "initialize", {}, client.hello)
        for ask in TYPICAL:
            recorder.ask(client, "ada", ask)
        record_lists(recorder, client, "ada")
    for name in ("http", "http-2026", "websocket"):
        client = served.mcp("ada", name)
        for method, params in ODD_CALLS:
            recorder.note(name, "ada", method, params, client.ask(method, params))
    record_reading(recorder, served.mcp("ada", "http"), "ada")
    rest = served.rest("ada")
    for ask in (*TYPICAL, *PAGES, *ERRORS):
        recorder.ask_rest(rest, "ada", ask)
    recorder.request(rest, "ada", "GET", "/v1/tools")
    page = recorder.request(rest, "ada", "GET", "/v1/resources")
    while page.get("nextCursor"):
        page = recorder.request(
            rest, "ada", "GET", f"/v1/resources?{urlencode({'cursor': page['nextCursor']})}"
        )
    recorder.request(rest, "ada", "GET", "/v1/resource-templates")
    for uri in RESOURCES:
        recorder.request(
            rest,
            "ada",
            "GET",
            f"/v1/resources/read?uri={quote(uri, safe='')}",
            by_form=uri.startswith("logs"),
        )
    recorder.request(
        rest,
        "ada",
        "GET",
        "/v1/resources/read?uri=documents://handbook/people/time-off.md&max_tokens=300",
    )
    record_edits(recorder, served.mcp("ada", "http"), "ada")
    recorder.request(rest, "ada", "GET", "/v1/resources/read?uri=changelog%3A%2F%2Frecent")


def record_callers(recorder: Recorder, served: Served) -> None:
    """Record what each caller is offered, and what becomes of the same calls."""
    for who in CALLERS:
        rest = served.rest(who)
        if who not in (STRANGER, LIAR, "lim"):
            client = served.mcp(who)
            recorder.note("http", who, "initialize", {}, client.hello)
            record_lists(recorder, client, who)
            for ask in EACH_MAY:
                recorder.ask(
                    client,
                    who,
                    ask,
                    by_form=ask.arguments.get("query_type") in ("sessions", "errors"),
                )
        else:
            hello = served.mcp(who).ask("tools/list") if who != "lim" else {}
            recorder.note("http", who, "tools/list", {}, hello)
        if who == "lim":
            continue
        for path in ("/v1/tools", "/v1/me", "/openapi.json", "/v1/resources", "/health", "/"):
            recorder.request(rest, who, "GET", path, by_form=path == "/health")
        for ask in EACH_MAY:
            recorder.ask_rest(
                rest, who, ask, by_form=ask.arguments.get("query_type") in ("sessions", "errors")
            )
        for path in (
            "/v1/users",
            "/v1/access",
            "/v1/jobs/backup",
            "/v1/audit?limit=1&user=x",
            "/v1/tokens?user=rita",
            "/v1/tables",
            "/v1/likes",
            "/v1/catalogues/personal",
        ):
            recorder.request(rest, who, "GET", path)
        recorder.request(rest, who, "GET", "/v1/player?list=albums&limit=1")
        recorder.request(
            rest,
            who,
            "GET",
            f"/v1/export?{urlencode(HIDDEN_EXPORT)}",
        )


def record_limits(recorder: Recorder, served: Served) -> None:
    """Record what a caller over their limit is told: three reads and one write a minute."""
    rest = served.rest("lim")
    for number in range(5):
        recorder.ask_rest(rest, "lim", Ask("search", {"query": f"robots {number}", "limit": 1}))
    client = served.mcp("lim")
    recorder.note("http", "lim", "initialize", {}, client.hello)
    recorder.ask(client, "lim", Ask("search", {"query": "robots", "limit": 1}))
    recorder.ask(served.mcp("lim", "websocket"), "lim", Ask("fetch", {"id": "wines/A1"}))
    recorder.ask(served.mcp("lim", "http-2026"), "lim", Ask("fetch", {"id": "wines/A1"}))
    answer = client.ask("resources/read", {"uri": "stackroom://wines/A1"})
    recorder.note("http", "lim", "resources/read", {"uri": "stackroom://wines/A1"}, answer)
    recorder.note("http", "lim", "tools/list", {}, client.ask("tools/list"))
    edit = {
        "catalogue": "wines",
        "action": "update",
        "id": "B1",
        "fields": {"points": 91},
        "preview": True,
    }
    for _ in range(2):
        recorder.ask_rest(rest, "lim", Ask("catalog.mutate", edit))
    recorder.request(rest, "lim", "GET", "/v1/player?list=albums&limit=1")
    recorder.request(rest, "lim", "GET", "/v1/me")


EXPORTS: tuple[dict[str, str], ...] = (
    *(
        {"format": kind, "search": '{"catalogue": "wines", "query": "*"}'}
        for kind in ("csv", "json", "jsonl", "parquet", "xlsx", "bib")
    ),
    {
        "format": "csv",
        "search": '{"catalogue": "papers", "query": "physics", "filters": {"publish_year": 1905}}',
    },
    {"format": "bib", "search": '{"catalogue": "papers", "query": "*", "sort": "-publish_year"}'},
    {
        "format": "json",
        "search": '{"catalogue": "anime", "query": "space", "exclude": {"tags": ["comedy"]}}',
    },
    {"format": "csv", "search": '{"catalogue": "anime", "query": "*", "facet": "tags"}'},
    {"format": "csv", "browse": '{"catalogue": "wines", "by": ["country"], "of": "price"}'},
    {"format": "xlsx", "browse": '{"catalogue": "wines", "by": ["country", "points"]}'},
    {"format": "json", "browse": '{"catalogue": "wines", "of": "price"}'},
    {"format": "csv"},
    {"format": "csv", "search": "{}", "browse": "{}"},
    {"format": "csv", "search": "not json"},
    {"format": "csv", "search": "[]"},
    {"format": "csv", "search": '{"query": "*"}'},
    {
        "format": "csv",
        "search": '{"catalogue": "wines", "query": "*", "filters": {"colour": ["red"]}}',
    },
    {"format": "pdf", "search": '{"catalogue": "wines", "query": "*"}'},
    {"format": "csv", "search": '{"catalogue": "nothing", "query": "*"}'},
)
SOUND = "/v1/media/music/audio/track-beethoven-piano-sonata-14-01"


def record_files(recorder: Recorder, served: Served) -> None:
    """Record exports, media, and what the page and programs get at each path."""
    rest = served.rest("ada")
    for asked in EXPORTS:
        recorder.request(rest, "ada", "GET", f"/v1/export?{urlencode(asked)}")
    recorder.request(rest, "ada", "GET", SOUND)
    _status, headers, _content = rest.request("GET", SOUND)
    for sent in (
        {"Range": "bytes=0-15"},
        {"Range": "bytes=100-"},
        {"Range": "bytes=-7"},
        {"Range": "bytes=99999999-"},
        {"Range": "bytes=0-1,5-6"},
        {"Range": "lines=1"},
        {"If-None-Match": headers.get("etag", "")},
        {"If-None-Match": '"other"'},
        {"If-Range": '"other"', "Range": "bytes=0-15"},
    ):
        recorder.request(rest, "ada", "GET", SOUND, headers=sent)
    recorder.request(rest, "ada", "HEAD", SOUND)
    for kind, record in (
        ("cover", "album-bach-well-tempered-clavier-1"),
        ("cover", "track-beethoven-piano-sonata-14-01"),
        ("thumbnail", "album-beethoven-piano-sonata-14"),
        ("picture", "album-beethoven-piano-sonata-14"),
        ("audio", "nothing"),
    ):
        recorder.request(rest, "ada", "GET", f"/v1/media/music/{kind}/{record}")
    recorder.request(
        rest, "ada", "GET", "/v1/media/nothing/audio/track-beethoven-piano-sonata-14-01"
    )
    for path in PATHS:
        recorder.request(rest, "ada", "GET", path)
    page = {"Accept": "text/html"}
    for path in (
        "/",
        "/search?q=robots",
        "/c/anime",
        "/manage/jobs",
        "/tools",
        "/nothing/here",
        "/docs/",
        "/docs/start",
        "/favicon.ico",
    ):
        recorder.request(rest, "ada", "GET", path, headers=page)
    recorder.request(
        rest, "ada", "GET", "/v1/tools", headers={"Accept-Encoding": "gzip"}, by_form=True
    )
    for method, path, body, sent in ODD_REQUESTS:
        recorder.request(rest, "ada", method, path, body, headers=sent)


PATHS = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/health/live",
    "/health/ready",
    "/c/anime/mal-1",
    "/c/wines/A1",
    "/c/wines/A1?parts=similar",
    "/c/wines/nothing",
    "/v1/catalogues/wines",
    "/v1/catalogues/anime",
    "/v1/catalogues/nothing",
    "/v1/lyrics/track-beethoven-piano-sonata-14-01",
    "/v1/lyrics/nothing",
    "/v1/nothing",
    "/v1/tools/",
    "/v1/resources?cursor=nonsense",
    "/v1/resources/read",
    "/v1/users?limit=0",
    "/v1/users?limt=3",
)
JSON = {"Content-Type": "application/json"}
ODD_REQUESTS: tuple[tuple[str, str, Any, dict[str, str] | None], ...] = (
    ("GET", "/v1/tools/search", None, None),
    ("DELETE", "/v1/me", None, None),
    ("POST", "/v1/tools/search", b"{not json", JSON),
    ("POST", "/v1/tools/search", b"[]", JSON),
    ("POST", "/v1/tools/search", b"", JSON),
    ("POST", "/v1/tools/search", b'{"query": "robots", "query": "space"}', JSON),
    (
        "POST",
        "/v1/tools/search",
        b"query=robots",
        {"Content-Type": "application/x-www-form-urlencoded"},
    ),
    ("POST", "/v1/tools/search", b'{"query": "robots"}', {"Content-Type": "text/plain"}),
    ("POST", "/v1/tools/search", b"x" * 70_000, JSON),
    ("POST", "/v1/tools/search", b"{}", {**JSON, "Content-Length": "5000000"}),
    ("POST", "/mcp", b"{}", {**JSON, "Content-Length": "5000000"}),
    ("POST", "/v1/login", b" " * 17_000, JSON),
    ("POST", "/v1/tools/search", b'{"query": "robots"}', {**JSON, "Content-Encoding": "gzip"}),
    (
        "POST",
        "/v1/tools/search",
        b'{"query": "robots", "limit": 1}',
        {**JSON, "Origin": "https://elsewhere.example"},
    ),
    (
        "POST",
        "/v1/tools/search",
        b'{"query": "robots", "limit": 1}',
        {**JSON, "Host": "elsewhere.example"},
    ),
    ("POST", "/mcp", b"{not json", {**JSON, "Accept": "application/json, text/event-stream"}),
    ("POST", "/mcp", b"[]", {**JSON, "Accept": "application/json, text/event-stream"}),
    (
        "POST",
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"Accept": "application/json, text/event-stream"},
    ),
    ("GET", "/v1/mcp", None, None),
    ("DELETE", "/mcp", None, None),
    ("PUT", "/v1/likes/", None, None),
)
