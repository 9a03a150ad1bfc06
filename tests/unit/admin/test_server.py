"""`server.query` and `config://server`: the server as it is, without its secrets."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom import __version__
from stackroom.admin.server import (
    REDACTED,
    Server,
    config_resources,
    plain_settings,
    server_tool,
)
from stackroom.control.accounts.credentials import Credential
from stackroom.model.principal import LOCAL_USER, Action, Identity, Principal
from stackroom.model.scope import Visibility
from stackroom.settings import (
    ControlSettings,
    EmbeddingSettings,
    RerankSettings,
    Settings,
    load_settings,
)
from stackroom.shelf.opening import create_shelf

STARTED = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
SECRETS = (
    "key-of-the-embedder",
    "key-of-the-reranker",
    "password-of-the-database",
    "key-of-the-scholar",
)
READER = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))
ANN = Identity(
    principal=Principal(name="ann", actions=frozenset(Action)),
    credential_id="c1",
    expires_at=STARTED + timedelta(1),
)
BOB = Identity(principal=READER, credential_id="c2", expires_at=None)

SESSION = Credential(
    id="c1",
    kind="session",
    user="ann",
    name="",
    scopes=None,
    catalogues=None,
    created_at=STARTED - timedelta(hours=1),
    expires_at=STARTED + timedelta(1),
    last_used_at=STARTED,
    revoked=False,
)
LIVE = [
    SESSION,
    replace(SESSION, id="c3", user="lou", last_used_at=None),
    replace(SESSION, id="t1", kind="token", user="ann", name="laptop", expires_at=None),
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        home=tmp_path,
        embedding=EmbeddingSettings(
            kind="openai", api_key=SECRETS[0], url="https://u:password-of-the-database@e.org/v1"
        ),
        rerank=RerankSettings(
            api_key=SECRETS[1], url="http://rerank.example/rank?api_key=key-of-the-reranker&n=5"
        ),
        control=ControlSettings(
            url="postgresql+psycopg://stackroom:password-of-the-database@db/stackroom"
        ),
        sections={"semantic_scholar_key": SECRETS[3]},
    )


@pytest.fixture
def served(songs: Any, settings: Settings, behind_gate: Callable[..., Any], tmp_path: Path) -> Any:
    server = Server(
        settings=settings,
        started_at=STARTED,
        identities=lambda: [ANN, BOB, ANN],
        credentials=lambda used_since: [
            one for one in LIVE if (one.last_used_at or STARTED) >= used_since
        ],
        problems=lambda: {"embedding": "away"},
        counters=lambda: {"calls_in_flight": 3},
        now=lambda: STARTED + timedelta(minutes=2),
    )
    return behind_gate(
        [server_tool(server)],
        config_resources(settings),
        catalogues=[replace(songs.opened, folder=tmp_path)],
    )


@pytest.mark.row("Z9")
def test_the_version_the_uptime_and_the_catalogues_are_told(served: Any) -> None:
    answer = served.ask("server.query", query_type="info")
    values = answer["values"]
    assert (values["version"], values["uptime_s"], values["calls_in_flight"]) == (
        __version__,
        120,
        3,
    )
    assert values["problems"] == {"embedding": "away"}
    assert [(row["catalogue"], row["records"]) for row in answer["rows"]] == [("songs", 4)]
    assert (answer["total"], answer["has_more"]) == (1, False)


@pytest.mark.row("Z9")
def test_a_catalogue_that_somebody_does_not_see_is_not_told(served: Any) -> None:
    confined = replace(LOCAL_USER, visibility=Visibility(only=frozenset({"other"})))
    assert served.ask("server.query", query_type="info", principal=confined)["rows"] == []


@pytest.mark.row("Z9")
def test_the_memory_is_told_with_the_indexes_in_it(
    served: Any, songs: Any, settings: Settings, behind_gate: Callable[..., Any], tmp_path: Path
) -> None:
    assert served.ask("server.query", query_type="memory")["rows"] == []
    with closing(create_shelf(tmp_path / "songs", songs.opened.spec, model=None)) as shelf:
        on_disk = replace(songs.opened, shelf=shelf)
        tool = server_tool(Server(settings=settings, started_at=STARTED))
        shelf.publish()
        answer = behind_gate([tool], catalogues=[on_disk]).ask("server.query", query_type="memory")
    assert answer["values"]["resident_bytes"] > 10_000_000
    size_bytes = sum(
        path.stat().st_size for path in (tmp_path / "songs" / "index").rglob("*") if path.is_file()
    )
    assert answer["rows"] == [{"part": "index of songs", "bytes": size_bytes}]


@pytest.mark.row("Z9")
def test_sessions_are_told_with_their_open_streams_and_paged(served: Any) -> None:
    answer = served.ask("server.query", query_type="sessions")
    assert answer["values"] == {"sessions": 2, "streams": 3, "users": 3, "process": os.getpid()}
    assert [(row["user"], row["credential"], row["streams"]) for row in answer["rows"]] == [
        ("ann", "c1", 2),
        ("ann", "t1", 0),
        ("lou", "c3", 0),
        ("reader", "c2", 1),
    ]
    assert answer["rows"][1] == {
        "user": "ann",
        "credential": "t1",
        "kind": "token",
        "name": "laptop",
        "streams": 0,
        "created_at": "2026-11-15T11:00:00+00:00",
        "last_used_at": "2026-11-15T12:00:00+00:00",
        "expires_at": None,
    }
    page = served.ask("server.query", query_type="sessions", limit=1)
    assert (len(page["rows"]), page["total"], page["has_more"]) == (1, 4, True)


@pytest.mark.row("Z9")
@pytest.mark.parametrize("query_type", ["info", "memory", "sessions"])
def test_an_answer_of_one_process_says_so(served: Any, query_type: str) -> None:
    answer = served.ask("server.query", query_type=query_type)
    assert answer["values"]["process"] == os.getpid()
    assert "of this process" in answer["notes"][0]


@pytest.mark.row("Z9", "Z11")
def test_the_configuration_has_everything_but_secrets(served: Any) -> None:
    by_tool = served.ask("server.query", query_type="config")["values"]
    content = served.gate.read(LOCAL_USER, "config://server")
    assert json.loads(content.text) == by_tool
    assert not [secret for secret in SECRETS if secret in content.text]
    assert by_tool["embedding"]["api_key"] == REDACTED
    assert by_tool["control"]["url"] == f"postgresql+psycopg://{REDACTED}@db/stackroom"
    assert by_tool["rerank"]["url"] == f"http://rerank.example/rank?api_key={REDACTED}&n=5"
    assert by_tool["rate_limit"]["sql_per_minute"] == 10
    assert by_tool["server"]["port"] == 8080


@pytest.mark.row("Z11")
def test_a_secret_that_is_not_set_is_shown_as_such() -> None:
    assert plain_settings(load_settings({"STACKROOM_HOME": "/x"}))["embedding"]["api_key"] == ""
