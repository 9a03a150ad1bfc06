"""Choosing a release of a place, and checking its manifest before anything else is fetched."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import zstandard

from pinakes.errors import ConflictError, InputError, NotFoundError, StorageError
from pinakes.packs.manifest import MAX_MANIFEST_BYTES, Manifest, parse_manifest
from pinakes.packs.releases.index import MANIFEST_ASSET, PACKED_MANIFEST_ASSET, SIGNATURE_ASSET, Release
from pinakes.packs.releases.places import ReleasePlace
from pinakes.packs.releases.versions import has_place, is_older
from pinakes.packs.signing import verify_signature

MOST_SIGNATURE_BYTES = 10_000
MOST_UNPACKED_BYTES = 256 << 20
"""The largest content of a block that is taken: blocks have about a megabyte, and one at a time is in memory."""
TAG_MARKS = ("v", "-", "/", "_", "@")
SHOWN_TAGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRelease:
    """A release of a place with its checked manifest, and the releases that were read, whose files may be its."""

    manifest: Manifest
    releases: Sequence[Release] | None
    """None where the place was not asked."""
    is_signed: bool = False
    """Whether its signature was checked by a key."""


def find_release(place: ReleasePlace, *, key: str = "", version: str | None = None) -> FoundRelease:
    """Return the newest release of a place, or the one of a version; refuse one that is not signed by the key."""
    releases, chosen = _choose(place, version)
    content = read_manifest(place, chosen)
    if key:
        _require_signed(place, chosen, content, key)
    manifest = parse_manifest(content, origin=f"{MANIFEST_ASSET} of {_name_of(chosen, place)}")
    _require_bounded(manifest)
    if version is not None and manifest.version != version.removeprefix("v"):
        raise InputError(f"the release '{chosen.tag:.80}' has version {manifest.version}, not {version}")
    return FoundRelease(manifest=manifest, releases=releases, is_signed=bool(key))


def _require_bounded(manifest: Manifest) -> None:
    """Refuse a release with a block that unpacks to more than this machine should hold in memory."""
    for block in manifest.all_blocks:
        if block.raw_bytes > MOST_UNPACKED_BYTES:
            raise StorageError(
                f"block {block.file_name} of the release unpacks to {block.raw_bytes:,} bytes; at most "
                f"{MOST_UNPACKED_BYTES:,} are taken, and nothing was changed"
            )


def read_releases(place: ReleasePlace, is_enough: Callable[[Sequence[Release]], bool]) -> list[Release]:
    """Return the releases of a place, newest first; pages are read until there are enough, and each comes once."""
    page, found = 1, dict[str, Release]()
    while listed := place.list_releases(page=page):
        found |= {release.tag: release for release in listed if release.tag not in found}
        if is_enough(list(found.values())):
            break
        page += 1
    return list(found.values())


def _choose(place: ReleasePlace, version: str | None) -> tuple[list[Release], Release]:
    """Return the releases that were read, and the one that is wanted."""

    def find_wanted(releases: Sequence[Release]) -> Release | None:
        return next((one for one in releases if one.is_installable and _is_wanted(one, version)), None)

    releases = read_releases(place, lambda some: find_wanted(some) is not None)
    if (chosen := find_wanted(releases)) is not None:
        return releases, chosen
    offered = [release.tag for release in releases if release.is_installable]
    if not offered:
        raise NotFoundError(f"{place.shown} has no release with a {MANIFEST_ASSET}")
    raise NotFoundError(f"{place.shown} has no release of version {version}; newest: {', '.join(offered[:SHOWN_TAGS])}")


def _is_wanted(release: Release, version: str | None) -> bool:
    return version is None or not release.tag or _is_tag_of(release.tag, version.removeprefix("v"))


def _is_tag_of(tag: str, version: str) -> bool:
    """Tell whether a tag is a version, or ends with one after a mark, as in `films-1.2.0`."""
    return tag == version or tag.endswith(tuple(f"{mark}{version}" for mark in TAG_MARKS))


def read_manifest(place: ReleasePlace, release: Release) -> bytes:
    """Return the bytes of a manifest; the compressed form is bounded by what it unpacks to."""
    packed = release.find_asset(PACKED_MANIFEST_ASSET)
    if packed is None:
        plain = release.find_asset(MANIFEST_ASSET)
        assert plain is not None, "an installable release has a manifest"
        return place.read(plain, max_bytes=MAX_MANIFEST_BYTES)
    data = place.read(packed, max_bytes=MAX_MANIFEST_BYTES)
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as unpacked:
            content = unpacked.read(MAX_MANIFEST_BYTES + 1)
    except zstandard.ZstdError as error:
        raise StorageError(f"{PACKED_MANIFEST_ASSET} of {_name_of(release, place)} is damaged: {error}") from error
    if len(content) > MAX_MANIFEST_BYTES:
        raise StorageError(f"{PACKED_MANIFEST_ASSET} of {_name_of(release, place)} unpacks to more than a manifest has")
    return content


def _require_signed(place: ReleasePlace, release: Release, content: bytes, key: str) -> None:
    signature = release.find_asset(SIGNATURE_ASSET)
    if signature is None:
        raise StorageError(
            f"{_name_of(release, place)} is not signed, but a key is pinned for this catalogue; nothing was changed"
        )
    verify_signature(content, place.read(signature, max_bytes=MOST_SIGNATURE_BYTES), key)


def _name_of(release: Release, place: ReleasePlace) -> str:
    return f"release '{release.tag:.80}' of {place.shown}" if release.tag else place.shown


def require_successor(found: Manifest, installed: Manifest) -> bool:
    """Tell whether a release is newer than the installed one; refuse one that cannot follow it."""
    if found.catalogue != installed.catalogue:
        raise ConflictError(
            f"the place has a release of '{found.catalogue}' now, not of '{installed.catalogue}'; nothing was changed"
        )
    if not all(has_place(one.version, one.content) for one in (found, installed)):
        return found.content != installed.content
    if is_older(installed.version, found.version):
        return True
    if found.content == installed.content:
        return False
    if is_older(found.version, installed.version):
        raise ConflictError(
            f"the newest release is {found.version}, older than the installed {installed.version}; nothing was "
            "changed. To go back on purpose, use pinakes rollback"
        )
    raise ConflictError(
        f"the place has another content under the installed version {found.version} now; a version is published "
        "once, so nothing was changed. Ask whoever publishes it for a new version"
    )
