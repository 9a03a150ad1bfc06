"""Publishing a pack as a release in a folder, which is served as it is, or uploaded file by file.

    FOLDER/releases.json     the index in the layout of GitHub's releases, newest first
    FOLDER/releases/TAG/     one release: manifest, signature, the files of the pack, and patches
                             from earlier releases

The index is made of the folders that are there, and replaced in one step after all files are on the
disk: readers find the former releases or the new one. A patch is not named by the manifest, since
what it makes is: it needs no signature.
"""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import orjson

from stackroom.background.background import FileLease
from stackroom.checksums import sync_file, sync_folder
from stackroom.errors import ConflictError, StorageError
from stackroom.frozen import frozen
from stackroom.library import replace_file
from stackroom.packs.build import files_folder
from stackroom.packs.manifest import (
    MANIFEST_FILE,
    SIGNATURE_FILE,
    Manifest,
    PackFile,
    load_manifest,
)
from stackroom.packs.patches import (
    PATCH_ENDING,
    can_be_patched,
    check_file,
    make_patch,
    patch_name,
    read_content,
)
from stackroom.packs.places import INDEX_FILE
from stackroom.packs.status import is_older, version_key

RELEASES_FOLDER = "releases"
LOCK_FILE = "publishing.lock"
LOCK_TIMEOUT_S = 10.0
UNFINISHED = ".unfinished"
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
PATCHES = 4  # from how many earlier releases there are patches: a month of weekly releases


@frozen
class PublishedRelease:
    """A release in a folder of releases."""

    folder: Path
    manifest: Manifest
    is_new: bool = False

    @property
    def tag(self) -> str:
        """The name of the release."""
        return self.folder.name

    @property
    def files(self) -> tuple[Path, ...]:
        """All its files, in the order in which they may be uploaded: the manifest last."""
        return tuple(
            sorted(self.folder.iterdir(), key=lambda path: (path.name == MANIFEST_FILE, path))
        )

    @property
    def size_bytes(self) -> int:
        """The size of all its files."""
        return sum(path.stat().st_size for path in self.files)


def publish_pack(pack: Path, folder: Path) -> PublishedRelease:
    """Add a pack to the releases of a folder, under its version.

    A pack whose content is the newest release already is left alone, so that a schedule may call
    this every time.
    """
    manifest = load_manifest(pack)
    busy = f"{folder}: another process publishes there; wait for it"
    failed = f"{folder}: cannot be written; make room, or give another folder"
    with FileLease(folder / LOCK_FILE).held(wait_s=LOCK_TIMEOUT_S, busy=busy, failed=failed):
        before = list_published(folder)
        if before and before[0].manifest.content == manifest.content:
            return before[0]
        _require_next(manifest, pack, before)
        release = PublishedRelease(
            folder=folder / RELEASES_FOLDER / manifest.version, manifest=manifest, is_new=True
        )
        _write_release(release, pack, before[:PATCHES])
        _write_index(folder, [release, *before])
        return release


def list_published(folder: Path) -> list[PublishedRelease]:
    """Return the releases of a folder, newest first."""
    paths = [path.parent for path in sorted((folder / RELEASES_FOLDER).glob(f"*/{MANIFEST_FILE}"))]
    releases = [
        PublishedRelease(folder=path, manifest=load_manifest(path))
        for path in paths
        if TAG.fullmatch(path.name)
    ]
    return sorted(releases, key=lambda release: version_key(release.manifest.version), reverse=True)


def _require_next(manifest: Manifest, pack: Path, before: Sequence[PublishedRelease]) -> None:
    """Refuse a release that clients would not take for one that follows the newest."""
    if not before:
        return
    newest = before[0]
    if newest.manifest.catalogue != manifest.catalogue:
        raise ConflictError(
            f"the releases are those of '{newest.manifest.catalogue}', and the pack is one of "
            f"'{manifest.catalogue}'; give each catalogue a folder of its own"
        )
    if not is_older(newest.manifest.version, manifest.version):
        raise ConflictError(
            f"version {manifest.version} does not come after {newest.manifest.version}, the newest"
            " release; build the pack with a later --version"
        )
    if (newest.folder / SIGNATURE_FILE).is_file() and not (pack / SIGNATURE_FILE).is_file():
        raise ConflictError(
            f"release '{newest.tag}' is signed, and the pack is not; sign it: minisign -Sm"
            f" {pack / MANIFEST_FILE}"
        )


def _write_release(
    release: PublishedRelease, pack: Path, bases: Sequence[PublishedRelease]
) -> None:
    """Write the files of a release; nothing names them yet."""
    fresh = release.folder.with_name(UNFINISHED)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    for file in release.manifest.files:
        source = files_folder(pack, release.manifest) / file.name
        shutil.copyfile(source, fresh / file.name)
        if (problem := check_file(fresh / file.name, file, is_shipped=True)) is not None:
            raise StorageError(
                f"{problem.replace(str(fresh), str(source.parent))}. Nothing was published: build"
                " the pack again"
            )
        _write_patches(fresh, file, bases)
    for name in (SIGNATURE_FILE, MANIFEST_FILE):
        if (pack / name).is_file():
            shutil.copyfile(pack / name, fresh / name)
    for path in fresh.iterdir():
        sync_file(path)
    shutil.rmtree(release.folder, ignore_errors=True)
    os.replace(fresh, release.folder)
    sync_folder(release.folder.parent)


def _write_patches(fresh: Path, file: PackFile, bases: Sequence[PublishedRelease]) -> None:
    """Write the patches from earlier versions of a file, as far as they are smaller than the
    file.
    """
    for release in bases:
        base = release.manifest.find_file(file.name)
        if (
            base is not None
            and can_be_patched(base, file)
            and not (path := fresh / patch_name(base, file)).exists()
        ):
            old = read_content(release.folder / base.name, base)
            patch = make_patch(old, read_content(fresh / file.name, file))
            if len(patch) < file.size_bytes:
                path.write_bytes(patch)


def _write_index(folder: Path, releases: Sequence[PublishedRelease]) -> None:
    """Replace the index in one step, then remove the patches to releases that are not the newest
    any more.
    """
    entries = []  # short, since the index is read at every check for updates
    for release in releases:
        assets = [
            {
                "name": path.name,
                "size": path.stat().st_size,
                "browser_download_url": path.relative_to(folder).as_posix(),
            }
            for path in release.files
            if release is releases[0] or path.suffix != PATCH_ENDING
        ]
        name = f"{release.manifest.catalogue} {release.manifest.version}"
        entries.append({"tag_name": release.tag, "name": name, "assets": assets})
    content = orjson.dumps(entries, option=orjson.OPT_APPEND_NEWLINE)
    replace_file(folder / INDEX_FILE, content, is_synced=True)  # commit point
    for release in releases[1:]:
        for path in release.folder.glob(f"*{PATCH_ENDING}"):
            path.unlink(missing_ok=True)
