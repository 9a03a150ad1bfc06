"""Sources of albums: HTTP providers configured by a URL template, and plain URLs."""

import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from string import Formatter
from urllib.parse import quote

from stackroom.api import InputError
from stackroom.api.server import (
    AddressGuard,
    AddressRules,
    Clock,
    FetchedText,
    Fetcher,
    FetchLimits,
    InvalidUrlError,
    Resolve,
)
from stackroom_catalogues.music.downloads import manifest

BY_URL = "url"  # name of the provider for URLs in requests
PLACEHOLDERS = frozenset({"artist", "album"})
PROVIDER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """How the network is reached; tests have their own."""

    limits: FetchLimits
    resolve: Resolve | None = None
    certificates: ssl.SSLContext | None = None
    clock: Clock = field(default_factory=Clock)

    def guard(self, rules: AddressRules) -> AddressGuard:
        """Return a guard that checks addresses by these rules."""
        return AddressGuard(rules, resolve=self.resolve)

    def fetcher(self, guard: AddressGuard) -> Fetcher:
        """Return a fetcher for the addresses that the guard allows."""
        return Fetcher(guard, limits=self.limits, certificates=self.certificates, clock=self.clock)


class HttpProvider:
    """A server with a manifest for each album, at a URL made from a template.

    For example 'https://music.example.org/{artist}/{album}.json'.
    """

    def __init__(self, name: str, template: str, rules: AddressRules, outside: Outside) -> None:
        self._placeholders = _require_template(name, template)
        self._template = template
        self._guard = outside.guard(rules)
        self.fetcher = outside.fetcher(self._guard)
        try:
            self.require_request(
                manifest.DownloadRequest(provider=name, artist="artist", album="album")
            )
        except InvalidUrlError as error:
            raise InputError(f"setting 'downloads.providers.{name}': {error.message}") from error

    def require_request(self, request: manifest.DownloadRequest) -> None:
        """Refuse a URL, and a request without the names that the template needs."""
        if request.url is not None:
            raise InputError(
                f"'{request.provider}' takes artist and album; leave out 'provider' to give a 'url'"
            )
        self._guard.require_well_formed(self._url(request))

    def resolve(
        self, request: manifest.DownloadRequest, *, is_cancelled: Callable[[], bool]
    ) -> manifest.DownloadedAlbum:
        """Return the files that the server's manifest lists."""
        fetched = self.fetcher.fetch_text(
            self._url(request), max_bytes=manifest.MANIFEST_BYTES, is_cancelled=is_cancelled
        )
        return _listed(fetched, request, self._guard)

    def _url(self, request: manifest.DownloadRequest) -> str:
        given = {"artist": request.artist, "album": request.album}
        missing = " and ".join(repr(name) for name in self._placeholders if not given[name])
        if missing:
            raise InputError(
                f"'{request.provider}' needs {missing}; or give a 'url' instead, and no 'provider'"
            )
        for name, value in given.items():
            if value and not value.strip("."):  # would lead to a parent folder
                raise InputError(
                    f"'{name}' is '{value[:60]}', dots alone; give a name with a letter or digit"
                )
        return self._template.format_map(
            {name: quote(value, safe="") for name, value in given.items() if value}
        )


class UrlProvider:
    """URLs in requests: of an audio file, or of a manifest."""

    def __init__(self, rules: AddressRules, outside: Outside) -> None:
        self._guard = outside.guard(rules)
        self.fetcher = outside.fetcher(self._guard)

    def require_request(self, request: manifest.DownloadRequest) -> None:
        """Refuse a request without a URL, or with one that is never allowed."""
        if request.url is None:
            raise InputError("'url' is missing; give the address of a track or manifest")
        self._guard.require_well_formed(request.url)

    def resolve(
        self, request: manifest.DownloadRequest, *, is_cancelled: Callable[[], bool]
    ) -> manifest.DownloadedAlbum:
        """Return the one file at the URL, or the files that the manifest there lists."""
        url = request.url or ""
        name = manifest.last_component(url)
        suffix = manifest.suffix_of(name)
        if suffix in manifest.AUDIO_SUFFIXES:
            file = manifest.AlbumFile(
                name=f"{manifest.component(name[: -len(suffix)])}{suffix}", url=url
            )
            return manifest.album_of(
                request.artist or manifest.NAMELESS, request.album or manifest.NAMELESS, [file]
            )
        fetched = self.fetcher.fetch_text(
            url, max_bytes=manifest.MANIFEST_BYTES, is_cancelled=is_cancelled
        )
        album = _listed(fetched, request, self._guard)
        return replace(
            album, artist=request.artist or album.artist, title=request.album or album.title
        )


DownloadProvider = HttpProvider | UrlProvider
"""Lists and fetches the files of a request. Safe to use from several threads.

`require_request` refuses what can never succeed, without network. `resolve` uses the network, and
raises `TransferError` where that fails. `fetcher` fetches files under the address rules of the
provider.
"""


def build_providers(
    templates: Mapping[str, str], *, rules: AddressRules, outside: Outside
) -> dict[str, DownloadProvider]:
    """Return the providers by name, including the one for URLs."""
    configured = {
        name: HttpProvider(name, template, rules, outside) for name, template in templates.items()
    }
    return {**configured, BY_URL: UrlProvider(rules, outside)}


def _listed(
    fetched: FetchedText, request: manifest.DownloadRequest, guard: AddressGuard
) -> manifest.DownloadedAlbum:
    """Return the album of a manifest; refuse one with files at URLs that are never allowed."""
    album = manifest.read_manifest(fetched.body, url=fetched.url, request=request)
    for file in album.files:
        guard.require_well_formed(file.url)
    return album


def _require_template(name: str, template: str) -> list[str]:
    """Return the placeholders of a template; refuse unknown ones, and others than in path or
    query.
    """
    setting = f"setting 'downloads.providers.{name}'"
    if not PROVIDER_NAME.fullmatch(name) or name == BY_URL:
        raise InputError(
            f"setting 'downloads.providers': '{name[:80]}' is not a valid name; use lower-case"
            " letters, digits, - and _"
        )
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InputError(
            f"{setting}: {error}; write it as https://HOST/{{artist}}/{{album}}.json"
        ) from None
    scheme, _, rest = (parts[0][0] if parts else "").partition("://")
    if scheme not in ("http", "https") or "/" not in rest:
        raise InputError(f"{setting} must begin with http(s)://HOST/, without a placeholder")
    found = [placeholder for _, placeholder, _, _ in parts if placeholder is not None]
    is_plain = all(not form and not conversion for _, _, form, conversion in parts)
    if not is_plain or not set(found) <= PLACEHOLDERS or "album" not in found:
        raise InputError(
            f"{setting} needs {{album}}, may have {{artist}}, and nothing else in braces"
        )
    return found
