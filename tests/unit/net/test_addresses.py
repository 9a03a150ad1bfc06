"""Which addresses may be fetched from; name servers are the test's own, so nothing here asks the
network.
"""

import ipaddress
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError, InvalidUrlError, UnavailableError
from stackroom.net import addresses
from stackroom.net.addresses import AddressGuard, AddressRules

pytestmark = pytest.mark.row("Z8")

PUBLIC = "93.184.215.14"
KNOWN: dict[str, Any] = json.loads(
    Path(__file__).with_name("addresses.json").read_text(encoding="utf-8")
)
"""IP addresses that are inward and public, and URLs that are odd and good, these with their
parts.
"""


def hostile_urls() -> list[Any]:
    path = (
        Path(__file__).resolve().parents[4] / "shared" / "data" / "hostile" / "http_requests.json"
    )
    if not path.is_file():
        return [pytest.param("", marks=pytest.mark.skip("the real data sets are not here"))]
    return [
        case["url"]
        for case in json.loads(path.read_text(encoding="utf-8"))["ssrf_urls_for_downloads_action"]
    ]


def answering(*answers: str) -> Callable[[str, int], Sequence[str]]:
    return lambda _host, _port: answers


def guard(*answers: str, **rules: object) -> AddressGuard:
    return AddressGuard(AddressRules(**rules), resolve=answering(*answers or (PUBLIC,)))


@pytest.mark.parametrize("url", hostile_urls())
def test_every_hostile_address_is_refused(url):
    with pytest.raises(InvalidUrlError) as refused:
        guard().require(url)

    assert (refused.value.code, refused.value.http_status) == ("invalid_url", 400)
    assert isinstance(refused.value, InputError)


@pytest.mark.parametrize("url", KNOWN["odd"])
def test_an_odd_address_is_refused_whatever_its_name_resolves_to(url):
    with pytest.raises(InvalidUrlError):
        guard().require(url)
    with pytest.raises(InvalidUrlError):
        guard().require_well_formed(url)


def test_a_backslash_is_named_where_there_is_one():
    with pytest.raises(InvalidUrlError, match=r"cannot have a backslash; write '/'"):
        guard().require_well_formed("http://93.184.215.14\\@10.0.0.1/")


@pytest.mark.parametrize(("url", "parts"), KNOWN["good"].items())
def test_a_plain_address_is_taken_apart(url, parts):
    place = guard().require(url)

    assert [place.scheme, place.host, place.port, place.target] == parts


@pytest.mark.parametrize("address", KNOWN["inward"])
def test_an_inward_address_is_refused_resolved_alone_or_among_public_ones_and_written_out(address):
    host = f"[{address}]" if ":" in address else address
    for answers, asked in (
        ([address], "example.org"),
        ([PUBLIC, address, "1.1.1.1"], "example.org"),
        ([], host),
    ):
        with pytest.raises(InvalidUrlError):
            guard(*answers).require(f"http://{asked}/")


@pytest.mark.parametrize("address", KNOWN["public"])
def test_a_public_address_is_pinned(address):
    assert guard(address).require("https://example.org/").addresses == (
        ipaddress.ip_address(address),
    )


@pytest.mark.parametrize("address", ["fe80::1%eth0", "2606:4700::1%eth0", "nonsense", "1.1.1", ""])
def test_an_answer_that_is_no_plain_address_is_refused(address):
    with pytest.raises(InvalidUrlError):
        guard(address).require("https://example.org/")


@pytest.mark.parametrize(
    "error", [OSError("no such name"), TimeoutError(), UnicodeError("label too long")]
)
def test_a_name_without_an_answer_is_not_the_callers_fault(error):
    def fail(_host: str, _port: int) -> list[str]:
        raise error

    with pytest.raises(UnavailableError, match=r"example\.org"):
        AddressGuard(AddressRules(), resolve=fail).require("https://example.org/")


def test_a_name_server_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(addresses, "RESOLVE_TIMEOUT_S", 0.05)
    released = threading.Event()

    def hang(_host: str, _port: int) -> list[str]:
        released.wait(30)
        return [PUBLIC]

    with pytest.raises(UnavailableError):
        AddressGuard(AddressRules(), resolve=hang).require("https://example.org/")
    released.set()


def test_what_is_allowed_by_name_network_or_port_is_taken_and_nothing_else():
    networks = (ipaddress.ip_network("10.1.0.0/16"),)
    rules = AddressRules(
        ports=frozenset({80, 443, 8080}),
        allowed_hosts=frozenset({"nas"}),
        allowed_networks=networks,
    )
    inside = AddressGuard(
        rules, resolve=lambda host, _port: {"nas": ["192.168.0.5"]}.get(host, ["10.1.2.3"])
    )

    assert inside.require("http://nas:8080/").addresses == (ipaddress.ip_address("192.168.0.5"),)
    assert inside.require("http://music.example.org/").addresses == (
        ipaddress.ip_address("10.1.2.3"),
    )
    assert inside.require("http://10.1.0.1/").host == "10.1.0.1"
    for url in (
        "http://nas:22/",
        "http://192.168.0.5/",
        "http://10.2.0.1/",
        "http://other/",
        "http://[::ffff:a01:1]/",
    ):
        with pytest.raises(InvalidUrlError):
            inside.require(url)


@pytest.mark.parametrize(
    "location", ["http://example.org/", "HTTP://example.org/", "ftp://example.org/"]
)
def test_a_redirect_never_leads_out_of_tls(location):
    checked = guard()

    with pytest.raises(InvalidUrlError):
        checked.follow(checked.require("https://example.org/"), location)


def test_the_host_header_names_the_port_only_where_it_is_unusual():
    checked = guard(ports=frozenset({80, 443, 8080}))
    assert checked.require("http://example.org/").authority == "example.org"
    assert checked.require("https://example.org:8080/").authority == "example.org:8080"
    assert checked.require("https://[2606:4700::1]:8080/a").url == "https://[2606:4700::1]:8080/a"


def test_rules_are_read_from_settings():
    rules = AddressRules.of(
        hosts=["NAS"], networks=["10.0.0.0/8", "fd00::/8"], ports=[8080, "8096"]
    )

    assert rules.ports == {80, 443, 8080, 8096}
    assert rules.allowed_hosts == {"nas"}
    assert rules.allowed_networks == (
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("fd00::/8"),
    )
    assert AddressRules.of() == AddressRules()


@pytest.mark.parametrize(
    "wrong",
    [
        {"networks": ["10.0.0.1/8"]},
        {"networks": ["nas"]},
        {"ports": [0]},
        {"ports": [1 << 16]},
        {"ports": ["x"]},
    ],
)
def test_rules_that_say_nothing_sensible_are_refused(wrong):
    with pytest.raises(InputError):
        AddressRules.of(**wrong)
