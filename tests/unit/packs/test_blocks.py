"""Blocks: cut by ids, so that an edit moves no other cut; read back as written; any damage is found."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinakes.errors import StorageError
from pinakes.model.record import RecordId
from pinakes.packs.blocks import (
    PackedRecord,
    PackedVector,
    choose_cut,
    cut_ranges,
    decode_block,
    dump_records,
    dump_vectors,
    encode_records,
    encode_vectors,
    parse_records,
    parse_vectors,
)

pytestmark = pytest.mark.row("N4")

IDS = sorted(RecordId(f"title {number}") for number in range(400))
RECORDS = [PackedRecord(one, b'{"fields":{"title":"%s"}}' % one.encode()) for one in IDS]
VECTORS = [
    PackedVector(one, hashlib.sha256(one.encode()).digest(), np.arange(place, place + 3, dtype=np.float32))
    for place, one in enumerate(IDS)
]
ids = st.lists(st.text(max_size=8).map(RecordId), unique=True, max_size=40).map(sorted)


@settings(max_examples=50, deadline=None)
@given(ids=ids, cut=st.sampled_from([1, 2, 8]), added=st.text(max_size=8).map(RecordId))
def test_a_new_record_changes_the_range_that_it_falls_into_and_no_other(
    ids: list[RecordId], cut: int, added: RecordId
) -> None:
    before = {tuple(one) for one in cut_ranges(ids, cut)}
    after = {tuple(one) for one in cut_ranges(sorted({*ids, added}), cut)}
    assert len(before - after) <= 1
    assert len(after - before) <= 2


def test_the_ranges_have_every_id_once_and_in_order() -> None:
    ranges = list(cut_ranges(IDS, 16))
    assert [one for some in ranges for one in some] == IDS
    assert len(ranges) > 10
    assert list(cut_ranges([], 16)) == []


@pytest.mark.parametrize(("records", "blocks"), [(20, 1), (512, 1), (20_666, 41), (100_000, 49), (5_000_000, 77)])
def test_a_catalogue_has_some_forty_blocks_and_a_small_one_fewer(records: int, blocks: int) -> None:
    assert round(records / choose_cut(records) + 0.5) == pytest.approx(blocks, abs=1)


def test_records_and_vectors_are_read_back_as_they_were_written() -> None:
    assert parse_records(dump_records(RECORDS)) == RECORDS
    assert parse_records(b"") == []
    read = parse_vectors(dump_vectors(VECTORS), dimension=3)
    assert [(one.id, one.digest) for one in read] == [(one.id, one.digest) for one in VECTORS]
    assert all((one.vector == was.vector).all() for one, was in zip(read, VECTORS, strict=True))


def test_an_id_with_quotes_and_line_ends_stays_on_its_line() -> None:
    odd = [PackedRecord(RecordId('a "b"\n\\é\u2028'), b'{"fields":{},"kind":"x"}')]
    assert parse_records(dump_records(odd)) == odd


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id":"a","fields":{}}', "its last line has no end"),
        (b'{"id":"b","fields":{}}\n{"id":"a","fields":{}}\n', "not in order"),
        (b'{"id":"a","fields":{}}\n{"id":"a","fields":{}}\n', "not in order"),
        (b'{"fields":{},"id":"a"}\n', "does not begin with its id"),
        (b'{"id":7,"fields":{}}\n', "no 'id'"),
        (b'{"id":"a"}\n', "no 'fields'"),
        (b"[]\n", "not a JSON object"),
        (b"\xff\n", "damaged"),
    ],
)
def test_content_that_is_no_block_of_records_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        parse_records(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"ids":["a"]}\n' + bytes(43), "43 bytes for 1 of 3 dimensions"),
        (b'{"ids":["b","a"]}\n' + bytes(88), "not in order"),
        (b'{"ids":[7]}\n' + bytes(44), "no list of ids"),
        (b'{"ids":["a"]}\n' + bytes(40) + b"\x00\x00\xc0\x7f", "not finite"),
        (b"", "damaged"),
    ],
)
def test_content_that_is_no_block_of_vectors_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(StorageError, match=message):
        parse_vectors(content, dimension=3)


def test_a_flipped_bit_or_a_lost_end_of_a_file_is_found() -> None:
    block, data = encode_records(RECORDS)
    assert parse_records(decode_block(block, data)) == RECORDS
    for place in range(0, len(data) * 8, 97):
        damaged = bytearray(data)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(StorageError, match="damaged"):
            decode_block(block, bytes(damaged))
    for length in range(0, len(data), 211):
        with pytest.raises(StorageError, match="damaged"):
            decode_block(block, data[:length])


def test_a_block_that_was_compressed_elsewhere_is_taken_by_its_content_alone() -> None:
    block, data = encode_vectors(IDS[0], VECTORS)
    elsewhere = replace(block, sha256="0" * 64, size_bytes=1)
    with pytest.raises(StorageError, match="sha256"):
        decode_block(elsewhere, data)
    assert decode_block(elsewhere, data, is_shipped=False) == dump_vectors(VECTORS)
    with pytest.raises(StorageError, match="content"):
        decode_block(replace(elsewhere, content="0" * 64), data, is_shipped=False)


def test_a_file_that_unpacks_to_more_than_the_manifest_says_is_not_unpacked() -> None:
    block, data = encode_records(RECORDS)
    with pytest.raises(StorageError, match="another size"):
        decode_block(replace(block, raw_bytes=10), data)
