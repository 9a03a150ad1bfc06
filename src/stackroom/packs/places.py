"""Places that have releases, in a folder or on a server, and the choice of a release of one.

A place is given as `github:OWNER/REPO`, or as the address or the folder of an index (`releases.json`). Nothing that a
place says is trusted: paths stay inside a folder, addresses pass the guard of every download, sizes are bounded, and a
manifest is checked before anything else is fetched.

The index is in the layout of GitHub's releases API: a JSON list, newest first. Members that are not read here are
ignored, since GitHub's own answers have many more.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Protocol
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from stackroom.errors import ConflictError, ExpectedError, InputError, NotFoundError, StorageError, UnavailableError
from stackroom.net.addresses import USUAL_PORTS, AddressGuard, AddressRules, Resolve, join_url, shown_address
from stackroom.net.fetch import Fetcher, FetchLimits, TransferError, WantedFile
from stackroom.net.files import install_file, sha256_of
from stackroom.packs.manifest import (
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    SIGNATURE_FILE,
    Manifest,
    PackFile,
    parse_manifest,
)
from stackroom.packs.signing import PublicKey, verify_signature
from stackroom.packs.status import is_older
from stackroom.settings import Settings

INDEX_FILE = "releases.json"
MOST_INDEX_BYTES = 50_000_000
MOST_RELEASES = 2_000
MOST_ASSETS = 2_000
MOST_ASSET_BYTES = 1 << 40
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")

Text = Annotated[str, Field(min_length=1, max_length=2_000)]


class Asset(BaseModel):
    """A file of a release: its name, where it is, and its size and checksum where the index states them."""

    model_config = ConfigDict(strict=True, frozen=True, populate_by_name=True)

    name: Text
    url: Text = Field(alias="browser_download_url")
    """Relative to the index, or absolute."""
    size_bytes: int | None = Field(default=None, alias="size", ge=0, le=MOST_ASSET_BYTES)
    digest: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")

    @property
    def sha256(self) -> str | None:
        """The checksum, if it is stated."""
        return self.digest.removeprefix("sha256:") if self.digest else None


class Release(BaseModel):
    """A release of a catalogue: its tag, and its files."""

    model_config = ConfigDict(strict=True, frozen=True)

    tag: Text = Field(alias="tag_name")
    assets: list[Asset] = Field(max_length=MOST_ASSETS)
    draft: bool = False
    prerelease: bool = False

    def find_asset(self, name: str) -> Asset | None:
        """Return a file of this release."""
        return next((asset for asset in self.assets if asset.name == name), None)

    @property
    def is_installable(self) -> bool:
        """Whether it is meant for everybody and has a manifest."""
        return self.find_asset(MANIFEST_FILE) is not None and not self.draft and not self.prerelease


_INDEX = TypeAdapter(Annotated[list[Release], Field(max_length=MOST_RELEASES)])


def parse_index(content: bytes) -> list[Release]:
    """Return the releases of an index, in its order; refuse a malformed one with the member that is wrong."""
    try:
        releases = _INDEX.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        member = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(
            f"the index of releases is malformed: '{member}' is {first['input']!r:.100}: {first['msg']}; expected the "
            "layout of GitHub's releases"
        ) from error
    for release in releases:  # files whose name no file of a release has, such as notes that somebody added
        release.assets[:] = [file for file in release.assets if ASSET_NAME.fullmatch(file.name)]
    return releases


GITHUB = re.compile(r"github:([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})")
GITHUB_RELEASES = "https://api.github.com/repos/{}/{}/releases?per_page=30"
WEB = re.compile(r"https?://", re.IGNORECASE)
MEGABYTE = 1_000_000
NOTHING_THERE = frozenset({404, 410})
LIMITED = 403
"""The status by which GitHub refuses a caller who asks too often."""
MOST_SIGNATURE_BYTES = 10_000
ATTEMPTS = 3
"""How often a transfer that ended early is tried."""

OnBytes = Callable[[int], None]
"""Gets how many bytes of the file are here so far."""


class ReleasePlace(Protocol):
    """A place that has releases. `NotFoundError` and `UnavailableError` say why nothing comes from it."""

    @property
    def shown(self) -> str:
        """The place as it may be shown: without secrets."""

    def list_releases(self) -> Sequence[Release]:
        """Return the releases, newest first."""

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        """Return a small file; refuse one above the limit."""

    def bring(self, asset: Asset, destination: Path, *, max_bytes: int, on_bytes: OnBytes) -> None:
        """Write a file to its destination; whole, of the stated size and checksum, and on the disk, or not at all."""


class FolderPlace:
    """Releases in a folder with an index."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def shown(self) -> str:
        """The folder."""
        return str(self._folder)

    def list_releases(self) -> Sequence[Release]:
        """Return the releases of the folder's index."""
        if not (self._folder / INDEX_FILE).is_file():
            raise NotFoundError(f"{self._folder}: there is no {INDEX_FILE} in it; stackroom pack publish makes one")
        index = Asset(name=INDEX_FILE, browser_download_url=INDEX_FILE)
        return parse_index(self.read(index, max_bytes=MOST_INDEX_BYTES))

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        """Return a small file of the folder."""
        path = self._path_of(asset)
        try:
            with path.open("rb") as file:
                content = file.read(max_bytes + 1)
        except OSError as error:
            raise UnavailableError(f"{path}: cannot be read: {error.strerror or error}") from error
        if len(content) > max_bytes:
            raise InputError(f"{path} is larger than {max_bytes:,} bytes; publish the release again")
        return content

    def bring(self, asset: Asset, destination: Path, *, max_bytes: int, on_bytes: OnBytes) -> None:
        """Copy a file of the folder."""
        path, part = self._path_of(asset), destination.with_name(f"{destination.name}.part")
        try:
            size = path.stat().st_size
            _require_size(path.name, size, asset, max_bytes)
            shutil.copyfile(path, part)
            _require_sum(asset, part)
            install_file(part, destination)
        except OSError as error:
            raise UnavailableError(f"{path}: cannot be copied: {error.strerror or error}") from error
        on_bytes(size)

    def _path_of(self, asset: Asset) -> Path:
        """Return the path of a file; refuse one that is not inside the folder."""
        relative = PurePosixPath(unquote(asset.url))
        is_plain = not WEB.match(asset.url) and not {"\\", "\0"} & {*asset.url, *str(relative)}
        is_named = bool(relative.parts) and ":" not in relative.parts[0]
        if not (is_plain and is_named) or relative.is_absolute() or ".." in relative.parts:
            raise InputError(f"'{asset.url:.80}' is not a path inside {self._folder}; publish the release again")
        path = self._folder.joinpath(*relative.parts)
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise InputError(f"'{asset.url:.80}' leads out of {self._folder}; put the file itself there")
        return path


class WebPlace:
    """Releases on a server with an index."""

    def __init__(self, url: str, fetcher: Fetcher) -> None:
        self._url = url
        self._fetcher = fetcher
        self._index_url = url
        """The address that those of the files are relative to."""

    @property
    def shown(self) -> str:
        """The address, without secrets."""
        return shown_address(self._url)

    def list_releases(self) -> Sequence[Release]:
        """Return the releases of the index at the address, or in its folder."""
        for url in self._candidates():
            content = self._find_text(url)
            if content is not None:
                self._index_url = url
                return parse_index(content)
        raise NotFoundError(f"{self.shown}: there is no {INDEX_FILE}; stackroom pack publish makes one")

    def _candidates(self) -> list[str]:
        """Return the addresses at which an index may be."""
        path = urlsplit(self._url).path
        if urlsplit(self._url).query or path.endswith(".json"):
            return [self._url]
        folder = self._url if self._url.endswith("/") else f"{self._url}/"
        beside = [f"{folder}{INDEX_FILE}"]
        return [*beside, self._url] if path.endswith("releases") else beside

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

    def bring(self, asset: Asset, destination: Path, *, max_bytes: int, on_bytes: OnBytes) -> None:
        """Fetch a file; one whose transfer ended early is fetched again."""
        url = join_url(self._index_url, asset.url)
        wanted = WantedFile(url=url, destination=destination, size=asset.size_bytes, sha256=asset.sha256)
        try:
            self._fetcher.fetch_file(wanted, max_bytes=max_bytes, attempts=ATTEMPTS, on_progress=on_bytes)
        except StorageError:
            raise
        except ExpectedError as error:
            raise _named(url, error) from error


def _named(url: str, error: ExpectedError) -> ExpectedError:
    """Return an error of a transfer with the address in it."""
    if not isinstance(error, TransferError):
        return type(error)(f"{shown_address(url)}: {error.message}")
    advice = ", or try again later: it may limit how often it is asked" if error.status == LIMITED else ""
    return UnavailableError(f"{shown_address(url)}: {error.message}{advice}")


def _require_size(name: str, size: int, asset: Asset, max_bytes: int) -> None:
    if asset.size_bytes not in (None, size):
        raise InputError(f"{name} has {size:,} bytes rather than {asset.size_bytes:,}; publish the release again")
    if size > max_bytes:
        raise InputError(f"{name} has {size:,} bytes, more than the limit of {max_bytes:,}; publish a smaller release")


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
    return WebPlace(url, fetcher)


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
    if path.name == INDEX_FILE:
        path = path.parent
    if not path.is_dir():
        raise NotFoundError(f"{path}: no such folder; a place is a folder, https://HOST/FOLDER, or github:OWNER/REPO")
    return path


def resolved_location(location: str) -> str:
    """Return a location as it is kept: that of a folder is absolute, so that it means the same from everywhere."""
    return location if _url_of(location) is not None else str(_folder_of(location))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRelease:
    """A release of a place with its checked manifest."""

    place: ReleasePlace
    release: Release
    manifest: Manifest
    is_signed: bool = False
    """Whether its signature was checked by a key."""

    def get_asset(self, file: PackFile) -> Asset:
        """Return where a file of the release is, with the size and the checksum that the manifest names."""
        asset = self.release.find_asset(file.name)
        if asset is None:
            raise NotFoundError(f"{self.place.shown} does not have {file.name}; nothing was changed: ask its publisher")
        return asset.model_copy(update={"size_bytes": file.size_bytes, "digest": f"sha256:{file.sha256}"})

    def read_small(self, file: PackFile) -> bytes:
        """Return a small file that is not compressed, without keeping it."""
        content = self.place.read(self.get_asset(file), max_bytes=file.size_bytes)
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise StorageError(
                f"{file.name} of {self.place.shown} is damaged: its sha256 is not that of the manifest; try again later"
            )
        return content


def find_release(place: ReleasePlace, *, key: str = "") -> FoundRelease:
    """Return the newest release of a place; refuse one that is not signed by the key."""
    release = next((release for release in place.list_releases() if release.is_installable), None)
    if release is None:
        raise NotFoundError(f"{place.shown} has no release with a {MANIFEST_FILE}; stackroom pack publish makes one")
    asset = release.find_asset(MANIFEST_FILE)
    assert asset is not None, "an installable release has a manifest"
    content = place.read(asset, max_bytes=MAX_MANIFEST_BYTES)
    if key:
        _require_signed(place, release, content, key)
    manifest = parse_manifest(content, origin=f"{MANIFEST_FILE} of {_name_of(release, place)}")
    return FoundRelease(place=place, release=release, manifest=manifest, is_signed=bool(key))


def _require_signed(place: ReleasePlace, release: Release, content: bytes, key: str) -> None:
    signature = release.find_asset(SIGNATURE_FILE)
    if signature is None:
        raise StorageError(
            f"{_name_of(release, place)} is not signed, but a key is pinned for this catalogue; nothing was changed: "
            "ask its publisher to sign it"
        )
    verify_signature(content, place.read(signature, max_bytes=MOST_SIGNATURE_BYTES), PublicKey.parse(key))


def _name_of(release: Release, place: ReleasePlace) -> str:
    return f"release '{release.tag:.80}' of {place.shown}"


def require_successor(found: Manifest, installed: Manifest) -> bool:
    """Tell whether a release is newer than the installed one; refuse one that cannot follow it."""
    if found.catalogue != installed.catalogue:
        raise ConflictError(
            f"the place has a release of '{found.catalogue}' now, not of '{installed.catalogue}'; nothing was changed"
        )
    if is_older(installed.version, found.version):
        return True
    if found.content == installed.content:
        return False
    if is_older(found.version, installed.version):
        raise ConflictError(
            f"the newest release is {found.version}, older than the installed {installed.version}; nothing was "
            "changed. To go back on purpose, use stackroom rollback"
        )
    raise ConflictError(
        f"the place has another content under the installed version {found.version} now; a version is published "
        "once, so nothing was changed. Ask whoever publishes it for a new version"
    )
