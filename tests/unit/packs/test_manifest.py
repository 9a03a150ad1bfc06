"""The manifest of a pack: the same value is the same bytes, and no damaged or contradictory one is read."""

import hashlib
from dataclasses import replace
from typing import Any

import orjson
import pytest

from pinakes.errors import StorageError
from pinakes.model.record import RecordId
from pinakes.packs.blocks import PackedRecord, encode_block, encode_records
from pinakes.packs.manifest import CHECKSUM, BlockKind, Manifest, PackQuality, PackSpec, content_of, parse_manifest

pytestmark = pytest.mark.row("N4")

SPEC = encode_block(BlockKind.SPEC, b'name = "films"').block
RECORDS = encode_records([PackedRecord(RecordId("a"), b'{"fields":{}}'), PackedRecord(RecordId("b"), b'{"fields":{}}')])
QUALITY = PackQuality(questions=200, ndcg_10=0.8, ndcg_10_low=0.7, ndcg_10_high=0.9, recall_50=0.95, mrr_10=0.8)
FILMS = Manifest(
    catalogue="films",
    version="1",
    content=content_of(SPEC, [RECORDS.block]),
    spec=PackSpec(name="films", is_package=False, block=SPEC),
    records=2,
    embeddings=0,
    model=None,
    dimension=None,
    is_centred=False,
    licence="CC0-1.0",
    calibration=None,
    quality=QUALITY,
    cut=512,
    blocks=(RECORDS.block,),
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
@pytest.mark.parametrize("start", ['{"format": 2, "a": ', '{"format": '])
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


def test_every_truncation_of_a_manifest_is_found() -> None:
    whole = FILMS.dump()
    for length in range(0, len(whole), 31):
        with pytest.raises(StorageError):
            parse_manifest(whole[:length])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"catalogue": "../films"}, "'catalogue' is '../films'"),
        ({"version": ""}, "'version' is ''"),
        ({"records": "2"}, "'records' is '2'"),
        ({"records": -2}, "'records' is -2"),
        ({"cut": 0}, "'cut' is 0"),
        ({"colour": "red"}, "'colour' is 'red'"),
        ({"blocks": [{"kind": "records"}]}, "'blocks.0.first'"),
        ({"format": 3}, "upgrade Pinakes"),
        ({"format": 1}, "format 1"),
        ({"format": "2"}, "'format' is '2'"),
    ],
)
def test_a_malformed_member_is_named_with_its_value(members: dict[str, Any], message: str) -> None:
    with pytest.raises(StorageError) as error:
        parse_manifest(changed(**members))
    assert message in error.value.message


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"records": 3}, "'records' is 3, its blocks have 2"),
        ({"embeddings": 1}, "'embeddings' is 1, its blocks have 0"),
        ({"content": "0" * 64}, "'content' is not the one of its blocks"),
        ({"model": "minilm"}, "'model' and 'dimension'"),
    ],
)
def test_members_that_contradict_each_other_are_refused(members: dict[str, Any], message: str) -> None:
    with pytest.raises(StorageError) as error:
        parse_manifest(changed(**members))
    assert message in error.value.message


def test_blocks_out_of_order_are_refused() -> None:
    later = encode_records([PackedRecord(RecordId("0"), b'{"fields":{}}')]).block
    blocks = (RECORDS.block, later)
    wrong = replace(FILMS, blocks=blocks, records=3, content=content_of(SPEC, blocks))
    with pytest.raises(StorageError, match="from '0' follows the one from 'a'"):
        parse_manifest(wrong.dump())


def test_vectors_without_their_records_before_them_are_refused() -> None:
    vectors = encode_block(BlockKind.VECTORS, b"", first="b", count=1).block
    blocks = (RECORDS.block, vectors)
    content = content_of(SPEC, blocks)
    wrong = replace(FILMS, blocks=blocks, embeddings=1, model="m", dimension=2, content=content)
    with pytest.raises(StorageError, match="does not follow the records of its range"):
        parse_manifest(wrong.dump())
