"""The blocks of a pack: cutting a catalogue into ranges of ids, and their content as bytes.

A block of records has one JSON object per line, sorted by id: {"id", "audiences"?, "fields", "kind"?}. A block of
vectors has one line of JSON, {"ids"}, then the digest of the text of each vector (32 bytes each), then the vectors
(little-endian float32). Blocks begin at records chosen by their ids alone, so that an edit changes the blocks of its
record and no others.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import zstandard

from pinakes.catalogue.codec import decode_record, encode_record
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.record import Record, RecordId
from pinakes.model.vectors import Vector
from pinakes.packs.manifest import MAX_BLOCK_BYTES, Block, BlockKind, block_path

BLOCKS_WANTED = 40
SMALLEST_CUT = 512
LEVELS = {BlockKind.VECTORS: 3, BlockKind.RECORDS: 12, BlockKind.DELTA: 19}
"""Levels of compression; floats hardly become smaller at any."""
DEFAULT_LEVEL = 12
DIGEST_BYTES = 32
FLOAT = np.dtype("<f4")


class PackedRecord(NamedTuple):
    """A record as a pack has it: its id, and its other members as `encode_record` writes them."""

    id: RecordId
    body: bytes

    def decode(self, spec: CatalogueSpec) -> Record:
        """Return the record."""
        return decode_record(self.id, self.body, spec)


class PackedVector(NamedTuple):
    """The vector of a record, as the model made it, and the digest of the text that was embedded."""

    id: RecordId
    digest: bytes
    vector: Vector


class EncodedBlock(NamedTuple):
    """A block, and the bytes of its file."""

    block: Block
    data: bytes


def choose_cut(records: int) -> int:
    """Return the power of two that cuts so many records into about 40 blocks, or into fewer of some 512."""
    wanted = max(records // BLOCKS_WANTED, SMALLEST_CUT)
    return 1 << (wanted.bit_length() - 1)


def is_cut(record_id: RecordId, cut: int) -> bool:
    """Tell whether a block begins at this record."""
    return int.from_bytes(hashlib.sha256(record_id.encode()).digest()[:4], "big") % cut == 0


def cut_ranges(ids: Iterable[RecordId], cut: int) -> Iterator[list[RecordId]]:
    """Yield the ids of each block, from ids in order."""
    some: list[RecordId] = []
    for record_id in ids:
        if some and is_cut(record_id, cut):
            yield some
            some = []
        some.append(record_id)
    if some:
        yield some


def pack_record(record: Record) -> PackedRecord:
    """Return a record as a pack has it."""
    return PackedRecord(record.id, encode_record(record))


def dump_records(records: Sequence[PackedRecord]) -> bytes:
    """Return the content of a block of records, which come in order of their ids."""
    return b"".join(_prefix(one.id) + one.body[1:] + b"\n" for one in records)


def parse_records(content: bytes) -> list[PackedRecord]:
    """Return the records of a block; refuse content that `dump_records` does not write."""
    records = [_parse_line(line) for line in content.split(b"\n")[:-1]]
    if content and not content.endswith(b"\n"):
        raise StorageError("a block of records is damaged: its last line has no end")
    if any(one.id >= then.id for one, then in pairwise(records)):
        raise StorageError("a block of records is damaged: its ids are not in order, each once")
    return records


def dump_vectors(vectors: Sequence[PackedVector]) -> bytes:
    """Return the content of a block of vectors, which come in order of their ids."""
    rows = np.array([one.vector for one in vectors], dtype=FLOAT)
    head = orjson.dumps({"ids": [one.id for one in vectors]}, option=orjson.OPT_APPEND_NEWLINE)
    return b"".join((head, *(one.digest for one in vectors), rows.tobytes()))


def parse_vectors(content: bytes, *, dimension: int) -> list[PackedVector]:
    """Return the vectors of a block; refuse content that `dump_vectors` does not write."""
    head, _, rest = content.partition(b"\n")
    ids = _parse_ids(head)
    if len(rest) != len(ids) * (DIGEST_BYTES + dimension * FLOAT.itemsize):
        raise StorageError(f"a block of vectors is damaged: {len(rest)} bytes for {len(ids)} of {dimension} dimensions")
    digests, floats = rest[: len(ids) * DIGEST_BYTES], rest[len(ids) * DIGEST_BYTES :]
    rows = np.frombuffer(floats, dtype=FLOAT).astype(np.float32, copy=False).reshape(len(ids), dimension)
    if not np.isfinite(rows).all():
        raise StorageError("a block of vectors is damaged: some values are not finite")
    return [
        PackedVector(one, digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES], rows[place])
        for place, one in enumerate(ids)
    ]


def encode_block(
    kind: BlockKind, content: bytes, *, first: str = "", count: int = 1, level: int | None = None
) -> EncodedBlock:
    """Compress the content of a block; those that are shipped at the level of their kind."""
    if len(content) > MAX_BLOCK_BYTES:
        raise StorageError(f"a block of {kind} from '{first}' has {len(content)} bytes; at most {MAX_BLOCK_BYTES} fit")
    chosen = LEVELS.get(kind, DEFAULT_LEVEL) if level is None else level
    data = zstandard.ZstdCompressor(level=chosen, write_content_size=True).compress(content)
    block = Block(
        kind=kind,
        first=first,
        count=count,
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        content=hashlib.sha256(content).hexdigest(),
        raw_bytes=len(content),
    )
    return EncodedBlock(block, data)


def encode_records(records: Sequence[PackedRecord]) -> EncodedBlock:
    """Return the block of the records of a range."""
    return encode_block(BlockKind.RECORDS, dump_records(records), first=records[0].id, count=len(records))


def encode_vectors(first: str, vectors: Sequence[PackedVector]) -> EncodedBlock:
    """Return the block of the vectors of the range that begins at `first`."""
    return encode_block(BlockKind.VECTORS, dump_vectors(vectors), first=first, count=len(vectors))


def decode_block(block: Block, data: bytes, *, is_shipped: bool = True) -> bytes:
    """Return the content of a block's file, which is checked by sha256, and by content alone where it was rebuilt."""
    if is_shipped and (len(data) != block.size_bytes or hashlib.sha256(data).hexdigest() != block.sha256):
        raise StorageError(f"block {block.file_name} is damaged: its sha256 is another; fetch it again")
    content = _decompressed(block, data)
    if hashlib.sha256(content).hexdigest() != block.content:
        raise StorageError(f"block {block.file_name} is damaged: its content has another sha256; fetch it again")
    return content


def load_block(folder: Path, block: Block, *, is_shipped: bool = True) -> bytes:
    """Read the content of a block in a pack's folder."""
    path = block_path(folder, block)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}; fetch it again") from error
    return decode_block(block, data, is_shipped=is_shipped)


def _decompressed(block: Block, data: bytes) -> bytes:
    try:
        if zstandard.frame_content_size(data) != block.raw_bytes:
            raise StorageError(f"block {block.file_name} is damaged: its content has another size; fetch it again")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=block.raw_bytes)
    except zstandard.ZstdError as error:
        raise StorageError(f"block {block.file_name} is damaged: {error}; fetch it again") from error


def _prefix(record_id: RecordId) -> bytes:
    return b'{"id":' + orjson.dumps(record_id) + b","


def _parse_line(line: bytes) -> PackedRecord:
    document = _parse_object(line)
    record_id = document.get("id")
    if not isinstance(record_id, str) or not isinstance(document.get("fields"), dict):
        raise StorageError(f"a block of records is damaged: a line has no 'id' or no 'fields': {line[:100]!r}")
    prefix = _prefix(RecordId(record_id))
    if not line.startswith(prefix):
        raise StorageError(f"a block of records is damaged: the line of '{record_id}' does not begin with its id")
    return PackedRecord(RecordId(record_id), b"{" + line[len(prefix) :])


def _parse_object(line: bytes) -> Mapping[str, Any]:
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise StorageError(f"a block is damaged: {error}: {line[:100]!r}") from error
    if not isinstance(document, dict):
        raise StorageError(f"a block is damaged: not a JSON object: {line[:100]!r}")
    return document


def _parse_ids(head: bytes) -> list[RecordId]:
    ids = _parse_object(head).get("ids")
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise StorageError("a block of vectors is damaged: it has no list of ids")
    if any(one >= then for one, then in pairwise(ids)):
        raise StorageError("a block of vectors is damaged: its ids are not in order, each once")
    return [RecordId(one) for one in ids]
