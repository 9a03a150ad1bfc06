"""Fetching files from a real server on loopback that stalls, cuts, lies and redirects."""

import gzip
import hashlib
import ipaddress
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stackroom.errors import InvalidUrlError, TooLargeError
from stackroom.net.addresses import AddressGuard, AddressRules
from stackroom.net.fetch import (
    FetchCancelledError,
    Fetcher,
    FetchLimits,
    TransferError,
    WantedFile,
)
from stackroom.net.polite import Clock

pytestmark = pytest.mark.row("Z8")

BODY = bytes(range(256)) * 1024
OTHER = bytes(reversed(range(256))) * 1024
SHA256 = hashlib.sha256(BODY).hexdigest()
LOOPBACK = (ipaddress.ip_network("127.0.0.1/32"),)
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


@dataclass(kw_only=True)
class Site:
    """A server, a folder, and a fetcher that may go from the one to the other."""

    server: Any
    folder: Path
    names: dict[str, list[str]] = field(default_factory=dict)
    resolved: list[str] = field(default_factory=list)
    certificates: ssl.SSLContext | None = None

    def fetcher(self, *, networks: Sequence[Any] = LOOPBACK, **limits: Any) -> Fetcher:
        rules = AddressRules(
            ports=frozenset({80, 443, self.server.port}), allowed_networks=tuple(networks)
        )
        bounds = FetchLimits(**{"max_bytes": 1 << 20, "stall_s": 5.0, "total_s": 30.0, **limits})
        guard = AddressGuard(rules, resolve=self._resolve)
        return Fetcher(
            guard, limits=bounds, certificates=self.certificates, clock=Clock(utc_now=lambda: NOW)
        )

    def wanted(self, path: str = "/a.mp3", **known: Any) -> WantedFile:
        return WantedFile(url=f"{self.server.url}{path}", destination=self.target, **known)

    def fetch(
        self, path: str = "/a.mp3", *, limits: dict[str, Any] | None = None, **known: Any
    ) -> int:
        return self.fetcher(**limits or {}).fetch_file(self.wanted(path, **known))

    @property
    def target(self) -> Path:
        return self.folder / "a.mp3"

    @property
    def part(self) -> Path:
        return self.folder / "a.mp3.part"

    @property
    def names_there(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def _resolve(self, host: str, _port: int) -> Sequence[str]:
        self.resolved.append(host)
        if host not in self.names:
            raise OSError("no such name")
        return self.names[host]


@pytest.fixture
def place(file_server: Any, tmp_path: Path) -> Site:
    file_server.files["/a.mp3"] = BODY
    return Site(server=file_server, folder=tmp_path)


def status(code: int, **headers: str) -> Callable[[Any], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(code, b"", named)


def redirect(location: str, code: int = 302) -> Callable[[Any], None]:
    return status(code, Location=location)


def raw(answer: bytes) -> Callable[[Any], None]:
    def reply(handler: Any) -> None:
        handler.wfile.write(answer)
        handler.close_connection = True

    return reply


def stall(after: int) -> Callable[[Any], None]:
    """Send a part, and then nothing until the test is over."""

    def reply(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(BODY)))
        handler.send_header("ETag", f'"{SHA256[:16]}"')
        handler.end_headers()
        handler.wfile.write(BODY[:after])
        handler.released.wait(30)

    return reply


def trickle(handler: Any) -> None:
    """Send a byte of the head now and then, so that something always comes."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not handler.released.wait(0.02):
        handler.wfile.write(b"a")


def test_a_file_comes_whole_with_its_checksum_and_leaves_nothing_else(place):
    fetched = place.fetch(size=len(BODY), sha256=SHA256)

    assert fetched == len(BODY)
    assert place.target.read_bytes() == BODY
    assert place.names_there == ["a.mp3"]


def test_a_file_that_is_there_is_checked_and_not_fetched_again(place):
    place.fetch()

    assert place.fetch(sha256=SHA256) == len(BODY)
    assert len(place.server.requests) == 1


def test_a_file_that_is_there_but_not_the_wanted_one_is_fetched_anew(place):
    place.target.write_bytes(b"something else")

    assert place.fetch(sha256=SHA256) == len(BODY)
    assert place.target.read_bytes() == BODY


def test_nothing_is_asked_for_compressed_and_no_connection_is_kept(place):
    place.fetch()

    (headers,) = place.server.asked("/a.mp3")
    assert headers["accept-encoding"] == "identity"
    assert headers["connection"] == "close"
    assert "cookie" not in headers


def test_more_than_was_promised_is_not_read_and_found_out_by_the_manifest(place):
    place.server.replies["/a.mp3"] = [lambda handler: handler.send(200, BODY, length=1_000)] * 2

    with pytest.raises(TransferError, match="another size") as failed:
        place.fetch(size=len(BODY))
    assert failed.value.is_final
    assert place.names_there == []
    assert place.fetch() == 1_000


def test_a_file_that_is_not_the_promised_one_is_not_kept(place):
    place.server.files["/a.mp3"] = OTHER

    with pytest.raises(TransferError, match="sha256") as failed:
        place.fetch(sha256=SHA256)
    assert failed.value.is_final
    assert place.names_there == []


def test_a_file_that_says_it_is_too_large_is_not_begun(place):
    with pytest.raises(TooLargeError):
        place.fetch(limits={"max_bytes": len(BODY) - 1})
    assert place.names_there == []


def test_a_file_without_a_length_ends_at_the_bound(place):
    def endless(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while not handler.released.wait(0):
            handler.wfile.write(b"10000\r\n" + b"a" * 0x10000 + b"\r\n")

    place.server.replies["/a.mp3"] = [endless]

    with pytest.raises(TooLargeError):
        place.fetch()
    assert place.names_there == []


def test_a_body_that_just_ends_is_not_taken_for_whole(place):
    answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY
    place.server.replies["/a.mp3"] = [raw(answer), raw(answer[:-1]), raw(answer)]

    with pytest.raises(TransferError, match="does not state the file's length"):
        place.fetch()
    with pytest.raises(TransferError, match="262,143 bytes rather than 262,144"):
        place.fetch(size=len(BODY))
    place.fetch(size=len(BODY))
    assert place.target.read_bytes() == BODY


def test_a_compressed_body_is_refused_unread(place):
    bomb = gzip.compress(bytes(64 << 20))
    place.server.replies["/a.mp3"] = [
        lambda handler: handler.send(200, bomb, {"Content-Encoding": "gzip"})
    ] * 2

    with pytest.raises(TransferError, match="compressed") as failed:
        place.fetch()
    assert failed.value.is_final
    with pytest.raises(TransferError, match="compressed"):
        place.fetcher().fetch_text(f"{place.server.url}/a.mp3", max_bytes=1_000)
    assert place.names_there == []


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 418, 204, 300, 304])
def test_a_refusal_is_final(place, code):
    place.server.replies["/a.mp3"] = [status(code)]

    with pytest.raises(TransferError, match=str(code)) as failed:
        place.fetch()
    assert failed.value.is_final


@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again_later_and_says_when(place, code):
    date = (NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    place.server.replies["/a.mp3"] = [
        status(code, Retry_After="7"),
        status(code, Retry_After=date),
        status(code),
    ]

    waits = []
    for _ in range(3):
        with pytest.raises(TransferError) as failed:
            place.fetch()
        assert not failed.value.is_final
        waits.append(failed.value.retry_after_s)
    assert waits == [7, 90, None]


def test_a_server_that_stalls_is_left(place):
    place.server.replies["/a.mp3"] = [stall(after=50_000)]

    with pytest.raises(TransferError, match="did not answer in time"):
        place.fetch(limits={"stall_s": 0.2})
    assert not place.part.exists()
    place.fetch()
    assert place.target.read_bytes() == BODY


@pytest.mark.parametrize("reply", [trickle, stall(after=0)])
def test_a_fetch_ends_when_its_time_is_over_whatever_trickles(place, reply):
    place.server.replies["/a.mp3"] = [reply]
    with pytest.raises(TransferError, match=r"within 0\.5 s"):
        place.fetch(limits={"total_s": 0.5})


def test_a_fetch_that_is_cancelled_ends_at_once(place):
    place.server.replies["/a.mp3"] = [stall(after=50_000)]
    is_cancelled = threading.Event()

    with pytest.raises(FetchCancelledError):
        place.fetcher().fetch_file(
            place.wanted(),
            is_cancelled=is_cancelled.is_set,
            on_progress=lambda _received: is_cancelled.set(),
        )
    assert not place.part.exists()
    assert not place.target.exists()


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: a\r\n\r\n"]
)
def test_an_answer_that_is_no_http_is_a_failed_transfer(place, answer):
    place.server.replies["/a.mp3"] = [raw(answer)]

    with pytest.raises(TransferError):
        place.fetch()


def test_the_first_address_that_takes_the_connection_is_used(place):
    place.names["music.example.org"] = ["127.0.0.9", "127.0.0.1"]
    networks = (ipaddress.ip_network("127.0.0.0/8"),)
    url = f"http://music.example.org:{place.server.port}/a.mp3"

    place.fetcher(networks=networks).fetch_file(WantedFile(url=url, destination=place.target))

    (headers,) = place.server.asked("/a.mp3")
    assert headers["host"] == f"music.example.org:{place.server.port}"


def test_the_connection_goes_to_the_address_that_was_checked_and_to_no_later_answer(place):
    answers = [["127.0.0.1"], ["127.0.0.9"], ["127.0.0.9"]]
    rules = AddressRules(ports=frozenset({place.server.port}), allowed_networks=LOOPBACK)
    guard = AddressGuard(rules, resolve=lambda _host, _port: answers.pop(0))
    url = f"http://rebound.example.org:{place.server.port}/a.mp3"

    Fetcher(guard, limits=FetchLimits(max_bytes=1 << 20)).fetch_file(
        WantedFile(url=url, destination=place.target)
    )

    assert len(answers) == 2
    assert place.target.read_bytes() == BODY


def test_an_inward_address_is_never_connected_to(place):
    with pytest.raises(InvalidUrlError):
        place.fetcher(networks=()).fetch_file(place.wanted())
    place.names["inward.example.org"] = ["127.0.0.1"]
    url = f"http://inward.example.org:{place.server.port}/a.mp3"
    with pytest.raises(InvalidUrlError):
        place.fetcher(networks=()).fetch_text(url, max_bytes=1_000)

    assert place.server.requests == []


def test_proxies_of_the_environment_are_not_used(place, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")

    place.fetch()
    assert place.target.read_bytes() == BODY


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed(place, code):
    place.server.replies["/b"] = [redirect("/a.mp3", code)]

    place.fetch("/b")
    assert place.target.read_bytes() == BODY


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2:{port}/secret",
        "http://localhost:{port}/secret",
        "http://[::1]:{port}/secret",
        "http://127.1:{port}/secret",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "http://user@127.0.0.1:{port}/secret",
        "//0.0.0.0:{port}/secret",
        "http://127.0.0.1:1/secret",
        "http://inward.example.org/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
    ],
)
def test_a_redirect_to_where_nothing_is_fetched_from_is_refused(place, location):
    place.names["inward.example.org"] = ["192.168.0.1"]
    place.server.replies["/b"] = [redirect(location.format(port=place.server.port))]

    with pytest.raises(InvalidUrlError):
        place.fetch("/b")
    assert [path for path, _ in place.server.requests] == ["/b"]
    assert place.names_there == []


def test_redirects_in_a_circle_end(place):
    place.server.replies["/a"] = [redirect("/b")] * 10
    place.server.replies["/b"] = [redirect("/a")] * 10

    with pytest.raises(TransferError, match="more than 5 times") as failed:
        place.fetch("/a")
    assert failed.value.is_final
    assert len(place.server.requests) == 6


def test_cookies_are_not_kept_from_one_hop_to_the_next(place):
    place.server.replies["/b"] = [status(302, Location="/a.mp3", Set_Cookie="a=b")]

    place.fetch("/b")

    assert "cookie" not in place.server.asked("/a.mp3")[0]


def test_a_text_that_is_too_long_is_not_read(place):
    with pytest.raises(TooLargeError):
        place.fetcher().fetch_text(f"{place.server.url}/a.mp3", max_bytes=1_000)


class Tls:
    """A certificate of one name, for both sides."""

    def __init__(self, folder: Path, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(datetime.now(UTC) - timedelta(days=1))
            .not_valid_after(datetime.now(UTC) + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        path = folder / "tls.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        self.names: list[str | None] = []
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(path)
        self.server.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self.client = ssl.create_default_context(cafile=str(path))


@pytest.fixture
def tls(place: Site, tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """TLS for music.example.org, which is on loopback."""
    made = Tls(tmp_path_factory.mktemp("tls"), "music.example.org")
    place.server.use_tls(made.server)
    place.certificates = made.client
    place.names["music.example.org"] = ["127.0.0.1"]
    place.names["other.example.org"] = ["127.0.0.1"]
    return made


def fetch_from(place: Site, host: str, path: str = "/a.mp3") -> int:
    url = f"https://{host}:{place.server.port}{path}"
    return place.fetcher().fetch_file(WantedFile(url=url, destination=place.target))


def test_over_tls_the_name_is_told_and_checked_although_the_connection_goes_to_the_number(
    place, tls
):
    assert fetch_from(place, "music.example.org") == len(BODY)
    assert tls.names == ["music.example.org"]
    assert place.server.asked("/a.mp3")[0]["host"] == f"music.example.org:{place.server.port}"


def test_a_certificate_of_another_name_is_refused(place, tls):
    with pytest.raises(TransferError, match="cannot be reached"):
        fetch_from(place, "other.example.org")
    assert place.server.requests == []


def test_a_redirect_to_another_name_at_the_same_address_is_a_new_connection(place, tls):
    place.server.replies["/b"] = [redirect(f"https://other.example.org:{place.server.port}/a.mp3")]

    with pytest.raises(TransferError, match="cannot be reached"):
        fetch_from(place, "music.example.org", "/b")
    assert tls.names == ["music.example.org", "other.example.org"]


def test_a_redirect_out_of_tls_is_refused(place, tls):
    place.server.replies["/b"] = [redirect(f"http://music.example.org:{place.server.port}/a.mp3")]

    with pytest.raises(InvalidUrlError, match="https"):
        fetch_from(place, "music.example.org", "/b")
