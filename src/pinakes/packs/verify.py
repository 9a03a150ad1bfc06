"""Checking a pack: every file by its sha256, every content by what it says, the manifest by its checksum or signature.

A pack as shipped is checked byte for byte, and read as a receiver reads it. The blocks of an installed one may have
been rebuilt from a delta and compressed anew, so they are checked by the sha256 of their content.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path

from pinakes.catalogue.loader import compile_text
from pinakes.errors import ExpectedError, StorageError
from pinakes.packs.blocks import load_block, parse_records, parse_vectors
from pinakes.packs.manifest import MANIFEST_FILE, Block, BlockKind, Manifest, block_path, parse_manifest

FORMER_FILE = "former.json"
"""The manifest of the release before, in the folder of an installed one."""
OLD_RECORDS_FILE = "records.jsonl.zst"

Checkpoint = Callable[[], None]


def _go_on() -> None:
    """Let a check go on to its end."""


def check_pack(
    folder: Path,
    *,
    manifest_file: str = MANIFEST_FILE,
    is_shipped: bool = True,
    checkpoint: Checkpoint = _go_on,
) -> Iterator[str]:
    """Yield the faults of a pack; none where it is whole."""
    path = folder / manifest_file
    try:
        manifest = parse_manifest(path.read_bytes(), origin=str(path))
    except OSError as error:
        yield f"{path}: cannot be read: {error.strerror}"
        return
    except StorageError as error:
        yield error.message
        return
    yield from check_blocks(folder, manifest, is_shipped=is_shipped, checkpoint=checkpoint)


def check_blocks(
    folder: Path, manifest: Manifest, *, is_shipped: bool = True, checkpoint: Checkpoint = _go_on
) -> Iterator[str]:
    """Yield the faults of the blocks of a manifest."""
    deltas = [one.block for one in manifest.deltas if block_path(folder, one.block).is_file()]
    checker = _Contents(manifest)
    for block in (*manifest.all_blocks, *deltas):
        checkpoint()
        try:
            content = load_block(folder, block, is_shipped=is_shipped)
            if is_shipped:
                checker.check(block, content)
        except ExpectedError as error:
            yield error.message


def check_installed_pack(folder: Path, *, checkpoint: Checkpoint = _go_on) -> Iterator[str]:
    """Yield the faults of the release that a catalogue was installed from, and of the one before it.

    What an earlier version of Pinakes wrote into the same place is no release, and nothing needs it.
    """
    if not folder.is_dir() or (folder / OLD_RECORDS_FILE).is_file():
        return
    for name in (MANIFEST_FILE, FORMER_FILE):
        if (folder / name).is_file():
            yield from check_pack(folder, manifest_file=name, is_shipped=False, checkpoint=checkpoint)


class _Contents:
    """Checks that each block contains what the manifest says of it."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._firsts = [block.first for block in manifest.of_kind(BlockKind.RECORDS)]
        self._last: tuple[str, set[str]] = ("", set())
        """The first id and all ids of the last block of records that could be read: its vectors follow it."""

    def check(self, block: Block, content: bytes) -> None:
        """Raise where the content of a block is not what it should be."""
        if block.kind is BlockKind.SPEC:
            compile_text(content.decode(errors="replace"), origin=f"block {block.file_name}")
        elif block.kind is BlockKind.RECORDS:
            ids = [one.id for one in parse_records(content)]
            self._require(block, len(ids) == block.count and ids[0] == block.first, "has other records")
            self._require(block, self._firsts[self._place(ids[-1])] == block.first, "has records of the next block")
            self._last = (block.first, set(ids))
        elif block.kind is BlockKind.VECTORS:
            vectors = parse_vectors(content, dimension=self._manifest.dimension or 0)
            self._require(block, len(vectors) == block.count, "has another number of vectors")
            first, known = self._last
            is_known = first != block.first or {one.id for one in vectors} <= known
            self._require(block, is_known, "has vectors of other records")

    def _place(self, record_id: str) -> int:
        return bisect_right(self._firsts, record_id) - 1

    @staticmethod
    def _require(block: Block, is_so: bool, problem: str) -> None:
        if not is_so:
            raise StorageError(f"block {block.file_name} {problem} than the manifest says")
