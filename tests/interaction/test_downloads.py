"""An album from a provider into the catalogue, through a real server and with a real provider on
loopback.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from support.libraries import copy_samples
from support.rest_answers import watched_client

pytestmark = pytest.mark.row("Z8")

ARTIST = "Isobel Thorne"
ALBUM = "Songs of the Ninth Wave"
TRACK = "Lamps Along the Quay"


@pytest.fixture
def provider(file_server: Any, tagged_wav: Callable[..., bytes]) -> Any:
    """A provider with one album."""
    files = []
    for number, title in enumerate(("Grey Harbour", TRACK), start=1):
        body = tagged_wav(title=title, album=ALBUM, artist=ARTIST)
        file_server.files[f"/{number}.wav"] = body
        files.append(
            {"url": f"/{number}.wav", "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        )
    manifest = {"artist": ARTIST, "album": ALBUM, "files": files}
    file_server.files[f"/albums/{quote(ALBUM)}.json"] = json.dumps(manifest).encode()
    return file_server


@pytest.fixture
def server(tmp_path: Path, provider: Any, start_server: Any) -> Iterator[Any]:
    """A server of music and something else that may ask the provider."""
    home = copy_samples(tmp_path / "home", "music", "dnd")
    (home / "stackroom.toml").write_text(
        f"""
        [downloads]
        folder = "{tmp_path / "Music"}"
        allowed_networks = ["127.0.0.1/32"]
        allowed_ports = [{provider.port}]

        [downloads.providers]
        label = "{provider.url}/albums/{{album}}.json"
        """
    )
    server = start_server(home, environment={"STACKROOM_READ_PER_MINUTE": "100000"})
    yield server
    server.stop()


@pytest.fixture
def admin(server: Any) -> Iterator[httpx.Client]:
    """The admin of the server."""
    known = {"Authorization": f"Bearer {server.token('admin')}"}
    with watched_client(server.url, known) as client:
        yield client


def call(client: httpx.Client, tool: str, **arguments: Any) -> Any:
    reply = client.post(f"/v1/tools/{tool}", json=arguments)
    assert reply.status_code == 200, reply.text
    return reply.json()


def ask(client: httpx.Client, soon: Any, **wish: Any) -> dict[str, Any]:
    """Ask for an album, and return what came of it."""
    asked = call(client, "downloads.action", action="request", **wish)["download"]

    def shown() -> dict[str, Any]:
        return dict(
            call(client, "downloads.query", query_type="item", id=asked["id"])["downloads"][0]
        )

    soon(lambda: shown()["state"] not in ("queued", "running"), timeout_s=120)
    return shown()


def test_an_album_that_is_asked_for_is_searchable_and_can_be_heard(
    admin: httpx.Client, provider: Any, soon: Any, tmp_path: Path
) -> None:
    done = ask(admin, soon, album=ALBUM)
    assert (done["state"], done["folder"]) == ("done", f"{ARTIST}/{ALBUM}")
    landed = sorted(path.name for path in (tmp_path / "Music" / ARTIST / ALBUM).iterdir())
    assert landed == ["1.wav", "2.wav"]
    found = call(admin, "catalog.search", query=TRACK)["tracks"]["items"]
    (track,) = (one for one in found if one["name"] == TRACK)
    assert (track["album"], track["artists"], track["playable"]) == (ALBUM, [ARTIST], True)
    assert admin.get(f"/v1/media/music/audio/{track['id']}").content == provider.files["/2.wav"]
    changes = admin.get("/v1/resources/read", params={"uri": "changelog://recent"}).json()[
        "changes"
    ]
    (made,) = (one for one in changes if one.get("id") == track["id"])
    assert made["principal"] == "admin"
    assert made["call_id"]

    call(admin, "catalog.mutate", action="undo", id=made["call_id"])
    assert TRACK not in [
        one["name"] for one in call(admin, "catalog.search", query=TRACK)["tracks"]["items"]
    ]
    again = ask(admin, soon, album=ALBUM)
    assert (again["state"], again["attempts"]) == ("done", 1)
    assert [
        one["name"] for one in call(admin, "catalog.search", query=TRACK)["tracks"]["items"]
    ] == [TRACK]
