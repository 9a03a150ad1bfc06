"""An agent keeps a music library in order, over WebSocket, within the calls and the tokens that it
can afford.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

WAY = "websocket 2026-07-28"
MOST_CALLS = 40
MOST_TOKENS = 30_000
BYTES_A_TOKEN = 4

KNOWN_BY_CHOPIN = ["Études, Op. 10", "Études, Op. 25", "Nocturnes, Op. 9"]
"""What the agent knows of the artist from elsewhere."""
KEYS = ("A♭", "f", "F", "a", "e", "g♯", "c♯", "D♭", "G♭", "b", "a", "c")
ETUDES = [f"Étude in {key}, Op. 25 No. {number}" for number, key in enumerate(KEYS, start=1)]


@dataclass(kw_only=True)
class Agent:
    """A user of the role agent over WebSocket, whose calls and answers are counted."""

    mcp: Any
    request_of: Any
    calls: int = 0
    size_bytes: int = 0
    undoable: list[str] = field(default_factory=list)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        reply = self.mcp.ask(self.request_of("tools/call", tool, **arguments))
        self.calls += 1
        assert reply.error is None, reply.message
        sent = json.dumps(reply.value, ensure_ascii=False, separators=(",", ":"))
        self.size_bytes += len(sent.encode()) + len(reply.text.encode())
        return dict(reply.value)

    def change(self, **arguments: Any) -> dict[str, Any]:
        """Preview a change and make it as it was shown."""
        shown = self.call("catalog.mutate", **arguments, preview=True)
        made = self.call("catalog.mutate", **arguments, plan=shown["plan"])
        assert made["applied"] is True
        self.undoable.append(made["call_id"])
        return made

    @property
    def tokens(self) -> int:
        """The size of all answers, text and structured content."""
        return self.size_bytes // BYTES_A_TOKEN


@pytest.fixture
def agent(music_hosted: Any, connect: Any, request_of: Any) -> Iterator[Agent]:
    """A user with the role agent alone."""
    accounts = music_hosted.accounts
    secret = accounts.token(accounts.user(name="agent", roles=["agent"]))
    with connect(WAY, music_hosted, secret) as mcp:
        yield Agent(mcp=mcp, request_of=request_of)


def records_in(home: Path) -> list[tuple[Any, ...]]:
    """Return every stored record of the music catalogue."""
    with closing(sqlite3.connect(home / "catalogues" / "music" / "records.sqlite")) as database:
        return database.execute("SELECT id, body FROM records ORDER BY id").fetchall()


@pytest.mark.row("Z5", "Z15", "Z17")
def test_an_agent_fills_a_gap_mends_records_makes_a_playlist_and_undoes_it_all_within_its_budget(
    agent: Agent, music_hosted: Any
) -> None:
    before = records_in(music_hosted.server.home)

    gaps = agent.call("catalog.get", query_type="gaps", id="Chopin", reference=KNOWN_BY_CHOPIN)
    (missing,) = next(one["items"] for one in gaps["gaps"] if one["gap"] == "missing_albums")
    assert missing["name"] == "Études, Op. 25"
    like_it = agent.call("catalog.search", query=missing["name"], kind="album", limit=3)["albums"][
        "items"
    ]
    assert missing["name"] not in [one["name"] for one in like_it]

    fields = {
        "name": missing["name"],
        "artists": ["Frédéric Chopin"],
        "year": 1837,
        "genres": ["etude", "piano"],
    }
    of_album = {"artists": fields["artists"], "album": missing["name"]}
    tracks = [
        {**of_album, "name": name, "position": place} for place, name in enumerate(ETUDES, start=1)
    ]
    created = [("album", fields), *(("track", track) for track in tracks)]
    made = agent.change(
        changes=[{"action": "create", "kind": kind, "fields": one} for kind, one in created]
    )
    assert made["total"] == 13
    album = agent.call("catalog.get", query_type="album", id=missing["name"])
    assert [one["name"] for one in album["tracks"]["items"]] == ETUDES

    fixes = agent.call("catalog.get", query_type="fixes", id=missing["name"], limit=5)["fixes"][
        "items"
    ]
    mended = agent.change(changes=[one["request"] for one in fixes])
    assert [one["id"] for one in mended["changes"]] == [one["request"]["id"] for one in fixes]
    assert len(fixes) == 5
    track = agent.call("catalog.get", query_type="track", id=fixes[0]["request"]["id"])["item"]
    assert (track["year"], track["artists"]) == (1837, ["Frédéric Chopin"])

    wish = {"about": "calm piano by Chopin and Satie", "minutes": 30}
    proposed = agent.call("catalog.get", query_type="playlist", **wish)
    assert {"Frédéric Chopin", "Erik Satie"} <= {
        one["artists"][0] for one in proposed["tracks"]["items"]
    }

    for call_id in reversed(agent.undoable):
        assert agent.call("catalog.mutate", action="undo", id=call_id)["applied"] is True
    assert records_in(music_hosted.server.home) == before
    assert agent.calls <= MOST_CALLS
    assert agent.tokens <= MOST_TOKENS
