"""Fetching the blocks of a release that are not here: as a delta from the installed release, or whole.

What is fetched is checked by the sha256 of the manifest, and what is made from a delta by its content. A block that
does not come out right is fetched whole, so that correctness never depends on a delta.
"""

import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from pinakes.errors import ExpectedError, NotFoundError, StorageError
from pinakes.packs.blocks import decode_block, load_block
from pinakes.packs.delta import rebuild_blocks
from pinakes.packs.manifest import Block, BlockKind, Manifest, PackDelta, block_path
from pinakes.packs.releases.index import Asset, Release, delta_name, find_asset
from pinakes.packs.releases.installed_pack import InstalledPack
from pinakes.packs.releases.newest import MOST_UNPACKED_BYTES
from pinakes.packs.releases.places import ReleasePlace

logger = logging.getLogger(__name__)

AT_ONCE = 4
"""How many files are fetched at the same time."""
SPARE_BYTES = 50_000_000
UNPACKED_COPIES = 2
"""A block that is unpacked takes its room in the records and in their index."""

OnFetched = Callable[[int], None]
"""Gets how many bytes were fetched so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPlan:
    """The files to fetch for a release: a delta, or whole blocks."""

    missing: tuple[Block, ...]
    """The blocks that are not here, nor made from those that are."""
    delta: PackDelta | None = None
    """The way from the installed release, where it is smaller than the blocks."""

    @property
    def size_bytes(self) -> int:
        """The bytes to fetch."""
        whole = [block for block in self.missing if self.delta is None or block.kind is BlockKind.SPEC]
        return sum(block.size_bytes for block in whole) + (self.delta.block.size_bytes if self.delta else 0)

    @property
    def room_bytes(self) -> int:
        """The room on disk that fetching and unpacking take, about."""
        files = self.size_bytes + sum(block.size_bytes for block in self.missing if self.delta)
        return files + UNPACKED_COPIES * sum(block.raw_bytes for block in self.missing)


def plan_fetch(manifest: Manifest, pack: InstalledPack, installed: Manifest | None) -> FetchPlan:
    """Return what has to be fetched for a release, given what is here."""
    known = {block.content for block in (installed.all_blocks if installed else ()) if pack.has_block(block)}
    wanted = {block.sha256: block for block in needed_blocks(manifest)}.values()
    missing = tuple(block for block in wanted if block.content not in known and not pack.has_block(block))
    delta = manifest.find_delta(installed.content) if installed else None
    whole_bytes = sum(block.size_bytes for block in missing)
    is_useful = delta is not None and _is_bounded(delta) and delta.block.size_bytes < whole_bytes
    return FetchPlan(missing=missing, delta=delta if is_useful else None)


def _is_bounded(delta: PackDelta) -> bool:
    """Tell whether a delta can be held in memory; the blocks can be, and are fetched in its stead."""
    return delta.block.raw_bytes <= MOST_UNPACKED_BYTES


def needed_blocks(manifest: Manifest) -> Sequence[Block]:
    """Return the blocks that a catalogue is made from; an index is made anew."""
    return (manifest.spec.block, *manifest.blocks)


def require_room(folder: Path, plan: FetchPlan) -> None:
    """Refuse what the disk has no room for."""
    there = next(one for one in (folder, *folder.parents) if one.is_dir())
    free = shutil.disk_usage(there).free
    if free < plan.room_bytes + SPARE_BYTES:
        raise StorageError(
            f"{there} has {free / 1e6:,.0f} MB free, and the release needs about "
            f"{(plan.room_bytes + SPARE_BYTES) / 1e6:,.0f} MB; nothing was changed"
        )


@dataclass(slots=True, kw_only=True)
class BlockFetcher:
    """Brings the blocks of one release into the folder of the installed one."""

    place: ReleasePlace
    releases: Sequence[Release] | None
    """The releases that are known; None: the place is asked when something is missing."""
    manifest: Manifest
    pack: InstalledPack
    installed: Manifest | None
    on_fetched: OnFetched = lambda _bytes: None
    fetched_bytes: int = 0
    """The bytes that were fetched so far."""
    _pages: int = 1
    _paging: threading.Lock = field(default_factory=threading.Lock)

    def bring(self, plan: FetchPlan) -> None:
        """Make all blocks of the release be here; what is here already is not fetched again."""
        self._reuse_known()
        if plan.delta is not None:
            self._rebuild(plan.delta)
        self.fetch([block for block in needed_blocks(self.manifest) if not self.pack.has_block(block)])

    def _reuse_known(self) -> None:
        """Copy the blocks of the installed release that have the same content under another checksum."""
        installed = self.installed.all_blocks if self.installed else ()
        known = {block.content: block for block in installed if self.pack.has_block(block)}
        for block in needed_blocks(self.manifest):
            if block.content in known and not self.pack.has_block(block):
                self.pack.copy_block(known[block.content], block)

    def _rebuild(self, delta: PackDelta) -> None:
        """Make missing blocks from those of the installed release and a delta; what fails is fetched later."""
        assert self.installed is not None, "a delta is from an installed release"
        try:
            self._bring_file(delta.block, self._delta_asset(delta))
            content = load_block(self.pack.folder, delta.block)
            for block, data in rebuild_blocks(self.installed, self._load, content, self.manifest):
                self.pack.save_block(block, data)
        except ExpectedError as error:
            logger.info("blocks are fetched whole, since the delta is of no use: %s", error.message)
        finally:
            block_path(self.pack.folder, delta.block).unlink(missing_ok=True)

    def _load(self, block: Block) -> bytes:
        return load_block(self.pack.folder, block, is_shipped=False)

    def _delta_asset(self, delta: PackDelta) -> Asset:
        name = delta_name(delta, self.manifest)
        found = self._find_asset(name) or self._find_asset(delta.block.file_name)
        if found is None:
            raise NotFoundError(f"{self.place.shown} does not have {name}")
        return found

    def fetch(self, blocks: Sequence[Block]) -> None:
        """Fetch blocks whole, some at the same time; the first failure ends the others."""
        wanted = list({block.sha256: block for block in blocks}.values())
        stop = threading.Event()
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="blocks") as pool:
            futures = [pool.submit(self._bring_block, block, stop) for block in wanted]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _bring_block(self, block: Block, stop: threading.Event) -> None:
        self._bring_file(block, self._get_asset(block), stop)
        try:
            load_block(self.pack.folder, block)
        except StorageError:
            block_path(self.pack.folder, block).unlink(missing_ok=True)
            raise

    def _get_asset(self, block: Block) -> Asset:
        if (asset := self._find_asset(block.file_name)) is None:
            raise NotFoundError(f"{self.place.shown} does not have block {block.file_name}; nothing was changed")
        return asset

    def _find_asset(self, name: str) -> Asset | None:
        """Return a file of any release; further pages of the index are read until one has it."""
        with self._paging:
            if self.releases is None:
                self.releases = list(self.place.list_releases())
            while (found := find_asset(self.releases, name)) is None:
                further = self.place.list_releases(page=self._pages + 1)
                if not further:
                    return None
                self._pages += 1
                self.releases = [*self.releases, *further]
            return found

    def read_ahead(self, block: Block) -> bytes:
        """Return the content of a small block without keeping its file."""
        return decode_block(block, self.place.read(self._get_asset(block), max_bytes=block.size_bytes))

    def _bring_file(self, block: Block, asset: Asset, stop: threading.Event | None = None) -> None:
        """Fetch a file to the place of a block, with the size and the checksum that the manifest tells."""
        target = block_path(self.pack.folder, block)
        target.parent.mkdir(parents=True, exist_ok=True)
        told = replace(asset, size_bytes=block.size_bytes, sha256=block.sha256)
        counted = _Counted(self)
        is_cancelled = stop.is_set if stop is not None else lambda: False
        self.place.bring(told, target, max_bytes=block.size_bytes, on_bytes=counted, is_cancelled=is_cancelled)

    def read(self, block: Block) -> bytes:
        """Return the content of a block that is here; one that is damaged or gone is fetched again."""
        try:
            return self._load(block)
        except StorageError:
            block_path(self.pack.folder, block).unlink(missing_ok=True)
            self.fetch([block])
            return self._load(block)


_COUNTING = threading.Lock()


class _Counted:
    """Adds what one file receives to the bytes of all."""

    def __init__(self, fetcher: BlockFetcher) -> None:
        self._fetcher = fetcher
        self._received = 0

    def __call__(self, received: int) -> None:
        with _COUNTING:
            self._fetcher.fetched_bytes += received - self._received
            self._received = received
            self._fetcher.on_fetched(self._fetcher.fetched_bytes)


def iter_ranges(manifest: Manifest) -> Iterator[tuple[Block, Block | None]]:
    """Yield each block of records with the block of its vectors, if it has one."""
    vectors = {block.first: block for block in manifest.of_kind(BlockKind.VECTORS)}
    for block in manifest.of_kind(BlockKind.RECORDS):
        yield block, vectors.get(block.first)
