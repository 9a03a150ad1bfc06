"""Bringing the newest releases of a place into a folder, so that the next release can be published after them.

A machine that publishes on a schedule has nothing left of the last time. What it needs are the last releases: which
blocks are published already, and what a delta is made from.
"""

from collections.abc import Sequence
from pathlib import Path

from pinakes.errors import InputError, NotFoundError, StorageError
from pinakes.packs.manifest import (
    BLOCKS_FOLDER,
    MANIFEST_FILE,
    MAX_BLOCK_BYTES,
    MAX_MANIFEST_BYTES,
    SIGNATURE_FILE,
    Manifest,
    parse_manifest,
)
from pinakes.packs.pack_files import write_synced
from pinakes.packs.releases.index import INDEX_FILE, Asset, Release, find_asset
from pinakes.packs.releases.newest import read_manifest, read_releases
from pinakes.packs.releases.places import ReleasePlace
from pinakes.packs.releases.published_index import RELEASES_FOLDER, PublishedIndex, PublishedRelease
from pinakes.packs.releases.publishing import TAG, describe_files, publishing_in


def mirror_releases(place: ReleasePlace, folder: Path, *, count: int) -> list[str]:
    """Write the newest releases of a place into a new folder of releases, and return their tags, newest first."""
    with publishing_in(folder):
        if (folder / INDEX_FILE).exists():
            raise StorageError(f"{folder} has releases already; give a new folder, or leave the place out")
        releases = read_releases(place, lambda some: len(_installable(some)) >= count)
        newest = _installable(releases)[:count]
        mirror = _Mirror(place, releases, folder)
        entries = tuple(mirror.bring(release) for release in newest)
        PublishedIndex(folder=folder, releases=entries).save(folder)  # commit point
    return [release.tag for release in newest]


def _require_folder_name(place: ReleasePlace, tag: str) -> str:
    """Refuse a tag that is not the name of a folder, such as one that leads out of the folder of releases."""
    if not TAG.fullmatch(tag):
        raise InputError(f"{place.shown} has a release '{tag:.80}'; expected a tag of letters, digits and . _ + -")
    return tag


def _installable(releases: Sequence[Release]) -> list[Release]:
    return [release for release in releases if release.is_installable]


class _Mirror:
    """Copies releases of a place into a folder, each block once."""

    def __init__(self, place: ReleasePlace, releases: Sequence[Release], folder: Path) -> None:
        self._place = place
        self._releases = list(releases)
        self._folder = folder
        self._pages = 1
        self._brought: set[str] = set()

    def bring(self, release: Release) -> PublishedRelease:
        """Copy a release, and return its entry of the index."""
        content = read_manifest(self._place, release)
        manifest = parse_manifest(content, origin=f"{MANIFEST_FILE} of release '{release.tag:.80}'")
        own = self._folder / RELEASES_FOLDER / _require_folder_name(self._place, release.tag)
        own.mkdir(parents=True, exist_ok=True)
        self._bring_blocks(manifest)
        files: list[Path] = []
        for name, text in ((SIGNATURE_FILE, self._find_signature(release)), (MANIFEST_FILE, content)):
            if text is not None:
                write_synced(own / name, text)
                files.append(own / name)
        return PublishedRelease.of(
            tag=release.tag,
            name=f"{manifest.catalogue} {manifest.version}",
            files=describe_files(files, self._folder),
        )

    def _find_signature(self, release: Release) -> bytes | None:
        asset = release.find_asset(SIGNATURE_FILE)
        return None if asset is None else self._place.read(asset, max_bytes=MAX_MANIFEST_BYTES)

    def _bring_blocks(self, manifest: Manifest) -> None:
        for block in manifest.all_blocks:
            if block.file_name in self._brought:
                continue
            self._brought.add(block.file_name)
            path = self._folder / BLOCKS_FOLDER / block.file_name
            path.parent.mkdir(parents=True, exist_ok=True)
            asset = self._get_asset(block.file_name)
            told = Asset(name=asset.name, url=asset.url, size_bytes=block.size_bytes, sha256=block.sha256)
            self._place.bring(told, path, max_bytes=MAX_BLOCK_BYTES)

    def _get_asset(self, name: str) -> Asset:
        """Return a file of any release; further pages of the index are read until one has it."""
        while (found := find_asset(self._releases, name)) is None:
            self._pages += 1
            further = self._place.list_releases(page=self._pages)
            if not further:
                raise NotFoundError(f"{self._place.shown} does not have {name}, which one of its releases needs")
            self._releases += further
        return found
