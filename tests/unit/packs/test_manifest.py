"""The manifest of a pack: the same value is the same bytes, and no damaged or contradictory one is
read.
"""

import hashlib
from dataclasses import asdict
from typing import Any

import orjson
import pytest

from stackroom.errors import StorageError
from stackroom.packs.manifest import (
    CHECKSUM,
    Manifest,
    PackFile,
    PackSpec,
    content_of,
    parse_manifest,
)

pytestmark = pytest.mark.row("N4")

SPEC = PackFile(
    name="catalogue.toml", sha256="1" * 64, size_bytes=10, content="1" * 64, raw_bytes=10
)
RECORDS = PackFile(
    name="records.jsonl.zst", sha256="2" * 64, size_bytes=20, content="3" * 64, raw_bytes=30
)
VECTORS = PackFile(
    name="embeddings.parquet", sha256="4" * 64, size_bytes=40, content="4" * 64, raw_bytes=40
)
FILMS = Manifest(
    catalogue="films",
    version="1",
    content=content_of([SPEC, RECORDS]),
    spec=PackSpec(name="films", is_package=False),
    records=2,
    embeddings=0,
    model=None,
    dimension=None,
    is_centred=False,
    licence="CC0-1.0",
    calibration=None,
    files=(SPEC, RECORDS),
)


def changed(**members: Any) -> bytes:
    """Return the manifest with other members, and with the checksum of these."""
    plain = {**orjson.loads(FILMS.dump()), **members}
    del plain[CHECKSUM]
    checksum = hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()
    how = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps({**plain, CHECKSUM: checksum}, option=how)


def test_a_manifest_is_read_back_as_it_was_and_always_gives_the_same_bytes() -> None:
    assert parse_manifest(FILMS.dump()) == FILMS
    assert parse_manifest(FILMS.dump()).dump() == FILMS.dump()


@pytest.mark.parametrize("depth", [255, 1_000])
@pytest.mark.parametrize("start", ['{"format": 3, "a": ', '{"format": '])
def test_a_manifest_that_is_nested_too_deep_is_refused(start: str, depth: int) -> None:
    with pytest.raises(StorageError, match="nested too deep"):
        parse_manifest(f"{start}{'[' * depth}{']' * depth}}}".encode())


def test_every_flipped_bit_of_a_manifest_is_found() -> None:
    whole = FILMS.dump()
    for place in range(0, len(whole) * 8, 7):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(StorageError):
            parse_manifest(bytes(damaged))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"catalogue": "../films"}, "'catalogue' is '../films'"),
        ({"version": ""}, "'version' is ''"),
        ({"records": "2"}, "'records' is '2'"),
        ({"records": -2}, "'records' is -2"),
        ({"colour": "red"}, "'colour' is 'red'"),
        ({"files": [{"name": "records.jsonl.zst"}]}, "'files.0.sha256'"),
        ({"format": 4}, "'format' is 4; this version reads 3"),
        ({"format": 2}, "'format' is 2"),
        ({"format": "3"}, "'format' is '3'"),
        ({"embeddings": 1}, "'embeddings' is 1"),
        ({"content": "0" * 64}, "'content' is not the one of its files"),
        ({"files": []}, "its files are not catalogue.toml, records.jsonl.zst"),
        ({"files": [asdict(SPEC), asdict(RECORDS), asdict(VECTORS)]}, "its files are not"),
        ({"files": [asdict(RECORDS), asdict(SPEC)]}, "its files are not"),
        (
            {"files": [asdict(SPEC) | {"raw_bytes": 11}, asdict(RECORDS)]},
            "catalogue.toml is not compressed",
        ),
        (
            {"model": "minilm", "dimension": 3},
            "its files are not catalogue.toml, records.jsonl.zst, embeddings.parq",
        ),
        ({"model": "minilm"}, "'model' and 'dimension'"),
    ],
)
def test_members_that_are_malformed_or_contradict_each_other_are_refused_by_name(
    members: dict[str, Any], message: str
) -> None:
    with pytest.raises(StorageError) as error:
        parse_manifest(changed(**members))
    assert message in error.value.message
