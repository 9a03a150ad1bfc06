"""Where albums come from: the port, the HTTP provider that is configured by a template, and plain addresses."""

import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Protocol
from urllib.parse import quote

from pinakes.api import InputError, InvalidUrlError
from pinakes.api.server import AddressGuard, AddressRules, Clock, FetchedText, Fetcher, FetchLimits, Resolve
from pinakes_catalogues.music.downloads.items import Album, AlbumFile, DownloadRequest
from pinakes_catalogues.music.downloads.manifest import MANIFEST_BYTES, album_of, read_manifest
from pinakes_catalogues.music.downloads.names import (
    AUDIO_SUFFIXES,
    NAMELESS,
    file_component,
    last_component,
    suffix_of,
)

BY_URL = "url"
"""The provider of what stands at an address that somebody gives."""
PLACEHOLDERS = frozenset({"artist", "album"})
PROVIDER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class DownloadProvider(Protocol):
    """Knows which files a request comes to, and how they are fetched. Safe to use from several threads.

    `require_request` refuses what can never be had, without asking anybody. `resolve` asks
    the outside; it raises `TransferError` where that fails.
    """

    @property
    def fetcher(self) -> Fetcher:
        """What fetches the files, by the rules for this provider's addresses."""

    def require_request(self, request: DownloadRequest) -> None:
        """Refuse a request that cannot be had here."""

    def resolve(self, request: DownloadRequest, *, is_cancelled: Callable[[], bool]) -> Album:
        """Return the files that a request comes to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpProviderSpec:
    """A server that has a manifest for each album, at an address made by a template."""

    manifest: str
    """For example 'https://music.example.org/{artist}/{album}.json'."""
    rules: AddressRules = field(default_factory=AddressRules)
    """Where its files may be beside public addresses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """How the outside is reached; tests have their own."""

    limits: FetchLimits
    resolve: Resolve | None = None
    certificates: ssl.SSLContext | None = None
    clock: Clock = field(default_factory=Clock)

    def guard(self, rules: AddressRules) -> AddressGuard:
        """Return what checks addresses by these rules."""
        return AddressGuard(rules, resolve=self.resolve)

    def fetcher(self, guard: AddressGuard) -> Fetcher:
        """Return what fetches from where the guard allows."""
        return Fetcher(guard, limits=self.limits, certificates=self.certificates, clock=self.clock)


class HttpProvider:
    """Implements `DownloadProvider` by the manifests of one server."""

    def __init__(self, name: str, spec: HttpProviderSpec, outside: Outside) -> None:
        self._template = _require_template(name, spec.manifest)
        self._guard = outside.guard(spec.rules)
        self.fetcher = outside.fetcher(self._guard)
        _require_example(name, self._guard, self._url(DownloadRequest(provider=name, artist="artist", album="album")))

    def require_request(self, request: DownloadRequest) -> None:
        """Refuse a request without an album, or without an artist where the server needs one."""
        if request.url is not None:
            raise InputError(f"'{request.provider}' is asked by artist and album; leave out 'provider' to give a 'url'")
        self._guard.require_well_formed(self._url(request))

    def resolve(self, request: DownloadRequest, *, is_cancelled: Callable[[], bool]) -> Album:
        """Return the files that the server's manifest lists."""
        fetched = self.fetcher.fetch_text(self._url(request), max_bytes=MANIFEST_BYTES, is_cancelled=is_cancelled)
        return _listed(fetched, request, self._guard)

    def _url(self, request: DownloadRequest) -> str:
        given = {"artist": request.artist, "album": request.album}
        missing = [name for name in _placeholders(self._template) if not given[name]]
        if missing:
            needed = " and ".join(repr(name) for name in missing)
            raise InputError(f"'{request.provider}' needs {needed}; or give a 'url' instead, and no 'provider'")
        values = {name: _segment(name, value) for name, value in given.items() if value}
        return self._template.format_map(values)


class UrlProvider:
    """Implements `DownloadProvider` by addresses that people give: of a piece of music, or of a manifest."""

    def __init__(self, rules: AddressRules, outside: Outside) -> None:
        self._guard = outside.guard(rules)
        self.fetcher = outside.fetcher(self._guard)

    def require_request(self, request: DownloadRequest) -> None:
        """Refuse a request without an address, or with one that can never be fetched from."""
        self._guard.require_well_formed(_require_url(request))

    def resolve(self, request: DownloadRequest, *, is_cancelled: Callable[[], bool]) -> Album:
        """Return the one file that the address names, or those that the manifest there lists."""
        url = _require_url(request)
        name = last_component(url)
        suffix = suffix_of(name)
        if suffix in AUDIO_SUFFIXES:
            file = AlbumFile(name=file_component(name[: -len(suffix)], suffix), url=url)
            return album_of(request.artist or NAMELESS, request.album or NAMELESS, [file])
        fetched = self.fetcher.fetch_text(url, max_bytes=MANIFEST_BYTES, is_cancelled=is_cancelled)
        album = _listed(fetched, request, self._guard)
        return Album(artist=request.artist or album.artist, title=request.album or album.title, files=album.files)


def build_providers(
    specs: Mapping[str, HttpProviderSpec], *, url_rules: AddressRules, outside: Outside
) -> dict[str, DownloadProvider]:
    """Return the providers by name, with the one of addresses that people give."""
    configured = {name: HttpProvider(name, spec, outside) for name, spec in specs.items()}
    return {**configured, BY_URL: UrlProvider(url_rules, outside)}


def _listed(fetched: FetchedText, request: DownloadRequest, guard: AddressGuard) -> Album:
    """Return the album that a manifest lists; refuse one with files at addresses that can never be fetched from."""
    album = read_manifest(fetched.body, url=fetched.url, request=request)
    for file in album.files:
        guard.require_well_formed(file.url)
    return album


def _require_url(request: DownloadRequest) -> str:
    if request.url is None:
        raise InputError("'url' is missing")
    return request.url


def _require_template(name: str, template: str) -> str:
    """Return a template that has the placeholders that there are, in path or query."""
    setting = f"setting 'downloads.providers.{name}'"
    if not PROVIDER_NAME.fullmatch(name) or name == BY_URL:
        raise InputError(f"setting 'downloads.providers': '{name[:80]}' cannot be the name of a provider")
    try:
        parts = list(Formatter().parse(template))
        found = _placeholders(template)
    except ValueError as error:
        raise InputError(f"{setting}: {error}") from None
    scheme, _, rest = (parts[0][0] if parts else "").partition("://")
    if scheme not in ("http", "https") or "/" not in rest:
        raise InputError(f"{setting} must begin with http(s)://HOST/, without a placeholder")
    is_plain = all(not form and not conversion for _, _, form, conversion in parts)
    if not is_plain or not set(found) <= PLACEHOLDERS or "album" not in found:
        raise InputError(f"{setting} has {{album}} and may have {{artist}}, and nothing else in braces")
    return template


def _require_example(name: str, guard: AddressGuard, url: str) -> None:
    try:
        guard.require_well_formed(url)
    except InvalidUrlError as error:
        raise InputError(f"setting 'downloads.providers.{name}': {error.message}") from error


def _placeholders(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


def _segment(name: str, value: str) -> str:
    """Return a value as a part of a path; one that leads up is refused."""
    if value.strip(".") == "":
        raise InputError(f"'{name}' must have more than dots")
    return quote(value, safe="")
