"""Missing albums by MusicBrainz, against a server on loopback that speaks its format."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from stackroom.assembly.app import App
from stackroom.errors import InputError, NotFoundError, UnavailableError
from stackroom.model.principal import LOCAL_USER
from stackroom.net.polite import Clock
from stackroom.settings import Settings
from stackroom_catalogues.music.musicbrainz import MusicBrainz
from support.loopback import LoopbackServer

pytestmark = pytest.mark.row("Z15")

SATIE = "artist-erik-satie"
Reply = tuple[int, dict[str, str], bytes]


def mbid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def artist(number: int, name: str, **more: Any) -> dict[str, Any]:
    return {"id": mbid(number), "name": name, "score": 100, **more}


def album(number: int, title: str, *kinds: str, year: str = "") -> dict[str, Any]:
    return {
        "id": mbid(number),
        "title": title,
        "primary-type": "Album",
        "secondary-types": list(kinds),
        "first-release-date": year,
    }


class MusicBrainzServer(LoopbackServer):
    """The two addresses of the web service that are asked, with the answers of a test."""

    def __init__(self) -> None:
        self.artists: list[dict[str, Any]] = [artist(1, "Erik Satie")]
        self.albums: list[dict[str, Any]] = []
        self.instead: list[Reply] = []
        """Replies before the right one, request by request."""
        self.requests: list[tuple[str, dict[str, str], str]] = []
        super().__init__()

    def reply(self, path: str, agent: str) -> Reply:
        address = urlsplit(path)
        given = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.requests.append((address.path, given, agent))
        if self.instead:
            return self.instead.pop(0)
        if address.path == "/ws/2/artist":
            return 200, {}, json.dumps({"count": len(self.artists), "artists": self.artists}).encode()
        start = int(given["offset"])
        page = {
            "release-group-count": len(self.albums),
            "release-group-offset": start,
            "release-groups": self.albums[start : start + int(given["limit"])],
        }
        return 200, {}, json.dumps(page).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = owner.reply(self.path, self.headers["User-Agent"])
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                """Stay silent."""

        return Handler


@dataclass
class Passing:
    """A clock that only sleeping moves."""

    slept: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: sum(self.slept), sleep=self.slept.append, chance=lambda: 0.0)


@pytest.fixture
def server() -> Iterator[MusicBrainzServer]:
    made = MusicBrainzServer()
    yield made
    made.die()


@pytest.fixture
def passing() -> Passing:
    return Passing()


@pytest.fixture
def client(server: MusicBrainzServer, passing: Passing) -> MusicBrainz:
    return MusicBrainz(url=f"{server.url}/ws/2", contact="me@example.org", clock=passing.clock())


def test_all_pages_are_read_one_request_a_second_with_a_contact_and_only_once(
    server: MusicBrainzServer, client: MusicBrainz, passing: Passing
) -> None:
    server.albums = [album(100 + number, f"Album {number}", year="1999-05-01") for number in range(250)]
    found = client.get_discography(["Erik Satie"])
    assert [(one.title, one.year) for one in found.albums] == [(f"Album {number}", 1999) for number in range(250)]
    assert [given.get("offset") for _, given, _ in server.requests] == [None, "0", "100", "200"]
    assert {agent for _, _, agent in server.requests} == {"Stackroom/1 ( me@example.org )"}
    assert passing.slept == [1.0, 1.0, 1.0]
    assert client.get_discography(["Erik Satie"]) is found
    assert len(server.requests) == 4


def test_a_busy_server_is_asked_again_when_it_says(
    server: MusicBrainzServer, client: MusicBrainz, passing: Passing
) -> None:
    server.instead = [(503, {"Retry-After": "7"}, b"")]
    client.get_discography(["Erik Satie"])
    assert passing.slept[0] == 7.0


def test_a_name_of_several_artists_is_refused_with_their_ids(server: MusicBrainzServer, client: MusicBrainz) -> None:
    server.artists = [
        artist(1, "Nirvana", disambiguation="US grunge band", country="US"),
        artist(2, "Nirvana", disambiguation="60s band from the UK"),
        artist(3, "Nirvana Tribute"),
    ]
    with pytest.raises(InputError, match="several artists called 'Nirvana'") as refused:
        client.get_discography(["Nirvana"])
    assert f"Nirvana (US grunge band, US) [{mbid(1)}]" in refused.value.message
    assert mbid(3) not in refused.value.message
    assert client.get_discography(["Nirvana"], artist_id=mbid(2)).artist.id == mbid(2)


def test_an_artist_is_also_found_by_an_alias_and_an_unknown_one_is_told(
    server: MusicBrainzServer, client: MusicBrainz
) -> None:
    server.artists = [artist(5, "Эрик Сати", aliases=[{"name": "Erik Satie", "locale": "fr"}]), artist(6, "Erik")]
    assert client.get_discography(["Erik Satie"]).artist.id == mbid(5)
    with pytest.raises(NotFoundError, match="MusicBrainz has no artist 'Nobody'; near it are"):
        client.get_discography(["Nobody"])


@pytest.mark.parametrize("body", [b"{", b"<html>", b'{"artists": [{"id": "x", "name": 1}]}', b"[]"])
def test_an_answer_that_cannot_be_read_is_given_up_after_three_attempts(
    server: MusicBrainzServer, client: MusicBrainz, body: bytes
) -> None:
    server.instead = [(200, {}, body)] * 5
    with pytest.raises(UnavailableError, match=r"cannot be read.*asked 3 times, given up"):
        client.get_discography(["Erik Satie"])
    assert len(server.requests) == 3


def test_another_status_and_a_server_that_is_away_are_told(server: MusicBrainzServer, client: MusicBrainz) -> None:
    server.instead = [(400, {}, b"")]
    with pytest.raises(UnavailableError, match="answered status 400"):
        client.get_discography(["Erik Satie"])
    server.die()
    with pytest.raises(UnavailableError, match="given up"):
        client.get_discography(["Erik Satie"])


@pytest.fixture
def ask(sample_music: Any, server: MusicBrainzServer) -> Iterator[Callable[..., Any]]:
    """Ask for gaps on a server whose settings name the loopback MusicBrainz."""
    opened: list[App] = []

    def get(*, contact: str = "me@example.org", offline: bool = False, **arguments: Any) -> Any:
        section = {"musicbrainz_contact": contact, "musicbrainz_url": f"{server.url}/ws/2/"}
        home = sample_music.app.settings.home
        app = App(Settings(home=home, offline=offline, sections={"downloads": section}))
        opened.append(app)
        gate = app.build_gate(["music"])
        return gate.call(LOCAL_USER, "catalog.get", {"query_type": "gaps", "id": SATIE, **arguments})

    yield get
    for app in opened:
        app.close()


def missing_in(answer: Any) -> list[Any]:
    assert answer.structured is not None, answer.text
    return next((gap["items"] for gap in answer.structured["gaps"] if gap["gap"] == "missing_albums"), [])


def test_albums_that_the_catalogue_does_not_have_are_listed_with_what_enters_them(
    server: MusicBrainzServer, ask: Callable[..., Any]
) -> None:
    server.albums = [
        album(11, "Trois gymnopédies (Remastered Deluxe Edition)", year="1888"),
        album(12, "Parade", year="1917-05-18"),
        album(13, "Satie Live in Paris", "Live"),
        album(14, "The Best of Satie", "Compilation"),
    ]
    answer = ask(reference=["musicbrainz", mbid(1)])
    entered = {"name": "Parade", "year": 1917, "artist_ids": [SATIE]}
    request = {"action": "create", "kind": "album", "fields": entered}
    assert missing_in(answer) == [{"name": "Parade", "year": 1917, "request": request}]
    assert 'request: {"action":"create","kind":"album"' in answer.text
    assert "has the request by which catalog.mutate enters it" in answer.text
    assert "2 live albums, compilations and the like are left out" in answer.text
    with_live = missing_in(ask(reference=["MusicBrainz", "live", mbid(1)]))
    assert [one["name"] for one in with_live] == ["Parade", "Satie Live in Paris"]
    assert len(missing_in(ask(reference=["musicbrainz", "all", mbid(1)]))) == 3


def test_it_is_off_unless_a_contact_is_set_and_offline_nothing_is_asked(
    server: MusicBrainzServer, ask: Callable[..., Any]
) -> None:
    off = ask(contact="", reference="musicbrainz")
    assert (off.error_code, "'musicbrainz_contact' in [downloads]" in off.text) == ("unavailable", True)
    offline = ask(offline=True, reference="musicbrainz")
    assert (offline.error_code, "'offline' is set" in offline.text) == ("unavailable", True)
    wrong = ask(reference=["musicbrainz", "bootlegs"])
    assert (wrong.error_code, "'bootlegs' is not a kind of album" in wrong.text) == ("invalid_input", True)
    assert server.requests == []
