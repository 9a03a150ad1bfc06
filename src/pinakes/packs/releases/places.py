"""Places that have releases: a folder on disk, or a server that is reached over HTTP.

A place is given as `github:OWNER/REPO`, as the address or the folder of an index (`releases.json`), or as those of a
single pack (`manifest.json` and `blocks/`). Nothing that a place says is trusted: paths stay inside a folder, addresses
pass the guard of every download, and sizes are bounded.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import unquote, urlsplit

from pinakes.errors import ExpectedError, InputError, NotFoundError, StorageError, UnavailableError
from pinakes.net.addresses import USUAL_PORTS, AddressGuard, AddressRules, Resolve, join_url
from pinakes.net.checksum import sha256_of
from pinakes.net.fetch import Fetcher, FetchLimits, IsCancelled, TransferError, WantedFile
from pinakes.net.partial import PartFile
from pinakes.net.shown import shown_address
from pinakes.packs.releases.index import (
    BLOCKS_FOLDER,
    INDEX_FILE,
    MANIFEST_ASSET,
    MOST_INDEX_BYTES,
    PACKED_MANIFEST_ASSET,
    SIGNATURE_ASSET,
    Asset,
    Release,
    parse_index,
)
from pinakes.settings import Settings

GITHUB = re.compile(r"github:([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})")
GITHUB_RELEASES = "https://api.github.com/repos/{}/{}/releases?per_page=1"
"""The newest release alone: one of a hundred blocks has some 140 kB there, and it is all that most looks need."""
PAGES_OF_ONE, PAGES_OF_MANY = "?per_page=1", "?per_page=30&page={}"
WEB = re.compile(r"https?://", re.IGNORECASE)
MEGABYTE = 1_000_000
MOST_PAGES = 20
NOTHING_THERE = frozenset({404, 410})
LIMITED = frozenset({403, 429})
ATTEMPTS = 3
"""How often a transfer that ended early is tried; each attempt goes on where the last one ended."""

OnBytes = Callable[[int], None]
"""Gets how many bytes of the file are here so far."""


def ignore_bytes(_received: int) -> None:
    """Show no progress."""


class ReleasePlace(Protocol):
    """A place that has releases. `NotFoundError` and `UnavailableError` say why nothing comes from it."""

    @property
    def shown(self) -> str:
        """The place as it may be shown: without secrets."""

    def list_releases(self, *, page: int = 1) -> Sequence[Release]:
        """Return the releases, newest first; a single pack is one release. Most places have one page of them."""

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        """Return a small file; refuse one above the limit."""

    def bring(
        self,
        asset: Asset,
        destination: Path,
        *,
        max_bytes: int,
        on_bytes: OnBytes = ignore_bytes,
        is_cancelled: IsCancelled = lambda: False,
    ) -> None:
        """Write a file to its destination; whole, of the stated size and checksum, and on the disk, or not at all."""


class FolderPlace:
    """Releases in a folder: its own index, or a single pack."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def shown(self) -> str:
        """The folder."""
        return str(self._folder)

    def list_releases(self, *, page: int = 1) -> Sequence[Release]:
        """Return the releases of the folder's index; without one, the pack that the folder is."""
        if page > 1:
            return []
        if (self._folder / INDEX_FILE).is_file():
            index = Asset(name=INDEX_FILE, url=INDEX_FILE)
            return parse_index(self.read(index, max_bytes=MOST_INDEX_BYTES))
        names = [MANIFEST_ASSET, PACKED_MANIFEST_ASSET, SIGNATURE_ASSET]
        there = [name for name in names if (self._folder / name).is_file()]
        if not there:
            raise NotFoundError(f"{self._folder}: neither {INDEX_FILE} nor {MANIFEST_ASSET} is in it")
        return [_single_pack(there)]

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        """Return a small file of the folder."""
        path = self._path_of(asset)
        try:
            with path.open("rb") as file:
                content = file.read(max_bytes + 1)
        except OSError as error:
            raise UnavailableError(f"{path}: cannot be read: {error.strerror or error}") from error
        if len(content) > max_bytes:
            raise InputError(f"{path} is larger than {max_bytes:,} bytes")
        return content

    def bring(
        self,
        asset: Asset,
        destination: Path,
        *,
        max_bytes: int,
        on_bytes: OnBytes = ignore_bytes,
        is_cancelled: IsCancelled = lambda: False,  # noqa: ARG002  the port has it
    ) -> None:
        """Copy a file of the folder; a copy is not interrupted."""
        path, part = self._path_of(asset), PartFile(destination)
        try:
            size = path.stat().st_size
            _require_size(path.name, size, asset, max_bytes)
            shutil.copyfile(path, part.path)
            _require_sum(asset, part.path)
            part.install()
        except OSError as error:
            raise UnavailableError(f"{path}: cannot be copied: {error.strerror or error}") from error
        on_bytes(size)

    def _path_of(self, asset: Asset) -> Path:
        """Return the path of a file; refuse one that is not inside the folder."""
        relative = PurePosixPath(unquote(asset.url))
        is_plain = not WEB.match(asset.url) and not {"\\", "\0"} & {*asset.url, *str(relative)}
        is_named = bool(relative.parts) and ":" not in relative.parts[0]
        if not (is_plain and is_named) or relative.is_absolute() or ".." in relative.parts:
            raise InputError(f"'{asset.url:.80}' is not a path inside {self._folder}")
        path = self._folder.joinpath(*relative.parts)
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise InputError(f"'{asset.url:.80}' leads out of {self._folder}")
        return path


class WebPlace:
    """Releases on a server: an index, or a single pack."""

    def __init__(self, url: str, fetcher: Fetcher, *, has_pages: bool = False) -> None:
        self._url = url
        self._has_pages = has_pages
        self._fetcher = fetcher
        self._index_url = url
        """The address that those of the files are relative to."""

    @property
    def shown(self) -> str:
        """The address, without secrets."""
        return shown_address(self._url)

    def list_releases(self, *, page: int = 1) -> Sequence[Release]:
        """Return the releases of the index at the address, or in its folder, or the pack that is there."""
        if page > 1:
            return self._list_further(page)
        for url in self._candidates():
            content = self._find_text(url)
            if content is not None:
                self._index_url = url
                return self._parse(url, content)
        raise NotFoundError(f"{self.shown}: neither {INDEX_FILE} nor {MANIFEST_ASSET} is there")

    def _list_further(self, page: int) -> Sequence[Release]:
        """Return a further page of an index that has pages; they begin anew, since the first has one release."""
        if not self._has_pages or page > MOST_PAGES:
            return []
        content = self._find_text(self._url.replace(PAGES_OF_ONE, PAGES_OF_MANY.format(page - 1)))
        return [] if content is None else parse_index(content)

    def _candidates(self) -> list[str]:
        """Return the addresses at which an index or a manifest may be."""
        path = urlsplit(self._url).path
        if urlsplit(self._url).query or path.endswith(".json"):
            return [self._url]
        folder = self._url if self._url.endswith("/") else f"{self._url}/"
        beside = [f"{folder}{INDEX_FILE}", f"{folder}{MANIFEST_ASSET}"]
        return [*beside, self._url] if path.endswith("releases") else beside

    def _parse(self, url: str, content: bytes) -> Sequence[Release]:
        if not urlsplit(url).path.endswith(f"/{MANIFEST_ASSET}"):
            return parse_index(content)
        signature = self._find_text(join_url(url, SIGNATURE_ASSET))
        return [_single_pack([MANIFEST_ASSET, *([] if signature is None else [SIGNATURE_ASSET])])]

    def _find_text(self, url: str) -> bytes | None:
        """Return a body; None where the server has none at this address."""
        try:
            return self._fetcher.fetch_text(url, max_bytes=MOST_INDEX_BYTES).body
        except TransferError as error:
            if error.status in NOTHING_THERE:
                return None
            raise _named(url, error) from error
        except ExpectedError as error:
            raise _named(url, error) from error

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        """Fetch a small file."""
        url = join_url(self._index_url, asset.url)
        try:
            return self._fetcher.fetch_text(url, max_bytes=max_bytes).body
        except ExpectedError as error:
            raise _named(url, error) from error

    def bring(
        self,
        asset: Asset,
        destination: Path,
        *,
        max_bytes: int,
        on_bytes: OnBytes = ignore_bytes,
        is_cancelled: IsCancelled = lambda: False,
    ) -> None:
        """Fetch a file; one whose transfer ended early goes on where the server can, and starts over where not."""
        url = join_url(self._index_url, asset.url)
        wanted = WantedFile(url=url, destination=destination, size=asset.size_bytes, sha256=asset.sha256)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._fetcher.fetch_file(wanted, max_bytes=max_bytes, on_progress=on_bytes, is_cancelled=is_cancelled)
                return
            except TransferError as error:
                if error.is_final or attempt == ATTEMPTS:
                    raise _named(url, error) from error
            except StorageError:
                raise
            except ExpectedError as error:
                raise _named(url, error) from error


def _named(url: str, error: ExpectedError) -> ExpectedError:
    """Return an error of a transfer with the address in it."""
    is_transfer = isinstance(error, TransferError)
    kind = UnavailableError if is_transfer else type(error)
    advice = "; it may limit how often it is asked: try again later" if _is_limited(error) else ""
    return kind(f"{shown_address(url)}: {error.message}{advice}")


def _is_limited(error: ExpectedError) -> bool:
    return isinstance(error, TransferError) and error.status in LIMITED


def _single_pack(names: Sequence[str]) -> Release:
    return Release(tag="", assets={name: Asset(name=name, url=name) for name in names}, blocks_url=f"{BLOCKS_FOLDER}/")


def _require_size(name: str, size: int, asset: Asset, max_bytes: int) -> None:
    if asset.size_bytes not in (None, size):
        raise InputError(f"{name} has {size:,} bytes rather than {asset.size_bytes:,}")
    if size > max_bytes:
        raise InputError(f"{name} has {size:,} bytes, more than the limit of {max_bytes:,}")


def _require_sum(asset: Asset, path: Path) -> None:
    if asset.sha256 is not None and sha256_of(path) != asset.sha256:
        path.unlink(missing_ok=True)
        raise InputError(f"{asset.name} is not the expected file: its sha256 differs")


def open_place(location: str, settings: Settings, *, resolve: Resolve | None = None) -> ReleasePlace:
    """Return the place at a location; refuse one that cannot be a place, and any server when offline.

    The host that the location names may be contacted at its port, wherever it is: whoever runs the command chose it.
    Other hosts that an index names have to be public, or allowed by the settings of sources.
    """
    url = _url_of(location)
    if url is None:
        return FolderPlace(_folder_of(location))
    if settings.offline:
        raise UnavailableError(
            f"{shown_address(location)} is not asked: 'offline' is set (RAG_STRICT_OFFLINE); "
            "what is installed stays as it is"
        )
    rules, chosen = settings.sources, urlsplit(url)
    guard = AddressGuard(
        AddressRules.of(
            hosts=[*rules.allowed_hosts, chosen.hostname or ""],
            networks=rules.allowed_networks,
            ports=[*rules.allowed_ports, chosen.port or USUAL_PORTS[chosen.scheme.lower()]],
        ),
        resolve=resolve,
    )
    fetcher = Fetcher(guard, limits=FetchLimits(max_bytes=rules.max_download_mb * MEGABYTE))
    return WebPlace(url, fetcher, has_pages=GITHUB.fullmatch(location) is not None)


class DeferredPlace:
    """A place that is opened when something is asked of it: nothing is, as long as all files are here."""

    def __init__(self, location: str, settings: Settings) -> None:
        self._location = location
        self._settings = settings

    @property
    def shown(self) -> str:
        """The place, without secrets."""
        return shown_address(self._location)

    def list_releases(self, *, page: int = 1) -> Sequence[Release]:
        """Return the releases."""
        return self._opened.list_releases(page=page)

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        """Return a small file."""
        return self._opened.read(asset, max_bytes=max_bytes)

    def bring(
        self,
        asset: Asset,
        destination: Path,
        *,
        max_bytes: int,
        on_bytes: OnBytes = ignore_bytes,
        is_cancelled: IsCancelled = lambda: False,
    ) -> None:
        """Write a file to its destination."""
        self._opened.bring(asset, destination, max_bytes=max_bytes, on_bytes=on_bytes, is_cancelled=is_cancelled)

    @cached_property
    def _opened(self) -> ReleasePlace:
        return open_place(self._location, self._settings)


def _url_of(location: str) -> str | None:
    """Return the address of a location on the web; None for a folder."""
    if (found := GITHUB.fullmatch(location)) is not None:
        return GITHUB_RELEASES.format(*found.groups())
    if location.startswith("github:"):
        raise InputError(f"'{location:.80}' names no repository; expected github:OWNER/REPO")
    if not WEB.match(location):
        return None
    try:
        chosen = urlsplit(location)
        _ = chosen.port
    except ValueError as error:
        raise InputError(f"'{shown_address(location)}' is not an address: {error}") from error
    if not chosen.hostname:
        raise InputError(f"'{shown_address(location)}' has no host; expected https://HOST/FOLDER")
    return location.partition("#")[0]


def _folder_of(location: str) -> Path:
    try:
        path = Path(location.removeprefix("file://")).expanduser().absolute()
    except RuntimeError as error:
        raise InputError(f"'{location:.80}': there is no such user; write the folder without '~'") from error
    if path.name in (INDEX_FILE, MANIFEST_ASSET):
        path = path.parent
    if not path.is_dir():
        raise NotFoundError(f"{path}: no such folder; a place is a folder, https://HOST/FOLDER, or github:OWNER/REPO")
    return path


def resolved_location(location: str) -> str:
    """Return a location as it is kept: that of a folder is absolute, so that it means the same from everywhere."""
    return location if _url_of(location) is not None else str(_folder_of(location))
