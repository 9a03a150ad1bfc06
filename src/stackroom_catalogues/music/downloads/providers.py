"""Sources of albums: HTTP providers configured by a URL template, and plain URLs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from string import Formatter
from urllib.parse import quote

from stackroom.api import InputError, NotFoundError
from stackroom.api.server import AddressGuard, Fetcher, InvalidUrlError, did_you_mean
from stackroom_catalogues.music.downloads import manifest

BY_URL = "url"  # name of the provider for URLs in requests
PLACEHOLDERS = frozenset({"artist", "album"})
PROVIDER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class AlbumProviders:
    """Servers with a manifest for each album, at a URL made from a template, and URLs in requests:
    of an audio file, or of a manifest. Safe to use from several threads.

    A template is, for example, 'https://music.example.org/{artist}/{album}.json'.
    """

    def __init__(self, templates: Mapping[str, str], guard: AddressGuard, fetcher: Fetcher) -> None:
        self._templates = templates
        self._guard = guard
        self._fetcher = fetcher
        for name, template in templates.items():
            _require_template(name, template)
            example = manifest.DownloadRequest(provider=name, artist="artist", album="album")
            try:
                self.require_request(example)
            except InvalidUrlError as error:
                raise InputError(
                    f"setting 'downloads.providers.{name}': {error.message}"
                ) from error

    @property
    def names(self) -> list[str]:
        """The names of the configured providers."""
        return list(self._templates)

    def choose(self, provider: str | None, url: str | None) -> str:
        """Return the provider that a request means; refuse one that is not known."""
        name = provider or (BY_URL if url is not None else None)
        known = ", ".join(self._templates)
        if name is None and len(self._templates) == 1:
            return known
        if name is None:
            choices = f"one of {known}" if known else "none is configured"
            raise InputError(f"'provider' is missing ({choices}); or give a 'url'")
        if name not in (*self._templates, BY_URL):
            near = did_you_mean(name, self.names)
            raise NotFoundError(f"no provider '{name[:80]}'{near}; providers: {known or 'none'}")
        return name

    def require_request(self, request: manifest.DownloadRequest) -> None:
        """Refuse, without network, a request that can never succeed: one without what its provider
        needs, or for an address that is never allowed.
        """
        self._guard.require_well_formed(self._url(request))

    def resolve(
        self, request: manifest.DownloadRequest, *, is_cancelled: Callable[[], bool]
    ) -> manifest.DownloadedAlbum:
        """Return the one file at the URL of a request, or the files that the manifest there lists;
        raise `TransferError` where the network fails.
        """
        if request.provider not in (*self._templates, BY_URL):
            raise NotFoundError(
                f"provider '{request.provider}' is no longer configured; request it of another"
            )
        url = self._url(request)
        name = manifest.last_component(url)
        suffix = manifest.suffix_of(name)
        if request.url is not None and suffix in manifest.AUDIO_SUFFIXES:
            file = manifest.AlbumFile(
                name=f"{manifest.component(name[: -len(suffix)])}{suffix}", url=url
            )
            return manifest.album_of(
                request.artist or manifest.NAMELESS, request.album or manifest.NAMELESS, [file]
            )
        fetched = self._fetcher.fetch_text(
            url, max_bytes=manifest.MANIFEST_BYTES, is_cancelled=is_cancelled
        )
        album = manifest.read_manifest(fetched.body, url=fetched.url, request=request)
        for file in album.files:
            self._guard.require_well_formed(file.url)
        if request.url is None:
            return album
        return replace(
            album, artist=request.artist or album.artist, title=request.album or album.title
        )

    def _url(self, request: manifest.DownloadRequest) -> str:
        if request.provider == BY_URL:
            if request.url is None:
                raise InputError("'url' is missing; give the address of a track or manifest")
            return request.url
        if request.url is not None:
            raise InputError(
                f"'{request.provider}' takes artist and album; leave out 'provider' to give a 'url'"
            )
        template = self._templates[request.provider]
        given = {"artist": request.artist, "album": request.album}
        needed = (name for _, name, _, _ in Formatter().parse(template) if name is not None)
        missing = " and ".join(repr(name) for name in needed if not given[name])
        if missing:
            raise InputError(
                f"'{request.provider}' needs {missing}; or give a 'url' instead, and no 'provider'"
            )
        for name, value in given.items():
            if value and not value.strip("."):  # would lead to a parent folder
                raise InputError(
                    f"'{name}' is '{value[:60]}', dots alone; give a name with a letter or digit"
                )
        return template.format_map(
            {name: quote(value, safe="") for name, value in given.items() if value}
        )


def _require_template(name: str, template: str) -> None:
    """Refuse a template with unknown placeholders, or with others than in path or query."""
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
    found = {placeholder for _, placeholder, _, _ in parts if placeholder is not None}
    is_plain = all(not form and not conversion for _, _, form, conversion in parts)
    if not is_plain or not found <= PLACEHOLDERS or "album" not in found:
        raise InputError(
            f"{setting} needs {{album}}, may have {{artist}}, and nothing else in braces"
        )
