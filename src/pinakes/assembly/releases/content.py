"""The records of a release: read from its blocks, checked against the spec, with their vectors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pinakes.catalogue.codec import encode_record
from pinakes.catalogue.embedded_text import find_digest
from pinakes.catalogue.loader import LoadedSpec, compile_text
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError, StorageError
from pinakes.ingest.mapping import require_fitting
from pinakes.model.record import Record, RecordId
from pinakes.packs.blocks import PackedRecord, PackedVector, parse_records, parse_vectors
from pinakes.packs.manifest import Block, Manifest
from pinakes.packs.releases.fetching import BlockFetcher
from pinakes.packs.releases.merge import Range, RangeContent
from pinakes.shelf.port import Embedding, Put

MOST_SPEC_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRecords:
    """The records of a range, and the vectors of those that have one."""

    records: Sequence[Record]
    vectors: Sequence[PackedVector]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReader:
    """Reads the records of one release by the spec that the catalogue follows with it."""

    blocks: BlockFetcher
    manifest: Manifest
    spec: CatalogueSpec
    is_trusted: bool = False
    """Whether its records were checked before, when it was installed."""

    def read_range(self, one: Range) -> RangeRecords:
        """Return the records of a range; refuse a block that is not what the manifest says."""
        block, vectors = one
        packed = parse_records(self.blocks.read(block))
        _require_count(block, len(packed))
        return RangeRecords(
            records=[self._decode(record) for record in packed],
            vectors=self._read_vectors(vectors) if vectors is not None else (),
        )

    def _decode(self, packed: PackedRecord) -> Record:
        return packed.decode(self.spec) if self.is_trusted else decode_checked(packed, self.spec)

    def _read_vectors(self, block: Block) -> Sequence[PackedVector]:
        dimension = self.manifest.dimension
        assert dimension is not None, "a manifest with vectors has their dimension"
        vectors = parse_vectors(self.blocks.read(block), dimension=dimension)
        _require_count(block, len(vectors))
        return vectors

    def iter_puts(self, ranges: Iterable[Range]) -> Iterator[list[Put]]:
        """Yield the puts of each range."""
        for one in ranges:
            read = self.read_range(one)
            vectors = {vector.id: vector for vector in read.vectors}
            yield [build_put(record, vectors.get(record.id), self.spec) for record in read.records]

    def read_content(self, ranges: Iterable[Range]) -> RangeContent:
        """Return the records of several ranges, in the form in which they are compared."""
        bodies: dict[RecordId, bytes] = {}
        vectors: dict[RecordId, PackedVector] = {}
        for one in ranges:
            read = self.read_range(one)
            bodies |= {record.id: encode_record(record) for record in read.records}
            vectors |= {vector.id: vector for vector in read.vectors}
        return RangeContent(bodies=bodies, vectors=vectors)


def build_put(record: Record, vector: PackedVector | None, spec: CatalogueSpec) -> Put:
    """Return the put of a record; a vector of another text than the spec composes is left out, and made later."""
    digest = find_digest(record, spec)
    if digest is None:
        return Put(record=record)
    is_same_text = vector is not None and vector.digest == digest
    return Put(
        record=record, embedding=Embedding(digest=digest, vector=vector.vector if is_same_text and vector else None)
    )


def decode_checked(packed: PackedRecord, spec: CatalogueSpec) -> Record:
    """Return a record of a release; refuse one that does not fit the spec."""
    try:
        record = packed.decode(spec)
        require_fitting(record, spec)
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        told = error.message if isinstance(error, InputError) else f"it is malformed ({error!r:.80})"
        raise StorageError(f"record '{packed.id:.80}' of the release does not fit its spec: {told}") from error
    return record


def _require_count(block: Block, count: int) -> None:
    if block.count != count:
        raise StorageError(f"block {block.file_name} has {count} entries, and its manifest says {block.count}")


def read_declaration(read: Callable[[Block], bytes], manifest: Manifest) -> LoadedSpec:
    """Return the spec that a release brings; refuse one that is not valid."""
    if manifest.spec.block.raw_bytes > MOST_SPEC_BYTES:
        raise StorageError(f"the spec of the release has {manifest.spec.block.raw_bytes:,} bytes; at most 1 MB is read")
    try:
        text = read(manifest.spec.block).decode()
    except UnicodeDecodeError as error:
        raise StorageError(f"the spec of the release is not a text: {error}") from error
    return LoadedSpec(spec=compile_text(text, origin="the spec of the release"), declaration=text)
