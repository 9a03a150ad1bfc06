"""Two servers on one library: one of them runs its jobs, and what is edited in either is seen by
the other.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.libraries import copy_samples
from support.rest_answers import watched_client

ENVIRONMENT = {"RAG_STRICT_OFFLINE": "1", "STACKROOM_READ_PER_MINUTE": "100000"}


@dataclass(frozen=True, kw_only=True)
class Served:
    """A server, and an admin's client of it."""

    server: Any
    client: httpx.Client

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must answer."""
        reply = self.client.post(f"/v1/tools/{tool}", json=arguments)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def albums(self, name: str) -> list[str]:
        """Return the albums of this name that a search finds."""
        found = self.call("catalog.search", query=name)["albums"]["items"]
        return [one["id"] for one in found if one["name"] == name]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the music sample."""
    return copy_samples(tmp_path_factory.mktemp("two servers"), "music")


@pytest.fixture(scope="module")
def both(home: Path, start_server: Any) -> Iterator[tuple[Served, Served]]:
    """Two servers on that library."""
    with ExitStack() as stack:
        servers = [start_server(home, environment=ENVIRONMENT) for _ in range(2)]
        known = {"Authorization": f"Bearer {servers[0].token('admin')}"}
        first, second = (
            Served(
                server=server,
                client=stack.enter_context(watched_client(server.url, known)),
            )
            for server in servers
        )
        yield first, second


@pytest.mark.row("Z5")
def test_what_is_edited_in_either_is_seen_by_the_other_at_its_next_call(
    both: tuple[Served, Served],
) -> None:
    for number, (one, other) in enumerate((both, both[::-1])):
        name = f"Nocturnes of the reading room, volume {number}"
        assert other.albums(name) == []  # an answer that the other might keep
        fields = {"name": name, "artists": ["Frédéric Chopin"], "year": 1835}
        made = one.call("catalog.mutate", action="create", kind="album", fields=fields)
        (album_id,) = other.albums(name)
        assert other.call("catalog.get", query_type="album", id=album_id)["item"]["year"] == 1835
        changed = other.call("catalog.mutate", action="update", id=album_id, fields={"year": 1836})
        assert one.call("catalog.get", query_type="album", id=album_id)["item"]["year"] == 1836
        for served, call_id in ((one, changed["call_id"]), (other, made["call_id"])):
            assert served.call("catalog.mutate", action="undo", id=call_id)["applied"] is True
        assert one.albums(name) == other.albums(name) == []
