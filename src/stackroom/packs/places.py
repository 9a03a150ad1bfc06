"""Places that have releases, in a folder or on a server: the choice of a release, its files, and
checks for newer ones.

A place is given as `github:OWNER/REPO`, or as the address or the folder of an index
(`releases.json`). Nothing that a place says is trusted: paths stay inside a folder, addresses pass
the guard of every download, sizes are bounded, and a manifest is checked before anything else is
fetched. A file is checked by the SHA-256 that the manifest names, however it came: a patch that is
damaged, gone or of no use is made up for by the whole file.

The index is in the layout of GitHub's releases API: a JSON list, newest first. Members that are not
read here are ignored, since GitHub's own answers have many more.

A server asks the places of served catalogues for newer releases, once a day or so over all servers
of the library, and nothing waits for them. What is found is logged, and told by `/health`,
`stackroom doctor` and `stackroom list`.
"""

import hashlib
import logging
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Annotated
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from stackroom.background.background import utc_now
from stackroom.checksums import install_file, sha256_of
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    InputError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from stackroom.frozen import frozen
from stackroom.library import PACK_FOLDER, Library
from stackroom.net.addresses import (
    Resolve,
    join_url,
    shown_address,
)
from stackroom.net.fetch import Fetcher, TransferError, WantedFile
from stackroom.packs.installed import SOURCE_FILE, InstalledPack
from stackroom.packs.manifest import (
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    SIGNATURE_FILE,
    Manifest,
    PackFile,
    first_problem,
    parse_manifest,
)
from stackroom.packs.patches import PATCH_ENDING, apply_patch, can_be_patched, patch_name
from stackroom.packs.signing import PublicKey, verify_signature
from stackroom.packs.status import ReleaseCheck, ReleaseStatus, is_older
from stackroom.settings import Settings
from stackroom.sources.web_file import source_fetcher

logger = logging.getLogger(__name__)

INDEX_FILE = "releases.json"
MOST_INDEX_BYTES = 50_000_000
MOST_RELEASES = 2_000
MOST_ASSETS = 2_000
MOST_ASSET_BYTES = 1 << 40
ASSET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")

Text = Annotated[str, Field(min_length=1, max_length=2_000)]


class Asset(BaseModel):
    """A file of a release: its name, where it is, and its size and checksum where the index states
    them.
    """

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
    """Return the releases of an index, in its order; refuse a malformed one with the member that is
    wrong.
    """
    try:
        releases = _INDEX.validate_json(content)
    except ValidationError as error:
        raise InputError(
            f"the index of releases is malformed: {first_problem(error)}; expected the layout of"
            " GitHub's releases"
        ) from error
    # files whose name no file of a release has, such as notes that somebody added
    for release in releases:
        release.assets[:] = [file for file in release.assets if ASSET_NAME.fullmatch(file.name)]
    return releases


GITHUB = re.compile(r"github:([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})")
GITHUB_RELEASES = "https://api.github.com/repos/{}/{}/releases?per_page=30"
WEB = re.compile(r"https?://", re.IGNORECASE)
NOTHING_THERE = frozenset({404, 410})
LIMITED = 403  # the status by which GitHub refuses a caller who asks too often
MOST_SIGNATURE_BYTES = 10_000
ATTEMPTS = 3

OnBytes = Callable[[int], None]  # gets how many bytes of the file are here so far


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
            raise NotFoundError(
                f"{self._folder}: there is no {INDEX_FILE} in it; stackroom pack publish makes one"
            )
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
            raise InputError(
                f"{path} is larger than {max_bytes:,} bytes; publish the release again"
            )
        return content

    def bring(self, asset: Asset, destination: Path, *, on_bytes: OnBytes) -> None:
        """Copy a file of the folder: whole, of the stated size and checksum, and on the disk, or
        not at all.
        """
        path, part = self._path_of(asset), destination.with_name(f"{destination.name}.part")
        try:
            size = path.stat().st_size
            if asset.size_bytes not in (None, size):
                raise InputError(
                    f"{path.name} has {size:,} bytes rather than {asset.size_bytes:,}; publish the"
                    " release again"
                )
            shutil.copyfile(path, part)
            if asset.sha256 is not None and sha256_of(part) != asset.sha256:
                part.unlink()
                raise InputError(f"{asset.name} is not the expected file: its sha256 differs")
            install_file(part, destination)
        except OSError as error:
            raise UnavailableError(
                f"{path}: cannot be copied: {error.strerror or error}"
            ) from error
        on_bytes(size)

    def _path_of(self, asset: Asset) -> Path:
        """Return the path of a file; refuse one that is not inside the folder."""
        relative = PurePosixPath(unquote(asset.url))
        is_plain = not WEB.match(asset.url) and not {"\\", "\0"} & {*asset.url, *str(relative)}
        is_named = bool(relative.parts) and ":" not in relative.parts[0]
        if not (is_plain and is_named) or relative.is_absolute() or ".." in relative.parts:
            raise InputError(
                f"'{asset.url:.80}' is not a path inside {self._folder}; publish the release again"
            )
        path = self._folder.joinpath(*relative.parts)
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise InputError(
                f"'{asset.url:.80}' leads out of {self._folder}; put the file itself there"
            )
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
        path, urls = urlsplit(self._url).path, [f"{self._url.removesuffix('/')}/{INDEX_FILE}"]
        if urlsplit(self._url).query or path.endswith(".json"):
            urls = [self._url]
        elif path.endswith("releases"):
            urls.append(self._url)
        for url in urls:
            with _naming(url):
                try:
                    content = self._fetcher.fetch_text(url, max_bytes=MOST_INDEX_BYTES).body
                except TransferError as error:
                    if error.status in NOTHING_THERE:
                        continue
                    raise
            self._index_url = url
            return parse_index(content)
        raise NotFoundError(
            f"{self.shown}: there is no {INDEX_FILE}; stackroom pack publish makes one"
        )

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        """Fetch a small file."""
        url = join_url(self._index_url, asset.url)
        with _naming(url):
            return self._fetcher.fetch_text(url, max_bytes=max_bytes).body

    def bring(self, asset: Asset, destination: Path, *, on_bytes: OnBytes) -> None:
        """Fetch a file; one whose transfer ended early is fetched again."""
        url = join_url(self._index_url, asset.url)
        wanted = WantedFile(
            url=url, destination=destination, size=asset.size_bytes, sha256=asset.sha256
        )
        with _naming(url):
            self._fetcher.fetch_file(wanted, attempts=ATTEMPTS, on_progress=on_bytes)


# `NotFoundError` and `UnavailableError` say why nothing comes from it
ReleasePlace = FolderPlace | WebPlace


@contextmanager
def _naming(url: str) -> Iterator[None]:
    """Name the address in an error of a transfer."""
    try:
        yield
    except StorageError:
        raise
    except TransferError as error:
        advice = (
            ", or try again later: it may limit how often it is asked"
            if error.status == LIMITED
            else ""
        )
        raise UnavailableError(f"{shown_address(url)}: {error.message}{advice}") from error
    except ExpectedError as error:
        raise type(error)(f"{shown_address(url)}: {error.message}") from error


def open_place(
    location: str, settings: Settings, *, resolve: Resolve | None = None
) -> ReleasePlace:
    """Return the place at a location; refuse one that cannot be a place, and any server when
    offline.

    The host that the location names may be contacted at its port, wherever it is: whoever runs the
    command chose it. Other hosts that an index names have to be public, or allowed by the settings
    of sources.
    """
    url = _url_of(location)
    if url is None:
        return FolderPlace(_folder_of(location))
    if settings.offline:
        raise UnavailableError(
            f"{shown_address(location)} is not asked: 'offline' is set (RAG_STRICT_OFFLINE); "
            "what is installed stays as it is"
        )
    return WebPlace(url, source_fetcher(settings, url=url, resolve=resolve))


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
        raise InputError(
            f"'{location:.80}': there is no such user; write the folder without '~'"
        ) from error
    if path.name == INDEX_FILE:
        path = path.parent
    if not path.is_dir():
        raise NotFoundError(
            f"{path}: no such folder; a place is a folder, https://HOST/FOLDER, or"
            " github:OWNER/REPO"
        )
    return path


def resolved_location(location: str) -> str:
    """Return a location as it is kept: that of a folder is absolute, so that it means the same from
    everywhere.
    """
    return location if _url_of(location) is not None else str(_folder_of(location))


@frozen
class FoundRelease:
    """A release of a place with its checked manifest."""

    place: ReleasePlace
    release: Release
    manifest: Manifest

    def get_asset(self, file: PackFile) -> Asset:
        """Return where a file of the release is, with the size and the checksum that the manifest
        names.
        """
        asset = self.release.find_asset(file.name)
        if asset is None:
            raise NotFoundError(
                f"{self.place.shown} does not have {file.name}; nothing was changed: ask its"
                " publisher"
            )
        return asset.model_copy(
            update={"size_bytes": file.size_bytes, "digest": f"sha256:{file.sha256}"}
        )

    def read_small(self, file: PackFile) -> bytes:
        """Return a small file that is not compressed, without keeping it."""
        content = self.place.read(self.get_asset(file), max_bytes=file.size_bytes)
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise StorageError(
                f"{file.name} of {self.place.shown} is damaged: its sha256 is not that of the"
                " manifest; try again later"
            )
        return content


def find_release(place: ReleasePlace, *, key: str = "") -> FoundRelease:
    """Return the newest release of a place; refuse one that is not signed by the key."""
    release = next((release for release in place.list_releases() if release.is_installable), None)
    asset = release.find_asset(MANIFEST_FILE) if release else None
    if release is None or asset is None:
        raise NotFoundError(
            f"{place.shown} has no release with a {MANIFEST_FILE}; stackroom pack publish makes one"
        )
    content = place.read(asset, max_bytes=MAX_MANIFEST_BYTES)
    name = f"release '{release.tag:.80}' of {place.shown}"
    if key:
        signature = release.find_asset(SIGNATURE_FILE)
        if signature is None:
            raise StorageError(
                f"{name} is not signed, but a key is pinned for this catalogue; nothing was"
                " changed: ask its publisher to sign it"
            )
        verify_signature(
            content, place.read(signature, max_bytes=MOST_SIGNATURE_BYTES), PublicKey.parse(key)
        )
    manifest = parse_manifest(content, origin=f"{MANIFEST_FILE} of {name}")
    return FoundRelease(place=place, release=release, manifest=manifest)


def require_successor(found: Manifest, installed: Manifest) -> bool:
    """Tell whether a release is newer than the installed one; refuse one that cannot follow it."""
    if found.catalogue != installed.catalogue:
        raise ConflictError(
            f"the place has a release of '{found.catalogue}' now, not of '{installed.catalogue}';"
            " nothing was changed"
        )
    if is_older(installed.version, found.version):
        return True
    if found.content == installed.content:
        return False
    if is_older(found.version, installed.version):
        raise ConflictError(
            f"the newest release is {found.version}, older than the installed {installed.version};"
            " nothing was changed. To go back on purpose, use stackroom rollback"
        )
    raise ConflictError(
        f"the place has another content under the installed version {found.version} now; a version"
        " is published once, so nothing was changed. Ask whoever publishes it for a new version"
    )


# gets how many bytes were fetched so far, and all that are to be
OnFetched = Callable[[int, int], None]


Patch = tuple[PackFile, Asset]  # the file that is here, and what makes another version of it


def plan_fetch(
    found: FoundRelease, pack: InstalledPack, installed: Manifest | None
) -> "ReleaseFetcher":
    """Return what has to be fetched for a release, given what is here."""
    missing = {
        file: _find_patch(file, found, pack, installed)
        for file in found.manifest.files
        if not pack.path_of(file).is_file()  # whoever reads one that is there checks it
    }
    return ReleaseFetcher(found=found, pack=pack, missing=missing)


def _find_patch(
    file: PackFile, found: FoundRelease, pack: InstalledPack, installed: Manifest | None
) -> Patch | None:
    base = installed.find_file(file.name) if installed else None
    if base is None or not can_be_patched(base, file) or not pack.path_of(base).is_file():
        return None
    patch = found.release.find_asset(patch_name(base, file))
    if patch is None or patch.size_bytes is None or patch.size_bytes >= file.size_bytes:
        return None
    return base, patch


@dataclass(slots=True, kw_only=True)
class ReleaseFetcher:
    """The files to fetch for a release, each with its patch if there is one, and the folder of the
    installed one that they are brought into.
    """

    found: FoundRelease
    pack: InstalledPack
    missing: Mapping[PackFile, Patch | None]
    fetched_bytes: int = field(default=0, init=False)
    _on_fetched: OnFetched = field(default=lambda _done, _total: None, init=False)

    @property
    def size_bytes(self) -> int:
        """The bytes to fetch."""
        sizes = (
            patch[1].size_bytes if patch else file.size_bytes
            for file, patch in self.missing.items()
        )
        return sum(filter(None, sizes))

    def bring(self, on_fetched: OnFetched = lambda _done, _total: None) -> None:
        """Make all files of the release be here, and whole; what is here already is not fetched
        again.
        """
        self._on_fetched = on_fetched
        for file, patch in self.missing.items():
            if patch is None or not self._bring_patched(file, *patch):
                self._bring_whole(file)
        for file in self.found.manifest.files:
            if self.pack.check_file(file) is not None:
                self._bring_whole(file)

    def _bring_patched(self, file: PackFile, base: PackFile, patch: Asset) -> bool:
        """Make a file of the installed one and a patch; tell whether that worked."""
        path = self.pack.path_of(file)
        path = path.with_name(f"{path.name}{PATCH_ENDING}")
        try:
            old = self.pack.read_file(base)
            self._bring(patch, path)
            self.pack.save_file(file, apply_patch(old, path.read_bytes(), file))
        except ExpectedError as error:
            logger.info(
                "%s is fetched whole, since its patch is of no use: %s", file.name, error.message
            )
            return False
        finally:
            path.unlink(missing_ok=True)
        return True

    def _bring_whole(self, file: PackFile) -> None:
        """Fetch a file, with the size and the checksum that the manifest names."""
        path = self.pack.path_of(file)
        path.unlink(missing_ok=True)
        self._bring(self.found.get_asset(file), path)
        if (problem := self.pack.check_file(file)) is not None:
            path.unlink(missing_ok=True)
            raise StorageError(problem)

    def _bring(self, asset: Asset, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = self.fetched_bytes

        def count(received: int) -> None:
            self.fetched_bytes = before + received
            self._on_fetched(self.fetched_bytes, self.size_bytes)

        self.found.place.bring(asset, path, on_bytes=count)


AFTER_PROBLEM = timedelta(hours=1)  # the longest pause after a place did not answer


class ReleaseChecker:
    """Asks the places of catalogues for newer releases, each when it is due."""

    def __init__(
        self,
        library: Library,
        settings: Settings,
        status: ReleaseStatus,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._library = library
        self._settings = settings
        self._status = status
        self._now = now
        self._reported: set[tuple[str, str]] = set()

    def check_once(self, name: str) -> None:
        """Ask the place of one catalogue, if a check is due, and log what is newer."""
        pack = InstalledPack(self._library.folder / name / PACK_FOLDER)
        if not (pack.folder / SOURCE_FILE).is_file():
            return
        last = self._status.find_check(name)
        now = self._now()
        pause = timedelta(hours=self._settings.updates.every_h)
        if last is not None and last.problem:
            pause = min(pause, AFTER_PROBLEM)
        if last is None or not timedelta(0) <= now - last.asked_at < pause:
            try:
                source, manifest = pack.find_source(), pack.find_manifest()
                if source is not None and manifest is not None:
                    offered = find_release(
                        open_place(source.place, self._settings), key=source.key
                    ).manifest
                    newest = offered if require_successor(offered, manifest) else manifest
                    self._status.save_check(
                        name,
                        ReleaseCheck(asked_at=now, version=newest.version, content=newest.content),
                    )
            # also where the release could not follow the installed one
            except ExpectedError as error:
                logger.info(
                    "the place of catalogue '%s' could not be asked: %s", name, error.message
                )
                self._status.save_check(name, ReleaseCheck(asked_at=now, problem=error.message))
        newer = self._status.find_newer(name)
        if newer is not None and (name, newer.version) not in self._reported:
            self._reported.add((name, newer.version))
            logger.warning("catalogue '%s' is outdated: %s", name, newer)
