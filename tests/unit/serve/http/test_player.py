"""The player's side over a real music catalogue: ranges, covers, likes and playlists, under the
caller's rights.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from stackroom.analytics.events import EventReports, EventSpan
from stackroom.assembly.app import App
from stackroom.control.database.engine import open_local
from stackroom.model.principal import LOCAL_USER, Outcome
from stackroom.serve.http import replies
from stackroom.tools.media import MediaFile
from stackroom.tools.own_storage import OwnStorage
from stackroom.tools.toolbox import Toolbox, ToolboxesByVisibility
from stackroom_catalogues.music.player.store import Player
from support.music_sites import build_music, serve_music, toolboxes_of

pytestmark = pytest.mark.row("Z17")

SOUND = bytes(range(256)) * 4
SIZE = len(SOUND)
PICTURE = b"\x89PNG picture"
ALBUM = {"id": "album", "kind": "album", "name": "Album", "cover": "media/cover.png"}
BARE = {"id": "bare", "kind": "album", "name": "Bare"}
ROOT = "/v1/media/music"


def track(name: str, file: str | None, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "kind": "track",
        "name": name.title(),
        **({"file": file} if file else {}),
        **more,
    }


TRACKS = [
    track("song", "media/song.wav", album_id="album"),
    track("second", "media/song.wav", album_id="bare"),
    track("empty", "media/empty.mp3"),
    track("linked", "media/linked.wav"),
    track("silent", None),
    track("timed", None, seconds=180.4),
    track("cd 1/09 più", "media/song.wav", album_id="album"),
]
OUTSIDE = {
    "missing": "media/missing.wav",
    "climbing": "../../outside.wav",
    "absolute": "{outside}",
    "symlink": "media/leading-out.wav",
    "folder-link": "media/elsewhere/outside.wav",
    "circle": "media/circle.wav",
    "folder": "media/folder.wav",
    "disguised": "media/disguised.wav",
    "nul": "media/song\0.wav",
    "endless": "media/" + "x" * 5000 + ".wav",
    "database": "catalogue.toml",
    "page": "media/page.html",
    "pipe": "media/pipe.wav",
}
"""Tracks whose file must not be served, by what they name."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A library with a music catalogue, with files that are its own and files that are not."""
    home = tmp_path_factory.mktemp("home")
    outside = home / "outside.wav"
    outside.write_bytes(b"a secret")
    hostile = [
        track(name, file.replace("{outside}", str(outside))) for name, file in OUTSIDE.items()
    ]
    app, place = build_music(home, [ALBUM, BARE, *TRACKS, *hostile])
    (place / "song.wav").write_bytes(SOUND)
    (place / "cover.png").write_bytes(PICTURE)
    (place / "empty.mp3").touch()
    (place / "page.html").write_text("<script>alert(1)</script>")
    (place / "secrets.txt").write_text("a secret")
    (place / "linked.wav").symlink_to("song.wav")
    (place / "leading-out.wav").symlink_to(outside)
    (place / "disguised.wav").symlink_to("secrets.txt")
    (place / "elsewhere").symlink_to(outside.parent, target_is_directory=True)
    (place / "circle.wav").symlink_to("circle.wav")
    (place / "folder.wav").mkdir()
    os.mkfifo(place / "pipe.wav")
    yield app
    app.close()


@pytest.fixture
def music(make_site: Callable[..., Any], app: App) -> Any:
    """A server of that library, with two listeners."""
    site = serve_music(make_site, app)
    site.add_user("ada")
    site.add_user("bob")
    return site


@pytest.fixture
def ada(music: Any) -> Any:
    """The client of somebody."""
    return music.by_token("ada")


@pytest.fixture
def bob(music: Any) -> Any:
    """The client of somebody else."""
    return music.by_token("bob")


def play(listener: Any, wanted: str | None = None, name: str = "song", **more: str) -> Any:
    ranged = {"Range": wanted} if wanted is not None else {}
    return listener.get(f"{ROOT}/audio/{name}", headers={**ranged, **more})


def song_of(app: App) -> Path:
    folder = app.open_catalogue("music").folder
    assert folder is not None
    return folder / "media" / "song.wav"


def error_of(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]["code"]


def test_a_track_is_played_whole(ada: Any) -> None:
    reply = play(ada)
    assert (reply.status_code, reply.content) == (200, SOUND)
    assert reply.headers["content-type"] == "audio/wav"
    assert reply.headers["accept-ranges"] == "bytes"
    assert reply.headers["content-length"] == str(SIZE)
    assert "private" in reply.headers["cache-control"]
    assert "sandbox" in reply.headers["content-security-policy"]
    assert play(ada, name="linked").content == SOUND
    head = ada.head(f"{ROOT}/audio/song")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(SIZE))


@pytest.mark.parametrize(
    ("wanted", "first", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-99", 0, 100),
        ("bytes=1000-", 1000, SIZE),
        ("bytes=-24", SIZE - 24, SIZE),
        (f"bytes=10-{'9' * 18}", 10, SIZE),
    ],
)
def test_a_part_is_played(music: Any, ada: Any, wanted: str, first: int, end: int) -> None:
    reply = play(ada, wanted)
    assert (reply.status_code, reply.content) == (206, SOUND[first:end])
    assert reply.headers["content-range"] == f"bytes {first}-{end - 1}/{SIZE}"
    assert reply.headers["content-length"] == str(end - first)
    assert music.last_note().result_bytes == end - first


@pytest.mark.parametrize("wanted", [f"bytes={SIZE}-", "bytes=-0"])
def test_a_part_beyond_the_end_is_refused_and_the_length_told(
    music: Any, ada: Any, wanted: str
) -> None:
    reply = play(ada, wanted)
    assert error_of(reply) == (416, "range_not_satisfiable")
    assert reply.headers["content-range"] == f"bytes */{SIZE}"
    assert music.last_note().result_bytes == 0


@pytest.mark.parametrize(
    "wanted",
    [
        "bytes=0-1,5-6",
        ",".join(["bytes=0-"] + ["0-"] * 500),
        "bytes=9-5",
        "bytes=-",
        "bytes=-5-6",
        "",
        f"bytes={'9' * 5000}-",
        "bytes=٠-١".encode().decode("latin-1"),
    ],
)
def test_the_whole_is_played_where_several_parts_or_none_that_make_sense_are_asked_for(
    music: Any, ada: Any, wanted: str
) -> None:
    reply = play(ada, wanted.encode("latin-1"))  # type: ignore[arg-type]
    assert (reply.status_code, reply.content) == (200, SOUND)
    assert music.last_note().result_bytes == SIZE


def test_a_part_of_a_file_that_has_changed_is_not_mixed_with_the_rest(ada: Any) -> None:
    whole = play(ada)
    for known in (whole.headers["etag"], whole.headers["last-modified"]):
        assert play(ada, "bytes=0-9", **{"If-Range": known}).status_code == 206
    for other in ('"other"', f"W/{whole.headers['etag']}", "Thu, 01 Jan 1970 00:00:00 GMT"):
        reply = play(ada, f"bytes={SIZE}-", **{"If-Range": other})
        assert (reply.status_code, reply.content) == (200, SOUND)


CACHED = [
    ({"If-None-Match": "{etag}"}, 304),
    ({"If-None-Match": 'W/{etag}, "x"'}, 304),
    ({"If-None-Match": "{etag}", "Range": "bytes=0-9"}, 304),
    ({"If-None-Match": '"x"'}, 200),
]
"""Conditions of a request, and the status that it gets."""


@pytest.mark.parametrize(("conditions", "status"), CACHED)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_whoever_has_a_file_already_is_not_sent_it_again(
    music: Any, ada: Any, conditions: dict[str, str], status: int, method: str
) -> None:
    whole = play(ada)
    etag = whole.headers["etag"]
    asked = {name: value.format(etag=etag) for name, value in conditions.items()}
    reply = ada.request(method, f"{ROOT}/audio/song", headers=asked)
    assert reply.status_code == status
    if status == 304:
        assert (reply.content, reply.headers["etag"]) == (b"", etag)
        assert "private" in reply.headers["cache-control"]
    assert music.last_note().result_bytes == (SIZE if (method, status) == ("GET", 200) else 0)


@pytest.mark.parametrize("wanted", ["bytes=0-9", f"bytes={SIZE}-"])
def test_only_what_is_fetched_has_parts(ada: Any, wanted: str) -> None:
    head = ada.head(f"{ROOT}/audio/song", headers={"Range": wanted})
    assert (head.status_code, head.headers["content-length"], head.content) == (200, str(SIZE), b"")
    assert head.headers["content-type"] == "audio/wav"


def test_a_file_that_goes_before_it_is_sent_is_as_unknown_as_none(
    music: Any, ada: Any, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, find_reply = song_of(app), replies.file_reply

    def sent_when_gone(request: Any, found: MediaFile, name: str) -> Any:
        path.unlink()
        return find_reply(request, found, name)

    monkeypatch.setattr(replies, "file_reply", sent_when_gone)
    try:
        assert error_of(play(ada)) == (404, "unknown_resource")
    finally:
        path.write_bytes(SOUND)
    assert (music.last_note().outcome, music.last_note().result_bytes) == (Outcome.REFUSED, 0)


def test_an_empty_file_is_played_whole_and_has_no_parts(ada: Any) -> None:
    reply = play(ada, name="empty")
    assert (reply.status_code, reply.content, reply.headers["content-type"]) == (
        200,
        b"",
        "audio/mpeg",
    )
    assert play(ada, "bytes=0-", name="empty").status_code == 416
    assert play(ada, "bytes=-5", name="empty").status_code == 416


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_file_that_is_not_the_catalogue_s_is_as_unknown_as_none(ada: Any, name: str) -> None:
    answers = {
        (play(ada, name=one).text.replace(one, "")) for one in (name, "silent", "no-such-track")
    }
    assert len(answers) == 1
    reply = play(ada, name=name)
    assert error_of(reply) == (404, "unknown_resource")
    assert b"secret" not in reply.content


def test_a_track_whose_id_has_slashes_is_played_shown_and_liked(ada: Any) -> None:
    name = quote("cd 1/09 più", safe="")
    assert play(ada, name=name).content == SOUND
    assert ada.get(f"{ROOT}/cover/{name}").content == PICTURE
    assert ada.put(f"/v1/likes/{name}").status_code == 204
    assert [one["id"] for one in ada.get("/v1/likes").json()["likes"]] == ["cd 1/09 più"]
    assert ada.delete(f"/v1/likes/{name}").status_code == 204
    assert ada.get("/v1/likes").json()["total"] == 0


def test_an_empty_id_is_of_no_record(ada: Any) -> None:
    assert error_of(play(ada, name="")) == (404, "unknown_resource")
    assert error_of(ada.get(f"{ROOT}/cover/")) == (404, "unknown_resource")
    assert error_of(ada.put("/v1/likes/")) == (404, "not_found")


def test_a_cover_is_of_the_album_or_of_a_track_s_album(ada: Any) -> None:
    for name in ("album", "song"):
        reply = ada.get(f"{ROOT}/cover/{name}")
        assert (reply.status_code, reply.content) == (200, PICTURE)
        assert reply.headers["content-type"] == "image/png"
    for name in ("bare", "second", "silent", "no-such-record"):
        assert ada.get(f"{ROOT}/cover/{name}").status_code == 404


def test_a_hidden_catalogue_has_nothing_to_play_like_or_list(
    music: Any, ada: Any, bob: Any
) -> None:
    music.control.access.restrict(LOCAL_USER, "music", users=["ada"], roles=[])
    assert play(ada).status_code == 200
    for name in ("song", "no-such-track"):
        assert error_of(play(bob, name=name)) == (404, "unknown_resource")
        assert bob.get(f"{ROOT}/cover/{name}").status_code == 404
        assert bob.put(f"/v1/likes/{name}").status_code == 403
        listed = {"name": "x", "tracks": [name]}
        assert bob.post("/v1/playlists", json=listed).status_code == 403
        assert bob.post("/v1/plays", json={"track_id": name, "seconds": 1}).status_code == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "   "}, "'name'"),
        ({"name": "x", "tracks": ["song"] * 2001}, "'tracks'"),
        ({"name": "x", "tracks": ["no-such"]}, "'tracks': no track 'no-such'"),
        (
            {"name": "x", "tracks": ["album"]},
            "'tracks': 'album' is of the kind album; give the id of a track",
        ),
    ],
)
def test_what_is_wrong_with_a_playlist_is_told_by_its_field(
    ada: Any, body: dict[str, Any], field: str
) -> None:
    kept = ada.post("/v1/playlists", json={"name": "kept", "tracks": ["song"]}).json()
    for reply in (
        ada.post("/v1/playlists", json=body),
        ada.put(f"/v1/playlists/{kept['id']}", json=body),
    ):
        assert error_of(reply) == (
            (404, "not_found") if "no-such" in field else (400, "invalid_input")
        )
        assert field in reply.json()["error"]["message"]
    assert ada.get("/v1/playlists").json()["playlists"] == [kept]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"track_id": "song", "seconds": 86_401}, "'seconds'"),
        ({"track_id": "timed", "seconds": 182}, "'seconds': the track lasts 180.4 s"),
        ({"track_id": "album", "seconds": 3}, "'track_id'"),
        ({"track_id": "no-such", "seconds": 3}, "'track_id': no track 'no-such'"),
    ],
)
def test_what_is_wrong_with_a_play_is_told_by_its_field(
    ada: Any, body: dict[str, Any], field: str
) -> None:
    reply = ada.post("/v1/plays", json=body)
    assert error_of(reply) == ((404, "not_found") if "no-such" in field else (400, "invalid_input"))
    assert field in reply.json()["error"]["message"]


def test_a_playlist_that_is_given_a_name_alone_keeps_its_tracks(ada: Any) -> None:
    made = ada.post("/v1/playlists", json={"name": "V1", "tracks": ["second", "song"]}).json()
    place = f"/v1/playlists/{made['id']}"
    renamed = ada.put(place, json={"name": "V2"}).json()
    assert (renamed["name"], renamed["tracks"]) == ("V2", ["second", "song"])
    assert ada.get(place).json() == renamed


def test_a_track_that_is_gone_is_named_and_may_stay_where_it_was(
    music: Any, ada: Any, bob: Any
) -> None:
    tracks = ["song", "gone", "second", "gone"]
    kept = Player(music.control.database)
    made, other = (
        kept.put_playlist("ada", None, "a", tracks),
        kept.put_playlist("ada", None, "b", ["song"]),
    )
    kept.like("ada", "gone", "track")
    kept.like("ada", "song", "track")
    place = f"/v1/playlists/{made.id}"
    assert (
        ada.get(place).json()["tracks"],
        ada.get(place).json()["missing"],
    ) == (
        tracks,
        ["gone"],
    )
    listed = ada.get("/v1/playlists").json()["playlists"]
    assert [one["missing"] for one in listed] == [["gone"], []]
    assert ada.get("/v1/likes").json()["missing"] == ["gone"]
    kept = ada.put(place, json={"name": "a", "tracks": ["gone", "song"]})
    assert (kept.status_code, kept.json()["tracks"], kept.json()["missing"]) == (
        200,
        ["gone", "song"],
        ["gone"],
    )
    for wrong in (
        ada.put(f"/v1/playlists/{other.id}", json={"name": "b", "tracks": ["gone"]}),
        bob.post("/v1/playlists", json={"name": "c", "tracks": ["gone"]}),
    ):
        assert error_of(wrong) == (404, "not_found")


def test_likes_and_playlists_come_in_pages(music: Any, ada: Any) -> None:
    for name in ("song", "second", "album"):
        ada.put(f"/v1/likes/{name}")
        ada.post("/v1/playlists", json={"name": name})
    for path, key in (("/v1/likes", "likes"), ("/v1/playlists", "playlists")):
        whole = ada.get(path).json()
        first = ada.get(f"{path}?limit=2").json()
        last = ada.get(f"{path}?limit=2&offset=2").json()
        assert (first[key] + last[key], len(first[key])) == (whole[key], 2)
        assert [(one["total"], one["has_more"]) for one in (whole, first, last)] == [
            (3, False),
            (3, True),
            (3, False),
        ]
        for wrong in (
            "limit=0",
            "offset=-1",
            f"offset={10**30}",
            "limit=²",
        ):
            reply = ada.get(f"{path}?{wrong}")
            assert error_of(reply) == (400, "invalid_input")
            assert f"'{wrong.partition('=')[0]}'" in reply.json()["error"]["message"]


def test_a_play_is_noted_once_under_who_heard_it_with_its_catalogue(music: Any, ada: Any) -> None:
    assert ada.post("/v1/plays", json={"track_id": "song", "seconds": 12.4}).status_code == 204
    note = music.last_note()
    assert (note.principal, note.operation, note.target) == ("ada", "player/note_play", "song")
    rows, _ = EventReports(music.control.database, music.recorder).popular(EventSpan())
    assert rows == [{"catalogue": "music", "id": "song", "plays": 1, "seconds": 12, "listeners": 1}]


def test_without_accounts_likes_playlists_and_plays_are_the_local_user_s(
    make_site: Callable[..., Any], app: App, tmp_path: Path
) -> None:
    client = make_site(accounts=False, toolboxes=toolboxes_of(app)).client
    local_user = open_local(tmp_path)
    app.own_records.keep_in(OwnStorage(database=local_user))
    assert client.get(f"{ROOT}/audio/song").status_code == 200
    assert client.put("/v1/likes/song").status_code == 204
    assert [one["id"] for one in client.get("/v1/likes").json()["likes"]] == ["song"]
    kept = client.post("/v1/playlists", json={"name": "x", "tracks": ["song", "song"]}).json()
    assert client.get(f"/v1/playlists/{kept['id']}").json()["tracks"] == ["song", "song"]
    for _ in range(2):
        longest = {"track_id": "timed", "seconds": 181}
        assert client.post("/v1/plays", json=longest).status_code == 204
    heard = client.get("/v1/player", params={"list": "plays"}).json()["tracks"]["items"]
    assert [(one["id"], one["plays"]) for one in heard] == [("timed", 2)]
    local_user.close()


def listed(listener: Any, **query: Any) -> dict[str, Any]:
    reply = listener.get("/v1/player", params=query)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def ids_in(answer: dict[str, Any], group: str) -> list[str]:
    return [one["id"] for one in answer[group]["items"]]


def test_a_player_lists_everything_by_name_and_says_what_can_be_played(ada: Any) -> None:
    albums = listed(ada, list="albums")["albums"]
    assert [(one["id"], one["image"]) for one in albums["items"]] == [
        ("album", "/v1/media/music/cover/album"),
        ("bare", None),
    ]
    page = listed(ada, list="albums", limit=1, offset=1)["albums"]
    assert ([one["id"] for one in page["items"]], page["total"], page["has_more"]) == (
        ["bare"],
        2,
        False,
    )
    album = listed(ada, list="album", id="album")
    assert [(one["id"], one["playable"], one["image"]) for one in album["tracks"]["items"]] == [
        ("cd 1/09 più", True, "/v1/media/music/cover/album"),
        ("song", True, "/v1/media/music/cover/album"),
    ]
    tracks = ids_in(listed(ada, list="tracks", limit=200), "tracks")
    playable = ids_in(listed(ada, list="tracks", playable=True, limit=200), "tracks")
    assert set(tracks) - set(playable) == {"silent", "timed"}
    found = listed(ada, list="search", q="bare")
    assert (ids_in(found, "albums")[0], ids_in(found, "artists")) == ("bare", [])
    assert ids_in(listed(ada, list="tracks", q="second"), "tracks")[0] == "second"


def test_a_player_lists_what_its_caller_keeps(ada: Any, bob: Any) -> None:
    ada.put("/v1/likes/song")
    ada.post("/v1/plays", json={"track_id": "song", "seconds": 3})
    assert (
        ids_in(listed(ada, list="likes"), "tracks"),
        ids_in(listed(bob, list="likes"), "tracks"),
    ) == (
        ["song"],
        [],
    )
    assert listed(ada, list="plays")["tracks"]["items"][0]["plays"] == 1
    made = ada.post("/v1/playlists", json={"name": "Songs", "tracks": ["song"]}).json()
    shown = listed(ada, list="playlist", id=made["id"])
    assert (shown["name"], ids_in(shown, "tracks")) == ("Songs", ["song"])
    refused = bob.get("/v1/player", params={"list": "playlist", "id": made["id"]})
    assert refused.status_code == 404


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ({"list": "album", "id": "song"}, 404, "no album 'song'"),
        ({"list": "albums", "catalogue": "nowhere"}, 400, "no 'nowhere'; there are: music"),
        ({"list": "search"}, 400, "'q' is missing"),
    ],
)
def test_a_list_that_there_is_not_is_refused_with_those_that_there_are(
    ada: Any, query: dict[str, str], status: int, message: str
) -> None:
    reply = ada.get("/v1/player", params=query)
    assert (reply.status_code, message in reply.json()["error"]["message"]) == (status, True)


def test_a_program_is_told_whether_a_catalogue_that_it_sees_has_audio(
    music: Any, ada: Any, make_site: Callable[..., Any]
) -> None:
    assert ada.get("/").json()["audio"] is True
    assert music.client.get("/").json()["audio"] is None
    without = make_site(
        toolboxes=ToolboxesByVisibility([], lambda _names: Toolbox([], catalogues=[], media=[]))
    )
    assert without.client.get("/", headers=ada.headers).json()["audio"] is False
