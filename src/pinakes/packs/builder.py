"""Building a pack from a snapshot of a shelf: the same catalogue gives the same bytes, however it came to be."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pinakes.catalogue.loader import LoadedSpec
from pinakes.model.scope import WHOLE
from pinakes.packs.blocks import choose_cut, dump_records, dump_vectors, encode_block
from pinakes.packs.manifest import (
    Block,
    BlockKind,
    Manifest,
    PackCalibration,
    PackQuality,
    PackSpec,
    block_path,
    content_of,
    parse_manifest,
    require_version,
)
from pinakes.packs.pack_files import find_former, save_block, save_manifest, writing_pack
from pinakes.packs.ranges import CatalogueRange, iter_ranges
from pinakes.shelf.port import ShelfReader

FIRST_VERSION = "1"
DIGITS = "0123456789"

Progress = Callable[[int], None]
"""Called with the number of records that were written since the last call."""
Sign = Callable[[bytes], bytes]
"""Returns the signature of a manifest, as a file."""


def _silent(_count: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackLabel:
    """All that a pack says of its catalogue, apart from the records."""

    catalogue: str
    loaded: LoadedSpec
    is_package: bool = False
    """Whether the spec is that of a package, which the receiver has to have."""
    version: str | None = None
    """The version; without one, that of the pack which it takes the place of, counted up if its content is another."""
    licence: str | None = None
    calibration: PackCalibration | None = None
    quality: PackQuality | None = None


def build_pack(
    reader: ShelfReader,
    label: PackLabel,
    target: Path,
    *,
    sign: Sign | None = None,
    progress: Progress = _silent,
    cut: int | None = None,
) -> Manifest:
    """Write the pack of a snapshot into a folder, in place of an older pack, and return its manifest.

    Without a `cut`, it is chosen by the number of records.
    """
    if label.version is not None:
        require_version(label.version)
    with writing_pack(target):
        manifest = _write_blocks(reader, label, target, cut=cut or choose_cut(reader.count(WHOLE)), progress=progress)
        save_manifest(target, manifest, signature=sign(manifest.dump()) if sign else None)
    return manifest


def _write_blocks(reader: ShelfReader, label: PackLabel, target: Path, *, cut: int, progress: Progress) -> Manifest:
    former = find_former(target)
    writer = _BlockWriter(target, _known_blocks(target, former))
    spec = writer.write(BlockKind.SPEC, label.loaded.declaration.encode(), first="", count=1)
    blocks: list[Block] = []
    for one in iter_ranges(reader, label.loaded.spec, cut=cut):
        blocks += _write_range(writer, one)
        progress(len(one.records))
    version = label.version or next_version(former, content_of(spec, blocks))
    return _describe(reader, replace(label, version=version), cut=cut, spec=spec, blocks=tuple(blocks))


def next_version(former: Manifest | None, content: str) -> str:
    """Return the version of a pack after a former one: its own for the same content, else the next number."""
    if former is None:
        return FIRST_VERSION
    if former.content == content:
        return former.version
    head = former.version.rstrip(DIGITS)
    number = former.version.removeprefix(head)
    return f"{head}{int(number) + 1}" if number else f"{head}.1"


def _write_range(writer: "_BlockWriter", one: CatalogueRange) -> Iterator[Block]:
    yield writer.write(BlockKind.RECORDS, dump_records(one.records), first=one.first, count=len(one.records))
    if one.vectors:
        yield writer.write(BlockKind.VECTORS, dump_vectors(one.vectors), first=one.first, count=len(one.vectors))


def _describe(reader: ShelfReader, label: PackLabel, *, cut: int, spec: Block, blocks: tuple[Block, ...]) -> Manifest:
    counts = {kind: sum(block.count for block in blocks if block.kind is kind) for kind in BlockKind}
    manifest = Manifest(
        catalogue=label.catalogue,
        version=label.version or FIRST_VERSION,
        content=content_of(spec, blocks),
        spec=PackSpec(name=label.loaded.spec.name, is_package=label.is_package, block=spec),
        records=counts[BlockKind.RECORDS],
        embeddings=counts[BlockKind.VECTORS],
        model=reader.model.name if reader.model else None,
        dimension=reader.model.dimension if reader.model else None,
        is_centred=reader.model is not None and reader.model.is_centred,
        licence=label.licence,
        calibration=label.calibration if reader.model else None,
        quality=label.quality,
        cut=cut,
        blocks=blocks,
    )
    return parse_manifest(manifest.dump(), origin="the new manifest")


class _BlockWriter:
    """Writes blocks into a pack's folder; one that is there already stays as it was compressed."""

    def __init__(self, folder: Path, known: Mapping[str, Block]) -> None:
        self._folder = folder
        self._known = known

    def write(self, kind: BlockKind, content: bytes, *, first: str, count: int) -> Block:
        """Write one block, and return it."""
        known = self._known.get(hashlib.sha256(content).hexdigest())
        if known is not None and known.kind is kind:
            return replace(known, first=first, count=count)
        block, data = encode_block(kind, content, first=first, count=count)
        save_block(self._folder, block, data)
        return block


def _known_blocks(folder: Path, former: Manifest | None) -> dict[str, Block]:
    """Return the blocks of a former pack in this folder whose files are whole, by content."""
    return {block.content: block for block in former.all_blocks if _is_whole(folder, block)} if former else {}


def _is_whole(folder: Path, block: Block) -> bool:
    path = block_path(folder, block)
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == block.sha256
