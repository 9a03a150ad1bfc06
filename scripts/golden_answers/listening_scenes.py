"""Music on a shared server: listening, other players by the OpenSubsonic API, and downloads."""

import json
from typing import Any

from golden_answers.clients import Http
from golden_answers.questions import Ask
from golden_answers.recorder import Recorder, http_answer, wait_until
from golden_answers.served import PASSWORD, Served

TRACK = "track-beethoven-piano-sonata-14-01"
OTHER_TRACK = "track-mozart-piano-sonata-16-01"
ALBUM = "album-bach-well-tempered-clavier-1"
ARTIST = "artist-henry-purcell"


LISTENING: tuple[tuple[str, str, Any], ...] = (
    *(
        ("GET", f"/v1/player?list={one}&limit=3", None)
        for one in ("artists", "albums", "tracks", "recent", "genres", "likes", "plays", "heard")
    ),
    ("GET", "/v1/player?list=search&q=bach&limit=3", None),
    ("GET", "/v1/player?list=albums&genre=baroque&sort=-year&counts=true&limit=3", None),
    ("GET", "/v1/player?list=tracks&from_year=1800&to_year=1810&playable=true&limit=3", None),
    ("GET", f"/v1/player?list=artist&id={ARTIST}&limit=3", None),
    ("GET", f"/v1/player?list=album&id={ALBUM}&limit=3", None),
    ("GET", f"/v1/player?list=track&id={TRACK}", None),
    ("GET", f"/v1/player?list=similar&id={TRACK}&limit=3", None),
    ("GET", f"/v1/player?list=radio&id={TRACK}&limit=3", None),
    ("GET", "/v1/player?list=track&id=nothing", None),
    ("GET", "/v1/player?list=nothing", None),
    ("PUT", f"/v1/likes/{TRACK}", None),
    ("PUT", f"/v1/likes/{ALBUM}", None),
    ("PUT", f"/v1/likes/{ARTIST}", None),
    ("PUT", "/v1/likes/nothing", None),
    ("GET", "/v1/likes", None),
    ("GET", "/v1/player?list=likes", None),
    ("DELETE", f"/v1/likes/{ALBUM}", None),
    ("DELETE", f"/v1/likes/{ALBUM}", None),
    ("POST", "/v1/plays", {"track_id": TRACK, "seconds": 12.5}),
    ("POST", "/v1/plays", {"track_id": OTHER_TRACK, "seconds": 9.0}),
    ("POST", "/v1/plays", {"track_id": TRACK, "seconds": 80_000}),
    ("POST", "/v1/plays", {"track_id": "nothing", "seconds": 5.0}),
    ("POST", "/v1/plays", {"track_id": TRACK}),
    ("GET", "/v1/player?list=plays", None),
    ("GET", "/v1/player?list=heard", None),
    ("POST", "/v1/playlists", {"name": "Evening", "tracks": [TRACK, OTHER_TRACK]}),
    ("POST", "/v1/playlists", {"name": ""}),
    ("POST", "/v1/playlists", {"name": "Ghosts", "tracks": ["nothing"]}),
)


def record_listening(recorder: Recorder, served: Served) -> None:
    """Record lists of the player, likes, plays and playlists."""
    rest = served.rest("rita")
    for method, path, body in LISTENING:
        answer = recorder.request(rest, "rita", method, path, body)
        if path == "/v1/playlists" and isinstance(answer, dict) and "id" in answer:
            _record_playlist(recorder, rest, str(answer["id"]))
    recorder.request(served.rest("eddie"), "eddie", "GET", "/v1/playlists")


def _record_playlist(recorder: Recorder, rest: Http, playlist: str) -> None:
    recorder.mask.learn(f"playlists/{playlist}", "a playlist")
    recorder.mask.learn(f"playlist&id={playlist}", "a playlist")
    for method, path, body in (
        ("GET", f"/v1/playlists/{playlist}", None),
        ("PUT", f"/v1/playlists/{playlist}", {"name": "Night"}),
        ("PUT", f"/v1/playlists/{playlist}", {"name": "Night", "tracks": [OTHER_TRACK]}),
        ("GET", f"/v1/player?list=playlist&id={playlist}", None),
        ("GET", "/v1/playlists", None),
        ("DELETE", f"/v1/playlists/{playlist}", None),
        ("DELETE", f"/v1/playlists/{playlist}", None),
    ):
        recorder.request(rest, "rita", method, path, body)


SUBSONIC = (
    "ping.view",
    "ping",
    "getLicense",
    "getOpenSubsonicExtensions",
    "getUser?username=rita",
    "getScanStatus",
    "getNowPlaying",
    "getMusicFolders",
    "getIndexes",
    "getArtists",
    "getGenres",
    f"getArtist?id={ARTIST}",
    f"getAlbum?id={ALBUM}",
    f"getSong?id={TRACK}",
    f"getSimilarSongs2?id={TRACK}&count=3",
    "getAlbumList2?type=alphabeticalByName&size=3",
    "getAlbumList2?type=byYear&fromYear=1800&toYear=1820&size=3",
    "getAlbumList2?type=byGenre&genre=baroque&size=2",
    "getAlbumList2?type=starred",
    "getAlbumList?type=nothing",
    "getSongsByGenre?genre=baroque&count=2",
    "search3?query=bach&artistCount=2&albumCount=2&songCount=2",
    "search2?query=&songCount=2&albumCount=0&artistCount=0",
    "getTopSongs?artist=Henry%20Purcell&count=2",
    f"star?id={OTHER_TRACK}&albumId={ALBUM}",
    "getStarred2",
    f"unstar?albumId={ALBUM}",
    f"scrobble?id={TRACK}&submission=true",
    f"getLyricsBySongId?id={TRACK}",
    "getSong?id=nothing",
    "getSong",
    "getPlaylists",
    "getCoverArt?id=nothing",
    "getVideos",
    f"stream?id={TRACK}",
)


LOGINS = (
    "apiKey=wrong",
    "u=rita&p=wrong",
    f"u=rita&p={PASSWORD}-2",
    "u=rita&t=abcdef&s=abc",
    "",
    f"u=rita&p=enc:{f'{PASSWORD}-2'.encode().hex()}",
)


def record_subsonic(recorder: Recorder, served: Served) -> None:
    """Record what other players ask, as JSON and XML."""
    stranger, secret = Http(served.port), served.secrets["rita"]

    def ask(who: str, path: str, login: str) -> Any:
        reply = stranger.request("GET", f"{path}&v=1.16.1&c=golden&{login}")
        answer = http_answer(*reply)
        recorder.note("subsonic", who, f"GET {path}", {}, answer)

    for form in ("json", "xml"):
        for asked in SUBSONIC:
            if form == "json" or asked.startswith(("get", "search", "ping")):
                name, _, query = asked.partition("?")
                ask("rita", f"/rest/{name}?{query}&f={form}", f"apiKey={secret}")
    for number, login in enumerate(LOGINS):
        ask(f"login {number}", "/rest/getLicense?f=json", login)
    random = stranger.request("GET", f"/rest/getRandomSongs?size=3&f=json&apiKey={secret}")[2]
    songs = json.loads(random)["subsonic-response"]["randomSongs"]["song"]
    recorder.note("subsonic", "rita", "GET /rest/getRandomSongs", {}, {"songs": len(songs)})
    stranger.close()


def record_downloads(recorder: Recorder, served: Served) -> None:
    """Record an album that is fetched, found, and undone; and requests that are refused."""
    client = served.mcp("ada")

    def act(**arguments: Any) -> Any:
        return recorder.ask(client, "ada", Ask("downloads.action", arguments))

    act(action="request", artist="Golden Artist", album="Golden Album", provider="label")
    wait_until(lambda: _is_fetched(served), "the album")
    act(action="status", id=1)
    act(action="request", artist="Golden Artist", album="Golden Album", provider="label")
    recorder.ask(client, "ada", Ask("downloads.query", {"query_type": "queue", "state": "done"}))
    recorder.ask(client, "ada", Ask("downloads.query", {"query_type": "stats"}))
    recorder.ask(client, "ada", Ask("catalog.search", {"query": "Golden Album", "limit": 2}))
    recorder.ask(client, "ada", Ask("catalog.get", {"query_type": "recent", "limit": 2}))
    act(action="request", url="ftp://example.org/a.mp3")
    act(action="request", url="http://10.0.0.1/a.json")
    act(action="request", provider="nothing", album="x", artist="y")
    act(action="request")
    act(action="cancel", id=1)
    act(action="retry", id=99)


def _is_fetched(served: Served) -> bool:
    body = {"query_type": "item", "id": 1}
    answer = json.loads(
        served.rest("polly").request("POST", "/v1/tools/downloads.query", body=body)[2]
    )
    return answer["downloads"][0]["state"] in ("done", "failed")
