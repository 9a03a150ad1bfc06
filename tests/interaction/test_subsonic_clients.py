"""A real server as py-sonic, a client of other music servers, sees it: browse, search, listen and
keep.
"""

from pathlib import Path
from typing import Any

import httpx
import pytest

from support.libraries import copy_samples

libsonic = pytest.importorskip("libsonic", reason="py-sonic is not installed: pip install py-sonic")

pytestmark = pytest.mark.row("N15")

MORNING, KING = "track-grieg-peer-gynt-suite-1-01", "track-grieg-peer-gynt-suite-1-04"
SUITE, GRIEG = "album-grieg-peer-gynt-suite-1", "artist-edvard-grieg"


@pytest.fixture
def server(tmp_path: Path, start_server: Any) -> Any:
    server = start_server(copy_samples(tmp_path / "home", "music"), "--accounts")
    server.run("user", "add", "ada", "--one-time")
    return server


def connect(server: Any, password: str, **options: Any) -> Any:
    return libsonic.Connection(
        "http://127.0.0.1", "ada", password, port=server.port, appName="test", **options
    )


def test_a_client_browses_searches_listens_and_keeps_with_a_token_as_its_password(
    server: Any,
) -> None:
    token = server.token("ada")
    client = connect(server, token, legacyAuth=True)
    assert client.ping()
    assert client.getLicense()["license"]["valid"]
    assert sum(len(one["artist"]) for one in client.getArtists()["artists"]["index"]) == 46
    assert client.getArtist(GRIEG)["artist"]["album"][0]["name"].startswith("Peer Gynt")
    assert client.getAlbum(SUITE)["album"]["songCount"] == 4
    assert len(client.getAlbumList2("alphabeticalByName", size=100)["albumList2"]["album"]) == 85
    assert client.search3("mountain king")["searchResult3"]["song"][0]["id"] == KING
    assert len(client.search3("", songCount=500)["searchResult3"]["song"]) == 500
    assert len(client.getRandomSongs(size=5)["randomSongs"]["song"]) == 5
    assert KING in [one["id"] for one in client.getSimilarSongs2(MORNING)["similarSongs2"]["song"]]
    heard = client.stream(MORNING).read()
    assert heard[:4] == b"RIFF"
    assert client.download(MORNING).read() == heard
    client.star([MORNING])
    client.scrobble(MORNING)
    assert [one["id"] for one in client.getStarred2()["starred2"]["song"]] == [MORNING]
    assert [one["id"] for one in client.getAlbumList2("frequent")["albumList2"]["album"]] == [SUITE]
    made = client.createPlaylist(name="Walk", songIds=[MORNING, KING])["playlist"]
    client.updatePlaylist(made["id"], name="Run", songIndexesToRemove=[0])
    kept = client.getPlaylist(made["id"])["playlist"]
    assert (kept["name"], [one["id"] for one in kept["entry"]]) == ("Run", [KING])
    own = httpx.get(
        f"{server.url}/v1/playlists", headers={"Authorization": f"Bearer {token}"}, verify=False
    ).json()
    assert [one["name"] for one in own["playlists"]] == ["Run"]
    client.deletePlaylist(made["id"])
