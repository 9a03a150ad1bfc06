"""The manifest of a pack: what a catalogue is, and the checksum of every file that it is made of.

    manifest.json            this file: JSON with sorted keys, no time stamps, and a checksum of its
                             own members
    manifest.json.minisig    its signature, if minisign has signed it
    catalogue.toml           the spec
    records.jsonl.zst        one record per line, sorted by id
    embeddings.parquet       the vectors, sorted by id; only where the catalogue has a model

The same catalogue gives the same bytes. A manifest that is not exactly as `dump` writes it is
refused, so that no damaged byte of it goes unnoticed.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from stackroom.errors import InputError, StorageError
from stackroom.frozen import frozen
from stackroom.model.vectors import ModelId

FORMAT = 3
MANIFEST_FILE = "manifest.json"
SIGNATURE_FILE = "manifest.json.minisig"
SPEC_FILE = "catalogue.toml"
RECORDS_FILE = "records.jsonl.zst"
EMBEDDINGS_FILE = "embeddings.parquet"
COMPRESSED_ENDING = ".zst"
CHECKSUM = "checksum"
MAX_FILE_BYTES = 1 << 36
MAX_MANIFEST_BYTES = 1 << 20
SHORT = 12  # how many letters of a SHA-256 name a state for people, and in the names of patches

VERSION = "[A-Za-z0-9][A-Za-z0-9._+-]{0,63}"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
FileBytes = Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@frozen
class PackFile:
    """One file of a pack, as it is shipped (`sha256`, `size_bytes`) and as it is unpacked
    (`content`, `raw_bytes`).
    """

    __pydantic_config__ = _STRICT

    name: str
    sha256: Sha256
    size_bytes: FileBytes
    # the SHA-256 of the unpacked content, the same whichever version of zstd compressed it
    content: Sha256
    raw_bytes: FileBytes

    @property
    def is_compressed(self) -> bool:
        """Whether the file is compressed with zstd."""
        return self.name.endswith(COMPRESSED_ENDING)


@frozen
class PackSpec:
    """The spec of a pack's catalogue."""

    __pydantic_config__ = _STRICT

    # the name of the spec, or of the package that the catalogue follows
    name: Annotated[str, Field(min_length=1)]
    # whether it is a package's, which the receiver needs; else `catalogue.toml` has all of it
    is_package: bool


@frozen
class PackCalibration:
    """How relevant a cosine is: its middle for unrelated queries, and its spread."""

    __pydantic_config__ = _STRICT

    middle: Annotated[float, Field(ge=-1, le=1)]
    spread: Annotated[float, Field(gt=0)]


@frozen
class Manifest:
    """A pack: a catalogue at one version, as files."""

    __pydantic_config__ = _STRICT

    catalogue: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    version: Annotated[str, Field(pattern=f"^{VERSION}$")]
    content: Sha256  # the identity of the state: made of the contents of all files (`content_of`)
    spec: PackSpec
    records: Count
    embeddings: Count
    model: str | None
    dimension: Annotated[int, Field(ge=1, le=65_536)] | None
    # whether an index subtracts the mean of the vectors; the pack has them as the model made them
    is_centred: bool
    licence: str | None
    calibration: PackCalibration | None
    files: tuple[PackFile, ...]
    format: int = FORMAT

    @property
    def model_id(self) -> ModelId | None:
        """The model of the vectors; None if the catalogue has none."""
        if self.model is None or self.dimension is None:
            return None
        return ModelId(name=self.model, dimension=self.dimension, is_centred=self.is_centred)

    @property
    def size_bytes(self) -> int:
        """The size of all files as shipped."""
        return sum(file.size_bytes for file in self.files)

    def find_file(self, name: str) -> PackFile | None:
        """Return a file by its name."""
        return next((file for file in self.files if file.name == name), None)

    def get_file(self, name: str) -> PackFile:
        """Return a file that every pack has."""
        file = self.find_file(name)
        if file is None:
            raise StorageError(
                f"release {self.version} of '{self.catalogue}' has no {name}; install it again"
            )
        return file

    def dump(self) -> bytes:
        """Return the file: the same manifest always gives the same bytes."""
        members = asdict(self)
        return _canonical({**members, CHECKSUM: _checksum(members)})


def require_version(version: str) -> None:
    """Refuse a version that a release cannot have."""
    if not re.fullmatch(VERSION, version):
        raise InputError(
            f"'{version}' cannot be a version: up to 64 letters, digits, '.', '_', '+' and '-', as"
            " 2026.46"
        )


def content_of(files: Iterable[PackFile]) -> str:
    """Return the identity of a state: a digest of the contents of its files."""
    lines = "".join(f"{file.name} {file.content}\n" for file in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def parse_manifest(content: bytes, *, origin: str = MANIFEST_FILE) -> Manifest:
    """Return a checked manifest; a StorageError says which member is wrong, and what would be
    right.
    """
    if len(content) > MAX_MANIFEST_BYTES:
        raise StorageError(
            f"{origin} has {len(content)} bytes; a manifest has at most {MAX_MANIFEST_BYTES}"
        )
    try:
        members = orjson.loads(content)
        orjson.dumps(members)  # it reads deeper nesting than it writes
    except orjson.JSONDecodeError as error:
        raise StorageError(f"{origin} is damaged: not JSON: {error}; fetch it again") from error
    except orjson.JSONEncodeError as error:
        raise StorageError(
            f"{origin} is not a manifest of a pack: it is nested too deep; check the address"
        ) from error
    if not isinstance(members, dict):
        raise StorageError(
            f"{origin} is not a manifest of a pack: it is no JSON object; check the address"
        )
    if members.get("format") != FORMAT or type(members["format"]) is not int:
        raise StorageError(
            f"{origin}: 'format' is {members.get('format')!r:.40}; this version reads {FORMAT}"
        )
    stated = members.pop(CHECKSUM, None)
    if stated != _checksum(members):
        raise StorageError(f"{origin} is damaged: its checksum is another; fetch it again")
    if content != _canonical({**members, CHECKSUM: stated}):
        raise StorageError(
            f"{origin} is damaged: it is not written as a manifest is; fetch it again"
        )
    try:
        manifest = _adapter().validate_json(orjson.dumps(members))
    except ValidationError as error:
        raise StorageError(
            f"{origin} is not a manifest of a pack: {first_problem(error)}"
        ) from error
    if (problem := _find_contradiction(manifest)) is not None:
        raise StorageError(f"{origin} contradicts itself: {problem}")
    return manifest


def load_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a pack's folder."""
    path = folder / MANIFEST_FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be read: {error.strerror}; a pack is a folder with this file"
        ) from error
    return parse_manifest(content, origin=str(path))


def first_problem(error: ValidationError) -> str:
    """Return the first member that is wrong, with its value and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    return (
        f"'{'.'.join(map(str, first['loc'])) or 'the whole'}' is {first['input']!r:.100}:"
        f" {first['msg']}"
    )


def _find_contradiction(manifest: Manifest) -> str | None:
    """Return how the members of a manifest disagree; None if they agree."""
    if (manifest.model is None) is not (manifest.dimension is None):
        return "'model' and 'dimension' are either both given or both null"
    if manifest.embeddings > (manifest.records if manifest.model is not None else 0):
        return f"'embeddings' is {manifest.embeddings}: more than its records, or without a 'model'"
    expected = [SPEC_FILE, RECORDS_FILE, *([EMBEDDINGS_FILE] if manifest.model is not None else [])]
    if [file.name for file in manifest.files] != expected:
        return f"its files are not {', '.join(expected)}"
    for file in manifest.files:
        if not file.is_compressed and (file.sha256, file.size_bytes) != (
            file.content,
            file.raw_bytes,
        ):
            return f"{file.name} is not compressed, and has two checksums or sizes"
    return (
        None
        if manifest.content == content_of(manifest.files)
        else "'content' is not the one of its files"
    )


@cache
def _adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def _checksum(members: Mapping[str, Any]) -> str:
    return hashlib.sha256(orjson.dumps(members, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _canonical(members: Mapping[str, Any]) -> bytes:
    return orjson.dumps(
        members, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    )
