"""Publishing a pack as a release in a folder, which is served as it is or uploaded file by file.

    FOLDER/releases.json         the index, newest first
    FOLDER/releases/TAG/         the manifest of a release, also compressed, its signature, and its deltas
    FOLDER/blocks/SHA256.zst     the blocks of all releases, each once

The index names the folder of the blocks, not each of them, so that it stays small. It is replaced in one step, after
every file that it names is on the disk: readers find the former releases or the new one. Files that no release needs
are removed last.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import filelock
import zstandard

from pinakes.errors import BusyError, ConflictError, InputError, StorageError
from pinakes.net.checksum import sha256_of
from pinakes.packs.blocks import EncodedBlock, encode_block
from pinakes.packs.builder import Sign
from pinakes.packs.delta import dump_delta
from pinakes.packs.manifest import (
    BLOCKS_FOLDER,
    MANIFEST_FILE,
    SIGNATURE_FILE,
    Block,
    BlockKind,
    Manifest,
    PackDelta,
    block_path,
    load_manifest,
)
from pinakes.packs.pack_files import HALF_WRITTEN, write_synced
from pinakes.packs.releases.index import BLOCK_NAME, DELTA_NAME, PACKED_MANIFEST_ASSET, delta_name
from pinakes.packs.releases.published_index import RELEASES_FOLDER, PublishedIndex, PublishedRelease
from pinakes.packs.releases.versions import is_older
from pinakes.packs.state import compare_states, state_of_pack

LOCK_FILE = "publishing.lock"
LOCK_TIMEOUT_S = 10.0
TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
RELEASE_FILE = re.compile(
    rf"{re.escape(MANIFEST_FILE)}|{re.escape(PACKED_MANIFEST_ASSET)}|{re.escape(SIGNATURE_FILE)}|{DELTA_NAME.pattern}"
)
DELTAS = 4
"""From how many earlier releases there is a delta: a month of weekly releases."""
MANIFEST_LEVEL = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """The choices of whoever publishes a release."""

    tag: str = ""
    """The name of the release; empty: its version."""
    notes: str = ""
    deltas: int = DELTAS
    keep: int | None = None
    """How many releases stay; None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A release as it was published: what it is, and which files are new with it."""

    tag: str
    manifest: Manifest
    files: tuple[Path, ...] = ()
    """The files of this release, in the order in which they may be uploaded; none where it was published before."""
    removed: tuple[str, ...] = ()
    """The tags of earlier releases that were removed."""

    @property
    def size_bytes(self) -> int:
        """The size of the new files."""
        return sum(path.stat().st_size for path in self.files)


def publish_pack(
    pack: Path, folder: Path, *, published_at: datetime, sign: Sign | None = None, options: PublishOptions | None = None
) -> Publication:
    """Add a pack to the releases of a folder, and remove the oldest ones beyond those that are kept.

    A pack whose content is the newest release already is left alone, so that a schedule may call this every time.
    """
    options = options or PublishOptions()
    manifest, tag = load_manifest(pack), options.tag
    tag = _require_tag(tag or manifest.version)
    if options.keep is not None and options.keep < 1:
        raise InputError(f"'--keep' is {options.keep}; at least the newest release is kept")
    with publishing_in(folder):
        index = PublishedIndex.load(folder)
        if (newest := index.newest_manifest()) is not None and newest.content == manifest.content:
            published = Publication(tag=index.releases[0].tag, manifest=newest)
        else:
            _require_next(manifest, tag, newest, index)
            published = _add(_Release(pack=pack, folder=folder, manifest=manifest, tag=tag), index, options, sign)
            index = index.with_release(_entry(published, folder, options.notes, published_at))
            index.save(folder)  # commit point
        return _pruned(published, index, folder, keep=options.keep)


@contextmanager
def publishing_in(folder: Path) -> Iterator[None]:
    """Hold the folder of the releases; refuse a second writer."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / LOCK_FILE, timeout=LOCK_TIMEOUT_S):
            yield
    except filelock.Timeout as error:
        raise BusyError(f"{folder}: another process publishes there") from error
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from error


def _require_tag(tag: str) -> str:
    if not TAG.fullmatch(tag):
        raise InputError(f"'--tag' is '{tag:.80}'; expected letters, digits and . _ + -, such as 2026.11.16")
    return tag


def _require_next(manifest: Manifest, tag: str, newest: Manifest | None, index: PublishedIndex) -> None:
    """Refuse a release that clients would not take for one that follows the newest."""
    if newest is not None and newest.catalogue != manifest.catalogue:
        raise ConflictError(
            f"the releases are those of '{newest.catalogue}', and the pack is one of '{manifest.catalogue}'; "
            "give each catalogue a folder of its own"
        )
    if newest is not None and not is_older(newest.version, manifest.version):
        raise ConflictError(
            f"version {manifest.version} does not come after {newest.version}, the newest release; build the pack "
            "with a later --version"
        )
    if any(release.tag == tag for release in index.releases):
        raise ConflictError(f"there is a release '{tag}' already; a release is published once: give another --tag")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """A pack that becomes the release of a tag."""

    pack: Path
    folder: Path
    manifest: Manifest
    tag: str

    @property
    def own_folder(self) -> Path:
        """The folder of its manifest and deltas."""
        return self.folder / RELEASES_FOLDER / self.tag


def _add(release: _Release, index: PublishedIndex, options: PublishOptions, sign: Sign | None) -> Publication:
    """Write the files of a release; nothing names them yet."""
    deltas = list(_build_deltas(release, index, most=options.deltas))
    manifest = replace(release.manifest, deltas=tuple(delta for delta, _ in deltas))
    signature = _signature(release, manifest, sign)
    release.own_folder.mkdir(parents=True, exist_ok=True)
    files = [_copied(release, block) for block in _new_blocks(release, index)]
    for delta, encoded in deltas:
        path = release.own_folder / delta_name(delta, manifest)
        write_synced(path, encoded.data)
        files.append(path)
    packed = zstandard.ZstdCompressor(level=MANIFEST_LEVEL).compress(manifest.dump())
    texts = {PACKED_MANIFEST_ASSET: packed, SIGNATURE_FILE: signature, MANIFEST_FILE: manifest.dump()}
    for name, content in texts.items():
        if content is not None:
            write_synced(release.own_folder / name, content)
            files.append(release.own_folder / name)
    return Publication(tag=release.tag, manifest=manifest, files=tuple(files))


def _signature(release: _Release, manifest: Manifest, sign: Sign | None) -> bytes | None:
    """Return the signature of a manifest: a new one, or that of the pack where its manifest stays as it is."""
    path = release.pack / SIGNATURE_FILE
    if sign is not None:
        return sign(manifest.dump())
    if not path.is_file():
        return None
    if manifest != release.manifest:
        raise InputError(
            "the pack is signed, and its manifest gets deltas to earlier releases; give the key to sign it again "
            "(--sign), or publish it as it is (--deltas 0)"
        )
    return path.read_bytes()


def _build_deltas(release: _Release, index: PublishedIndex, *, most: int) -> Iterator[tuple[PackDelta, EncodedBlock]]:
    """Yield the deltas from the last releases, as far as they are smaller than the blocks that they stand for."""
    bases: set[str] = {release.manifest.content}
    for former in index.releases[:most]:
        manifest = former.load_manifest(release.folder)
        if manifest.content in bases or not _is_comparable(manifest, release.manifest):
            continue
        bases.add(manifest.content)
        encoded = build_delta_between(release.folder, manifest, release.pack, release.manifest)
        if encoded.block.size_bytes < _missing_bytes(manifest, release.manifest):
            yield PackDelta(base=manifest.content, block=encoded.block), encoded


def _is_comparable(former: Manifest, manifest: Manifest) -> bool:
    """Tell whether there can be a delta: with vectors of another model, everything differs."""
    return not (former.embeddings and manifest.embeddings) or former.model_id == manifest.model_id


def build_delta_between(former_folder: Path, former: Manifest, folder: Path, manifest: Manifest) -> EncodedBlock:
    """Return the delta from one state to another, each with the folder that has its blocks."""
    changes = compare_states(state_of_pack(former_folder, former), state_of_pack(folder, manifest))
    content = dump_delta(changes, base=former.content, target=manifest.content)
    return encode_block(BlockKind.DELTA, content, count=len(changes.added | changes.changed | changes.removed))


def _missing_bytes(former: Manifest, manifest: Manifest) -> int:
    known = {block.content for block in former.all_blocks}
    return sum(block.size_bytes for block in manifest.all_blocks if block.content not in known)


def _new_blocks(release: _Release, index: PublishedIndex) -> list[Block]:
    """Return the blocks that no release in the index has."""
    known = {block.file_name for former in index.manifests() for block in former.all_blocks}
    wanted = {block.file_name: block for block in release.manifest.all_blocks}
    return [block for name, block in wanted.items() if name not in known]


def _copied(release: _Release, block: Block) -> Path:
    """Copy the file of a block, which is checked, into the folder; return the copy."""
    data = block_path(release.pack, block).read_bytes()
    if hashlib.sha256(data).hexdigest() != block.sha256:
        raise StorageError(f"{block_path(release.pack, block)} is damaged; build the pack again. Nothing was published")
    path = block_path(release.folder, block)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_synced(path, data)
    return path


def _entry(published: Publication, folder: Path, notes: str, published_at: datetime) -> PublishedRelease:
    manifest = published.manifest
    return PublishedRelease.of(
        tag=published.tag,
        name=f"{manifest.catalogue} {manifest.version}",
        notes=notes or f"{manifest.records:,} records",
        published_at=published_at,
        files=describe_files(published.files, folder),
    )


def describe_files(files: Sequence[Path], folder: Path) -> list[tuple[str, int, str]]:
    """Return path, size and sha256 of the files of a release that are listed: not of its blocks."""
    listed = [path for path in files if path.parent != folder / BLOCKS_FOLDER]
    return [(path.relative_to(folder).as_posix(), path.stat().st_size, sha256_of(path)) for path in listed]


def _pruned(published: Publication, index: PublishedIndex, folder: Path, *, keep: int | None) -> Publication:
    """Remove the oldest releases beyond those that are kept, and what only they needed."""
    if keep is None or len(index.releases) <= keep:
        return published
    kept = index.kept(keep)
    named = _named_files(kept)  # refused where a manifest cannot be read: what it needs is not known then
    kept.save(folder)  # before any file goes: what the index names is there
    removed = tuple(release.tag for release in index.releases[keep:])
    for path in _iter_files(folder, removed):
        if path.relative_to(folder).as_posix() not in named:
            path.unlink(missing_ok=True)
    for own in _folders_of(folder, removed):
        if not any(own.iterdir()):
            own.rmdir()
    return replace(published, removed=removed)


def _named_files(index: PublishedIndex) -> set[str]:
    """Return the files that the releases of an index need, relative to its folder."""
    blocks = {block.file_name for manifest in index.manifests() for block in manifest.all_blocks}
    listed = {path for release in index.releases for path in release.paths}
    return listed | {f"{BLOCKS_FOLDER}/{name}" for name in blocks}


def _iter_files(folder: Path, tags: Sequence[str]) -> Iterator[Path]:
    """Yield the files of all blocks and those of some releases; files of other names are somebody else's."""
    yield from _files_named(folder / BLOCKS_FOLDER, BLOCK_NAME)
    for own in _folders_of(folder, tags):
        yield from _files_named(own, RELEASE_FILE)


def _folders_of(folder: Path, tags: Sequence[str]) -> list[Path]:
    """Return the folders of some releases, as far as they are there."""
    found = [folder / RELEASES_FOLDER / tag for tag in tags if TAG.fullmatch(tag)]
    return [path for path in found if path.is_dir()]


def _files_named(folder: Path, name: re.Pattern[str]) -> list[Path]:
    """Return the files of a folder with such a name, also those that were left half written."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in found if name.fullmatch(path.name.removesuffix(HALF_WRITTEN)) and path.is_file()]
