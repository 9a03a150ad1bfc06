"""SSRF protection: only URLs with public or explicitly allowed addresses may be fetched.

A URL is parsed strictly, its host resolved once, and every IP address of it is checked. Clients
connect to the checked addresses (`ResolvedUrl.addresses`) and never to the name, so that DNS
rebinding cannot lead elsewhere. A redirect is checked like a new URL.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar
from urllib.parse import urljoin

from stackroom.background.threads import start_thread
from stackroom.errors import InputError, InvalidUrlError, UnavailableError
from stackroom.frozen import frozen

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Sequence[str]]
"""Resolves a host name to its IP addresses; raises OSError if it has none."""
ValueT = TypeVar("ValueT")

LONGEST_URL = 2_000
LONGEST_HOST = 253
RESOLVE_TIMEOUT_S = 5.0
USUAL_PORTS = {"http": 80, "https": 443}
MOST_PORTS = 65_535
PORT = re.compile(r"[1-9][0-9]{0,4}")
URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
    r"(?P<target>(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/\[\]-]|%[0-9A-Fa-f]{2})*)?"
    r"(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\[\]-]|%[0-9A-Fa-f]{2})*)?)"
    r"(?:#[!-\[\]-~]*)?"
)
LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# a last label that some parsers read as part of an IPv4 address
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
INWARD = "the address leads to a network that is not public"
INWARD_NAMES = tuple(
    str.split(".localhost .local .localdomain .internal .intranet .lan .home.arpa .onion .invalid")
)
"""Host names and suffixes of internal or unroutable hosts."""

INWARD_IPV4_TEXT = (
    "192.0.0.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.175.48.0/24 224.0.0.0/4"
)
CLOUD_METADATA = "168.63.129.16/32"  # a service of a cloud at a public address
INWARD_IPV4 = tuple(map(ipaddress.IPv4Network, (CLOUD_METADATA, *INWARD_IPV4_TEXT.split())))
"""Networks that are not public although `ipaddress` treats them, or a part of them, as global."""
PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
INWARD_IPV6 = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2002::/16", "2620:4f:8000::/48", "3fff::/20"))
)
"""Among them Teredo, benchmarking and identifiers that are no addresses (2001::/23), and 6to4
(2002::/16).
"""
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
ISATAP_IDS = frozenset({0x00005EFE, 0x02005EFE})


@frozen
class AddressRules:
    """Exceptions from "public addresses at the usual ports only"."""

    ports: frozenset[int] = frozenset(USUAL_PORTS.values())
    allowed_hosts: frozenset[str] = frozenset()
    """Hosts, as written in the URL and in lower case, that may resolve to any address."""
    # networks that are allowed although they are not public
    allowed_networks: tuple[Network, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        hosts: Sequence[str] = (),
        networks: Sequence[str] = (),
        ports: Sequence[int | str] = (),
        url: str = "",
    ) -> "AddressRules":
        """Build the rules from settings, and a URL whose host and port are allowed as well; the
        ports are in addition to the usual ones.
        """
        if chosen := URL.fullmatch(url):
            hosts = [*hosts, chosen["host"].strip("[]")]
            ports = [*ports, *filter(None, [chosen["port"]])]
        return cls(
            ports=frozenset({*USUAL_PORTS.values(), *map(_port, ports)}),
            allowed_hosts=frozenset(host.lower() for host in hosts),
            allowed_networks=tuple(_network(text) for text in networks),
        )


@frozen
class ResolvedUrl:
    """A checked URL, and the IP addresses to connect to."""

    scheme: str
    host: str
    port: int
    target: str  # path and query
    addresses: tuple[Address, ...]

    @property
    def authority(self) -> str:
        """Host and port, as in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL as text."""
        return f"{self.scheme}://{self.authority}{self.target}"


class AddressGuard:
    """Checks URLs by rules. Thread-safe."""

    def __init__(self, rules: AddressRules, *, resolve: Resolve | None = None) -> None:
        self._rules = rules
        self._resolve = resolve or resolve_name

    def require_well_formed(self, url: str) -> None:
        """Refuse a URL that can be refused without a DNS lookup."""
        _, host, _, _ = self._parsed(url)
        if (address := _find_address(host)) is not None:
            self._require_allowed(host, [address])

    def require(self, url: str) -> ResolvedUrl:
        """Resolve a URL; refuse one that is not allowed. UnavailableError: its name cannot be
        resolved.
        """
        scheme, host, port, target = self._parsed(url)
        addresses = self._addresses(host, port)
        self._require_allowed(host, addresses)
        return ResolvedUrl(scheme=scheme, host=host, port=port, target=target, addresses=addresses)

    def follow(self, place: ResolvedUrl, location: str) -> ResolvedUrl:
        """Resolve a redirect; refuse a target that is not allowed, and one from https to http."""
        url = join_url(place.url, location) if _is_plain(location) else location
        if place.scheme == "https" and not url.lower().startswith("https://"):
            raise InvalidUrlError(
                f"{place.host} redirects from https to http; give an address that stays on https"
            )
        return self.require(url)

    def _parsed(self, url: str) -> tuple[str, str, int, str]:
        """Return scheme, host, port and target of a well-formed URL."""
        if len(url) > LONGEST_URL:
            raise InvalidUrlError(
                f"the URL is longer than {LONGEST_URL:,} characters; give a shorter one"
            )
        if "\\" in url:
            raise InvalidUrlError(
                "a URL cannot have a backslash; write '/' between its parts, or %5C in a name"
            )
        if not _is_plain(url):
            raise InvalidUrlError(
                "a URL has printable ASCII characters only; write others as %XX or xn--…"
            )
        found = URL.fullmatch(url)
        scheme = found["scheme"].lower() if found else url.partition(":")[0].lower()
        if found is None or scheme not in USUAL_PORTS:
            raise InvalidUrlError(
                "only URLs of the form http(s)://HOST/PATH, without user information, can be"
                " fetched"
            )
        port = int(found["port"] or USUAL_PORTS[scheme])
        if port not in self._rules.ports:
            allowed = ", ".join(map(str, sorted(self._rules.ports)))
            raise InvalidUrlError(f"port {port} is not allowed; allowed: {allowed}")
        target = found["target"]
        return (
            scheme,
            self._host(found["host"].lower()),
            port,
            target if target.startswith("/") else f"/{target}",
        )

    def _host(self, host: str) -> str:
        """Return the host name or IP address, without brackets; refuse ambiguous forms."""
        if host.startswith("["):
            problem = "the text in brackets is not an IPv6 address; one is written as [2001:db8::1]"
            return str(_address(ipaddress.IPv6Address, host[1:-1], problem))
        if NUMBER.fullmatch(host.rpartition(".")[2]):
            problem = "an IPv4 address is written as four decimal numbers, as in 192.0.2.1"
            return str(_address(ipaddress.IPv4Address, host, problem))
        if host in self._rules.allowed_hosts:
            return host
        _require_public_name(host)
        return host

    def _addresses(self, host: str, port: int) -> tuple[Address, ...]:
        if (literal := _find_address(host)) is not None:
            return (literal,)
        try:
            found = _within(RESOLVE_TIMEOUT_S, lambda: self._resolve(host, port))
        except (OSError, UnicodeError) as error:
            raise UnavailableError(
                f"the name '{host}' cannot be resolved; check its spelling, or try again later"
            ) from error
        if not found:
            raise UnavailableError(
                f"the name '{host}' has no address; check its spelling, or try again later"
            )
        return tuple(_resolved(host, one) for one in dict.fromkeys(found))

    def _require_allowed(self, host: str, addresses: Sequence[Address]) -> None:
        """Refuse a host if any of its addresses is not allowed."""
        if host in self._rules.allowed_hosts:
            return
        for address in addresses:
            is_named = any(address in network for network in self._rules.allowed_networks)
            if not is_named and not is_public(address):
                raise InvalidUrlError(INWARD)


def is_public(address: Address) -> bool:
    """Return whether an IP address is public, and embeds no other address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not any(address in network for network in INWARD_IPV4)
    if address in NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    is_tunnel = (int(address) >> 32) & 0xFFFFFFFF in ISATAP_IDS
    if address not in PUBLIC_IPV6 or is_tunnel or not address.is_global:
        return False
    return not any(address in network for network in INWARD_IPV6)


def resolve_name(host: str, port: int) -> list[str]:
    """Resolve a host name by the system's resolver."""
    return [
        str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    ]


def _port(written: int | str) -> int:
    text = str(written)
    if not (PORT.fullmatch(text) and int(text) <= MOST_PORTS):
        raise InputError(f"'{text[:60]}' is not a port; a number from 1 to {MOST_PORTS} is right")
    return int(text)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InputError(
            f"'{text[:60]}' is not a network ({error}); one is written as 10.0.0.0/8"
        ) from None


def _is_plain(text: str) -> bool:
    """Return whether a text has printable ASCII only: no spaces, control characters or
    backslashes.
    """
    return all("!" <= character <= "~" and character != "\\" for character in text)


def join_url(base: str, location: str) -> str:
    """Resolve an absolute or relative URL that a server sent against its base."""
    try:
        return urljoin(base, location)
    except ValueError as error:
        raise InvalidUrlError(
            f"the server names '{location[:80]}', which is not a URL ({error}); ask its publisher"
        ) from None


def _find_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _address(read: Callable[[str], Address], text: str, problem: str) -> Address:
    try:
        return read(text)
    except ValueError:
        raise InvalidUrlError(problem) from None


def _require_public_name(host: str) -> None:
    labels = host.split(".")
    if len(host) > LONGEST_HOST or not all(LABEL.fullmatch(label) for label in labels):
        raise InvalidUrlError(
            "the host is not a plain name or IP address; one is written as example.org"
        )
    if len(labels) == 1 or f".{host}".endswith(INWARD_NAMES):
        raise InvalidUrlError(
            f"'{host}' is not a public name; give a host on the public internet, as example.org"
        )


def _resolved(host: str, text: str) -> Address:
    """Parse an address from DNS; refuse an address with a zone, which is link-local."""
    problem = f"the name '{host}' resolves to '{text[:60]}', which is not an IP address"
    address = _address(ipaddress.ip_address, text, problem)
    if getattr(address, "scope_id", None) is not None:
        raise InvalidUrlError(INWARD)
    return address


def _within(seconds: float, work: Callable[[], ValueT]) -> ValueT:
    """Run a blocking call, or raise TimeoutError; the system's resolver has no time-out of its
    own.
    """
    future: Future[ValueT] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    start_thread("resolve", run)
    return future.result(timeout=seconds)


REDACTED = "[redacted]"
LONGEST = 2_000  # the longest text that is shown; it bounds the backtracking of the patterns
SECRET_NAME = re.compile(
    r"pass(word|wd|phrase)|pass$|pwd|secret|token|api[_-]?key|private[_-]?key|[_-]key$|credential|authori[sz]ation|cookie"
    r"|bearer",
    re.IGNORECASE,
)
"""Names of arguments and settings whose values are secrets."""
SECRET_WORDS = r"key|secret|pass|pwd|token|credential|auth|signature"
"""Parts of the names of URL parameters whose values are secrets; stricter than for arguments, one
of which may be `author`.
"""
SECRET_PARAMETERS = r"sig|code"  # further names of secret URL parameters, matched as a whole
_USERINFO = re.compile(r"(?<=://)\S*(?=@)")
"""Up to the last @: a password may contain any character, so too much is redacted rather than too
little.
"""
_PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#?\s]+)=([^&;#\s]+)")
_SECRET_PARAMETER = re.compile(rf"{SECRET_WORDS}|^(?:{SECRET_PARAMETERS})$", re.IGNORECASE)


def shown_address(address: str) -> str:
    """Redact user information and secret parameters in a URL, or in a text that contains one."""
    return _PARAMETER.sub(_without_secret, _USERINFO.sub(REDACTED, address[:LONGEST]))


def _without_secret(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}={REDACTED}" if _SECRET_PARAMETER.search(parameter[1]) else parameter[0]


def is_loopback(host: str) -> bool:
    """Tell whether a host, such as the address of a listener, is reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
