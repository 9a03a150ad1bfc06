"""The manifest of a pack: what a catalogue is, and the checksum of every file that it is made of.

    manifest.json            this file: JSON with sorted keys, no time stamps, and a checksum of its own members
    manifest.json.minisig    its signature, where it is signed
    blocks/SHA256.zst        the spec, the records, the vectors: each file is named by the sha256 of its bytes

The same catalogue gives the same bytes. A manifest that is not exactly as `dump` writes it is refused, so that no
damaged byte of it goes unnoticed.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from pinakes.errors import InputError, StorageError
from pinakes.model.vectors import ModelId

FORMAT = 2
MANIFEST_FILE = "manifest.json"
SIGNATURE_FILE = "manifest.json.minisig"
BLOCKS_FOLDER = "blocks"
BLOCK_ENDING = ".zst"
CHECKSUM = "checksum"
MAX_BLOCK_BYTES = 1 << 30
"""The largest content of a block: a reader holds one in memory."""
MAX_MANIFEST_BYTES = 16 << 20
SHORT = 12
"""How many letters of a content name a state for people, and in the names of deltas."""

VERSION = "[A-Za-z0-9][A-Za-z0-9._+-]{0,63}"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
BlockBytes = Annotated[int, Field(ge=0, le=MAX_BLOCK_BYTES)]
Share = Annotated[float, Field(ge=0, le=1)]
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class BlockKind(StrEnum):
    """The content of a block."""

    SPEC = "spec"
    RECORDS = "records"
    VECTORS = "vectors"
    INDEX = "index"
    DELTA = "delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One file of a pack: a compressed part of the catalogue."""

    __pydantic_config__ = _STRICT

    kind: BlockKind
    first: str
    """The first id of its range; a block of vectors has that of the block of records beside it."""
    count: Count
    """The number of records or vectors in it."""
    sha256: Sha256
    """The sha256 of the file as shipped."""
    size_bytes: BlockBytes
    """The size of the file as shipped."""
    content: Sha256
    """The sha256 of the uncompressed content, the same whichever version of zstd compressed it."""
    raw_bytes: BlockBytes
    """The size of the uncompressed content."""

    @property
    def file_name(self) -> str:
        """The name of its file."""
        return f"{self.sha256}{BLOCK_ENDING}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSpec:
    """The spec of a pack's catalogue."""

    __pydantic_config__ = _STRICT

    name: Annotated[str, Field(min_length=1)]
    """The name of the spec, or of the package that the catalogue follows."""
    is_package: bool
    """Whether it is a package's, which the receiver needs; else the block has all of it."""
    block: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class PackCalibration:
    """How relevant a cosine is: its middle for unrelated queries, and its spread."""

    __pydantic_config__ = _STRICT

    middle: Annotated[float, Field(ge=-1, le=1)]
    spread: Annotated[float, Field(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackQuality:
    """How well the catalogue answered the questions of its last grade."""

    __pydantic_config__ = _STRICT

    questions: Count
    ndcg_10: Share
    ndcg_10_low: Share
    ndcg_10_high: Share
    recall_50: Share
    mrr_10: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class PackDelta:
    """The way from a former state of the catalogue to this one."""

    __pydantic_config__ = _STRICT

    base: Sha256
    """The content of the former state."""
    block: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A pack: a catalogue at one version, as blocks."""

    __pydantic_config__ = _STRICT

    catalogue: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    version: Annotated[str, Field(pattern=f"^{VERSION}$")]
    content: Sha256
    """The identity of the state: made of the contents of spec, records and vectors (`content_of`)."""
    spec: PackSpec
    records: Count
    embeddings: Count
    model: str | None
    dimension: Annotated[int, Field(ge=1, le=65_536)] | None
    is_centred: bool
    """Whether an index subtracts the mean of the vectors; the pack has them as the model made them."""
    licence: str | None
    calibration: PackCalibration | None
    quality: PackQuality | None
    cut: Annotated[int, Field(ge=1, le=1 << 32)]
    """A block begins at a record whose id has a digest divisible by this."""
    blocks: tuple[Block, ...]
    """The blocks of records, in order of their first ids, each followed by the vectors of its records, if any."""
    deltas: tuple[PackDelta, ...] = ()
    index: tuple[Block, ...] = ()
    format: int = FORMAT

    @property
    def model_id(self) -> ModelId | None:
        """The model of the vectors; None where the catalogue has none."""
        if self.model is None or self.dimension is None:
            return None
        return ModelId(name=self.model, dimension=self.dimension, is_centred=self.is_centred)

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        """The blocks that the catalogue is made of: without deltas."""
        return (self.spec.block, *self.blocks, *self.index)

    @property
    def size_bytes(self) -> int:
        """The size of the files of these blocks, each counted once."""
        return sum({block.sha256: block.size_bytes for block in self.all_blocks}.values())

    def of_kind(self, kind: BlockKind) -> tuple[Block, ...]:
        """Return the blocks of records, or those of vectors, in order."""
        return tuple(block for block in self.blocks if block.kind is kind)

    def find_delta(self, base: str) -> PackDelta | None:
        """Return the delta from a former state, by its content."""
        return next((delta for delta in self.deltas if delta.base == base), None)

    def dump(self) -> bytes:
        """Return the file: the same manifest always gives the same bytes."""
        members = asdict(self)
        return _canonical({**members, CHECKSUM: _checksum(members)})


def require_version(version: str) -> None:
    """Refuse a version that a release cannot have."""
    if not re.fullmatch(VERSION, version):
        raise InputError(
            f"'{version}' cannot be a version: up to 64 letters, digits, '.', '_', '+' and '-', as 2026.46"
        )


def content_of(spec: Block, blocks: Iterable[Block]) -> str:
    """Return the identity of a state: a digest of the contents of its spec, records and vectors."""
    lines = "".join(f"{block.kind} {block.content}\n" for block in (spec, *blocks))
    return hashlib.sha256(lines.encode()).hexdigest()


def parse_manifest(content: bytes, *, origin: str = MANIFEST_FILE) -> Manifest:
    """Return a checked manifest; a StorageError says which member is wrong, and what would be right."""
    members = _load(content, origin)
    _require_format(members.get("format"), origin)
    told = members.pop(CHECKSUM, None)
    if told != _checksum(members):
        raise StorageError(f"{origin} is damaged: its checksum is another; fetch it again")
    if content != _canonical({**members, CHECKSUM: told}):
        raise StorageError(f"{origin} is damaged: it is not written as a manifest is; fetch it again")
    try:
        manifest = _adapter().validate_json(orjson.dumps(members))
    except ValidationError as error:
        raise StorageError(f"{origin} is not a manifest of a pack: {_first_problem(error)}") from error
    if (problem := _find_contradiction(manifest)) is not None:
        raise StorageError(f"{origin} contradicts itself: {problem}")
    return manifest


def load_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a pack's folder."""
    path = folder / MANIFEST_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror}; a pack is a folder with this file") from error
    return parse_manifest(content, origin=str(path))


def block_path(folder: Path, block: Block) -> Path:
    """Return the file of a block in a pack's folder."""
    return folder / BLOCKS_FOLDER / block.file_name


def _load(content: bytes, origin: str) -> dict[str, Any]:
    if len(content) > MAX_MANIFEST_BYTES:
        raise StorageError(f"{origin} has {len(content)} bytes; a manifest has at most {MAX_MANIFEST_BYTES}")
    try:
        members = orjson.loads(content)
        orjson.dumps(members)  # it reads deeper nesting than it writes
    except orjson.JSONDecodeError as error:
        raise StorageError(f"{origin} is damaged: not JSON: {error}; fetch it again") from error
    except orjson.JSONEncodeError as error:
        raise StorageError(f"{origin} is not a manifest of a pack: it is nested too deep") from error
    if not isinstance(members, dict):
        raise StorageError(f"{origin} is not a manifest of a pack: it is no JSON object")
    return members


def _require_format(told: object, origin: str) -> None:
    if told == FORMAT and type(told) is int:
        return
    if told == 1:
        raise StorageError(f"{origin} is of format 1, an export of an earlier version: pinakes add takes its records")
    advice = "upgrade Pinakes" if isinstance(told, int) and told > FORMAT else "it is not a manifest of a pack"
    raise StorageError(f"{origin}: 'format' is {told!r}, this version reads {FORMAT}; {advice}")


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(one) for one in first["loc"])
    return f"'{place}' is {first['input']!r:.100}: {first['msg']}"


def _find_contradiction(manifest: Manifest) -> str | None:
    """Return how the members of a manifest disagree; None where they agree."""
    records, vectors = manifest.of_kind(BlockKind.RECORDS), manifest.of_kind(BlockKind.VECTORS)
    if (manifest.model is None) is not (manifest.dimension is None):
        return "'model' and 'dimension' are either both given or both null"
    if vectors and manifest.model is None:
        return "it has vectors and no 'model'"
    if sum(block.count for block in records) != manifest.records:
        return f"'records' is {manifest.records}, its blocks have {sum(block.count for block in records)}"
    if sum(block.count for block in vectors) != manifest.embeddings:
        return f"'embeddings' is {manifest.embeddings}, its blocks have {sum(block.count for block in vectors)}"
    if manifest.content != content_of(manifest.spec.block, manifest.blocks):
        return "'content' is not the one of its blocks"
    return _find_disorder(manifest)


def _find_disorder(manifest: Manifest) -> str | None:
    """Return which block has the wrong place or kind."""
    before: Block | None = None
    for block in manifest.blocks:
        if (problem := _find_misplaced(before, block)) is not None:
            return f"the block of {block.kind} from '{block.first}' {problem}"
        before = block
    return _find_wrong_kind(manifest)


def _find_misplaced(before: Block | None, block: Block) -> str | None:
    """Return why a block cannot follow the one before it."""
    if block.kind is BlockKind.RECORDS:
        is_in_order = before is None or before.first < block.first
        return None if is_in_order else f"follows the one from '{before.first if before else ''}'"
    if block.kind is not BlockKind.VECTORS:
        return "is not of records or vectors"
    if before is None or before.kind is not BlockKind.RECORDS or before.first != block.first:
        return "does not follow the records of its range"
    return "has more vectors than records" if block.count > before.count else None


def _find_wrong_kind(manifest: Manifest) -> str | None:
    if manifest.spec.block.kind is not BlockKind.SPEC:
        return f"'spec.block' is of kind '{manifest.spec.block.kind}', not 'spec'"
    if any(delta.block.kind is not BlockKind.DELTA for delta in manifest.deltas):
        return "'deltas' has a block of another kind"
    if any(block.kind is not BlockKind.INDEX for block in manifest.index):
        return "'index' has a block of another kind"
    return None


@cache
def _adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def _checksum(members: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(members, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _canonical(members: Mapping[str, Any]) -> bytes:
    return orjson.dumps(members, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
