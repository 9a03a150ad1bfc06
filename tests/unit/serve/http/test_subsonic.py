"""The OpenSubsonic API over a real music catalogue: logins, forms, errors, and the caller's own
records.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest

from stackroom.assembly.app import App
from stackroom.model.principal import LOCAL_USER, Action, Outcome, Quotas
from support.music_sites import build_music, serve_music, toolboxes_of

pytestmark = pytest.mark.row("N15")

SOUND = bytes(range(256)) * 4
NAMESPACE = "{http://subsonic.org/restapi}"
ROWS = [
    {"id": "ann", "kind": "artist", "name": "Ann", "genres": ["folk"], "about": "A singer."},
    {"id": "the-bees", "kind": "artist", "name": "The Bees", "genres": ["rock"]},
    {
        "id": "songs",
        "kind": "album",
        "name": "Songs",
        "artist_ids": ["ann"],
        "artists": ["Ann"],
        "year": 1999,
        "seconds": 300,
        "genres": ["folk"],
        "cover": "media/cover.png",
        "added": "2026-01-02",
    },
    {
        "id": "hum",
        "kind": "album",
        "name": "Hum",
        "artist_ids": ["the-bees"],
        "artists": ["The Bees"],
        "year": 2010,
        "genres": ["rock"],
    },
    *(
        {
            "id": f"one/{number}",
            "kind": "track",
            "name": f"Song {number}",
            "artist_ids": ["ann"],
            "artists": ["Ann"],
            "album_id": "songs",
            "album": "Songs",
            "position": number,
            "seconds": 100,
            "year": 1999,
            "genres": ["folk"],
            **({"file": "media/song.wav"} if number < 3 else {}),
        }
        for number in (1, 2, 3)
    ),
    {
        "id": "buzz",
        "kind": "track",
        "name": "Buzz & <Hum>",
        "artist_ids": ["the-bees"],
        "artists": ["The Bees"],
        "album_id": "hum",
        "album": "Hum",
        "position": 1,
        "year": 2010,
        "genres": ["rock"],
        "file": "media/song.wav",
    },
]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    app, place = build_music(tmp_path_factory.mktemp("home"), ROWS)
    (place / "song.wav").write_bytes(SOUND)
    (place / "cover.png").write_bytes(b"\x89PNG picture")
    yield app
    app.close()


@pytest.fixture
def music(make_site: Callable[..., Any], app: App, password: str) -> Any:
    site = serve_music(make_site, app)
    site.add_user("ada", password=password)
    site.add_user("bob")
    return site


@pytest.fixture
def key(music: Any) -> str:
    return str(music.by_token("ada").headers["Authorization"].removeprefix("Bearer "))


def call(site: Any, method: str, **parameters: Any) -> Any:
    reply = site.client.get(
        f"/rest/{method}", params={"f": "json", "v": "1.16.1", "c": "test", **parameters}
    )
    assert reply.status_code == 200
    return reply.json()["subsonic-response"]


def code(site: Any, method: str, **parameters: Any) -> tuple[int, str]:
    answer = call(site, method, **parameters)
    assert answer["status"] == "failed"
    return answer["error"]["code"], answer["error"]["message"]


@pytest.fixture
def ask(music: Any, key: str) -> Callable[..., Any]:
    """Call a method as somebody with a token."""
    return partial(call, music, apiKey=key)


@pytest.fixture
def code_of(music: Any, key: str) -> Callable[..., tuple[int, str]]:
    """Call a method as somebody with a token, and return how it is refused."""
    return partial(code, music, apiKey=key)


def titles(found: list[dict[str, Any]]) -> list[str]:
    return [one["title"] for one in found]


def test_an_access_token_is_an_api_key_and_a_password_of_its_user(
    ask: Any, music: Any, key: str, password: str
) -> None:
    assert ask("ping")["status"] == "ok"
    assert ask("getUser")["user"]["username"] == "ada"
    assert call(music, "ping", u="ada", p=key)["status"] == "ok"
    assert call(music, "ping", u="Ada", p=password)["status"] == "ok"
    assert call(music, "ping", u="ada", p=f"enc:{password.encode().hex()}")["status"] == "ok"


def test_a_wrong_login_is_refused_with_the_code_that_says_what_is_wrong(
    code_of: Any, music: Any, key: str
) -> None:
    assert code(music, "ping", u="ada", p="wrong") == (40, "the name or the password is not right")
    assert code(music, "ping", u="bob", p=key)[0] == 40, "the token of another user"
    assert code(music, "ping", apiKey="stk_t_wrong")[0] == 44
    assert code_of("ping", u="ada")[0] == 43
    number, message = code(music, "ping", u="ada", t="26719a1196d2a940705a59634eb18eab", s="c19b2d")
    assert (number, "API key" in message) == (41, True)
    assert code(music, "ping")[0] == 10
    assert code(music, "ping", u="ada") == (10, "'p' is missing: give 'u' and 'p', or 'apiKey'")
    assert code(music, "ping", u="ada", p="enc:zz")[0] == 0


def test_a_cookie_or_header_is_no_login_since_a_link_could_change_something(
    music: Any, key: str
) -> None:
    music.client.cookies.set("stackroom_session", key)
    reply = music.client.get(
        "/rest/ping", params={"f": "json"}, headers={"Authorization": f"Bearer {key}"}
    )
    assert reply.json()["subsonic-response"]["error"]["code"] == 10


def test_a_password_that_comes_with_each_request_begins_one_session(
    music: Any, password: str
) -> None:
    for _ in range(15):
        assert call(music, "ping", u="ada", p=password)["status"] == "ok"
    assert sum(one.kind == "session" for one in music.control.credentials.list_of("ada")) == 1
    music.control.accounts.set_password(LOCAL_USER, "ada", "another good password")
    assert code(music, "ping", u="ada", p=password)[0] == 40


def test_a_one_time_password_is_not_used_up_by_a_player(music: Any) -> None:
    secret = music.control.accounts.reset_password(LOCAL_USER, "bob")
    assert code(music, "ping", u="bob", p=secret)[0] == 40
    assert music.control.accounts.check_login("bob", secret) is not None


def test_guesses_of_a_password_are_limited_and_audited(music: Any) -> None:
    replies = [
        music.client.get("/rest/ping", params={"u": "ada", "p": f"guess {n}", "f": "json"})
        for n in range(11)
    ]
    assert replies[-1].status_code == 429
    assert int(replies[-1].headers["Retry-After"]) > 0
    assert replies[-1].json()["subsonic-response"]["error"]["code"] == 0
    note = music.last_note()
    assert (note.operation, note.target, note.outcome) == ("account/login", "ada", Outcome.LIMITED)


def test_without_accounts_every_player_is_let_in_but_no_page_of_another_site(
    make_site: Callable[..., Any], app: App
) -> None:
    site = make_site(accounts=False, toolboxes=toolboxes_of(app))
    assert call(site, "ping", u="any", t="0", s="0")["status"] == "ok"
    foreign = {"Sec-Fetch-Site": "cross-site"}
    reply = site.client.get("/rest/ping", params={"f": "json"}, headers=foreign)
    assert reply.json()["subsonic-response"]["error"]["code"] == 50
    own = site.client.get(
        "/rest/ping", params={"f": "json"}, headers={"Sec-Fetch-Site": "same-origin"}
    )
    assert own.json()["subsonic-response"]["status"] == "ok"


def test_answers_are_xml_unless_json_is_asked_for_by_either_path_and_by_a_form(
    music: Any, key: str
) -> None:
    reply = music.client.get("/rest/getAlbum.view", params={"apiKey": key, "id": "hum"})
    assert reply.headers["content-type"].startswith("text/xml")
    root = ElementTree.fromstring(reply.text)
    assert (root.tag, root.get("status"), root.get("openSubsonic")) == (
        f"{NAMESPACE}subsonic-response",
        "ok",
        "true",
    )
    song = root.find(f"{NAMESPACE}album/{NAMESPACE}song")
    assert song is not None
    assert (song.get("title"), song.get("isDir"), song.get("suffix")) == (
        "Buzz & <Hum>",
        "false",
        "wav",
    )
    posted = music.client.post(
        "/rest/getAlbum.view", data={"apiKey": key, "id": "hum", "f": "json"}
    )
    assert posted.json()["subsonic-response"]["album"]["name"] == "Hum"
    assert "jsonp" in music.client.get("/rest/ping", params={"apiKey": key, "f": "jsonp"}).text
    wrong = music.client.post("/rest/ping", json={"apiKey": key})
    assert ElementTree.fromstring(wrong.text).get("status") == "failed"


def test_the_extensions_are_told_to_anybody(music: Any) -> None:
    names = [
        one["name"] for one in call(music, "getOpenSubsonicExtensions")["openSubsonicExtensions"]
    ]
    assert names == ["apiKeyAuthentication", "formPost", "songLyrics"]


def test_errors_have_the_codes_of_the_api_and_name_a_missing_parameter(
    code_of: Any, music: Any
) -> None:
    assert code_of("getAlbum") == (
        10,
        "'id' is missing: the id of a record or playlist",
    )
    assert code_of("getAlbum", id="none")[0] == 70
    assert code_of("getAlbum", id="ann")[0] == 70
    assert code_of("stream", id="one/3")[0] == 70
    assert code_of("getCoverArt", id="hum")[0] == 70
    assert code_of("getAlbumList2", type="byGenre")[0] == 10
    assert code_of("getAlbumList2", type="odd")[0] == 0
    assert code_of("getUser", username="bob")[0] == 50
    music.control.accounts.create_user(
        LOCAL_USER, "clerk", password=None, roles=(), grants=[Action.VIEW_ANALYTICS]
    )
    clerk = music.by_token("clerk").headers["Authorization"].removeprefix("Bearer ")
    assert code(music, "getArtists", apiKey=clerk)[0] == 50
    note = music.last_note()
    assert (note.principal, note.operation, note.outcome) == (
        "clerk",
        "subsonic/getArtists",
        Outcome.REFUSED,
    )


def test_calls_are_counted_against_the_rate_limit_of_their_user(music: Any, key: str) -> None:
    quotas = Quotas(read=2, write=0, sql=0)
    music.control.accounts.create_role(LOCAL_USER, "slow", [Action.ACCESS_CATALOG], quotas)
    music.control.accounts.set_roles(LOCAL_USER, "ada", ["slow"])
    answers = [
        music.client.get("/rest/ping", params={"apiKey": key, "f": "json"}) for _ in range(3)
    ]
    assert [one.status_code for one in answers] == [200, 200, 429]
    starring = music.client.get("/rest/star", params={"apiKey": key, "f": "json", "id": "ann"})
    assert starring.status_code == 429, "a change by GET is a change"


def test_artists_albums_and_songs_are_browsed(ask: Any) -> None:
    index = ask("getArtists")["artists"]["index"]
    assert [(one["name"], [a["name"] for a in one["artist"]]) for one in index] == [
        ("A", ["Ann"]),
        ("B", ["The Bees"]),
    ]
    assert index[0]["artist"][0]["albumCount"] == 1
    artist = ask("getArtist", id="ann")["artist"]
    assert [one["name"] for one in artist["album"]] == ["Songs"]
    album = ask("getAlbum", id="songs")["album"]
    assert (album["songCount"], album["duration"], album["created"]) == (
        3,
        300,
        "2026-01-02T00:00:00Z",
    )
    assert titles(album["song"]) == ["Song 1", "Song 2", "Song 3"]
    assert (album["song"][0]["coverArt"], album["song"][0]["contentType"]) == ("songs", "audio/wav")
    genres = ask("getGenres")["genres"]["genre"]
    assert genres[0] == {"value": "folk", "songCount": 3, "albumCount": 1}
    assert titles(ask("getSongsByGenre", genre="rock")["songsByGenre"]["song"]) == ["Buzz & <Hum>"]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"type": "alphabeticalByName"}, ["Hum", "Songs"]),
        ({"type": "alphabeticalByArtist"}, ["Songs", "Hum"]),
        ({"type": "byYear", "fromYear": 1990, "toYear": 2020}, ["Songs", "Hum"]),
        ({"type": "byYear", "fromYear": 2020, "toYear": 1990}, ["Hum", "Songs"]),
        ({"type": "byYear", "fromYear": 2000, "toYear": 2020}, ["Hum"]),
        ({"type": "byGenre", "genre": "Folk"}, ["Songs"]),
        ({"type": "alphabeticalByName", "size": 1, "offset": 1}, ["Songs"]),
        ({"type": "starred"}, []),
        ({"type": "frequent"}, []),
    ],
)
def test_albums_are_listed_in_the_orders_that_clients_know(
    ask: Any, asked: dict[str, Any], names: list[str]
) -> None:
    found = ask("getAlbumList2", **asked)["albumList2"]["album"]
    assert [one["name"] for one in found] == names


def test_a_search_without_words_lists_everything_in_parts(ask: Any) -> None:
    everything = ask("search3", query='""', songCount=2, songOffset=1, artistCount=0)
    assert titles(everything["searchResult3"]["song"]) == ["Song 3", "Song 2"], "the newest first"
    assert "artist" not in everything["searchResult3"]
    found = ask("search2", query="buzz")["searchResult2"]
    assert titles(found["song"]) == ["Buzz & <Hum>"]


def test_songs_by_chance_and_similar_songs_can_be_played(ask: Any) -> None:
    by_chance = ask("getRandomSongs", size=10)["randomSongs"]["song"]
    assert sorted(titles(by_chance)) == ["Buzz & <Hum>", "Song 1", "Song 2"]
    narrowed = ask("getRandomSongs", genre="rock")["randomSongs"]["song"]
    assert titles(narrowed) == ["Buzz & <Hum>"]
    for record, expected in (("one/1", ["Song 2"]), ("songs", []), ("the-bees", [])):
        similar = ask("getSimilarSongs2", id=record)["similarSongs2"]["song"]
        assert titles(similar) == expected, record
    top = ask("getTopSongs", artist="ann")["topSongs"]["song"]
    assert titles(top) == ["Song 1", "Song 2"]
    assert ask("getTopSongs", artist="Nobody")["topSongs"]["song"] == []


def test_stars_are_the_likes_of_the_page_and_scrobbles_its_plays(
    ask: Any, code_of: Any, music: Any, key: str
) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    assert ask("star", id=["one/1", "buzz"], albumId="songs")["status"] == "ok"
    liked = music.client.get("/v1/likes", headers=headers).json()["likes"]
    assert {one["id"] for one in liked} == {"one/1", "buzz", "songs"}
    assert ask("unstar", id="buzz")["status"] == "ok"
    starred = ask("getStarred2")["starred2"]
    assert (titles(starred["song"]), titles(starred["album"]), starred["artist"]) == (
        ["Song 1"],
        ["Songs"],
        [],
    )
    assert "starred" in ask("getSong", id="one/1")["song"]
    assert code_of("star")[0] == 10
    assert ask("scrobble", id="one/2", submission="false")["status"] == "ok"
    assert ask("scrobble", id=["one/2", "buzz"], time=1)["status"] == "ok"
    played = music.client.get("/v1/player?list=heard", headers=headers).json()
    assert sorted((one["id"], one["plays"]) for one in played["tracks"]["items"]) == [
        ("buzz", 1),
        ("one/2", 1),
    ]
    recent = ask("getAlbumList2", type="recent")["albumList2"]["album"]
    assert sorted(titles(recent)) == ["Hum", "Songs"]


def test_a_song_without_lyrics_has_an_empty_text(ask: Any) -> None:
    assert ask("getLyricsBySongId", id="one/3")["lyricsList"]["structuredLyrics"] == []


def test_a_catalogue_is_a_music_folder_that_is_never_scanned_nor_watched(
    ask: Any, code_of: Any
) -> None:
    assert ask("getScanStatus")["scanStatus"] == {"scanning": False, "count": 4}
    assert ask("getNowPlaying")["nowPlaying"] == {"entry": []}
    assert ask("getMusicFolders")["musicFolders"]["musicFolder"] == [{"id": 1, "name": "music"}]
    user = ask("getUser", username="ada")["user"]
    assert (user["folder"], user["streamRole"], user["videoConversionRole"]) == ([1], True, False)
    assert len(ask("getIndexes", musicFolderId=1)["indexes"]["index"]) == 2
    assert code_of("getIndexes", musicFolderId=2)[0] == 0


def test_a_user_who_may_not_see_the_catalogue_hears_nothing_of_it(code_of: Any, music: Any) -> None:
    music.control.access.restrict(LOCAL_USER, "music")
    assert code_of("getArtists")[0] == 50
    assert code_of("stream", id="one/1")[0] == 70
