"""Entries of packs: read back as they were written, in order; files that are not what they should
be are refused.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arro3.core import Array, DataType, RecordBatch
from arro3.io import write_parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.errors import StorageError
from stackroom.model.record import RecordId
from stackroom.packs.entries import (
    PackedVector,
    PackEntry,
    iter_differences,
    iter_entries,
    write_embeddings,
)
from stackroom.packs.manifest import EMBEDDINGS_FILE, RECORDS_FILE, Manifest, PackFile, PackSpec
from stackroom.zstd import zstd

pytestmark = pytest.mark.row("N4")

ENTRIES = [
    PackEntry(
        RecordId(f"title {number:03}"),
        b'{"fields":{"title":"%d"}}' % number,
        PackedVector(
            hashlib.sha256(b"%d" % number).digest(), np.arange(number, number + 3, dtype=np.float32)
        ),
    )
    for number in range(100)
]
FILE = PackFile(
    name=RECORDS_FILE, sha256="0" * 64, size_bytes=0, content="0" * 64, raw_bytes=1_000_000
)
MANIFEST = Manifest(
    catalogue="films",
    version="1",
    content="0" * 64,
    spec=PackSpec(name="films", is_package=False),
    records=100,
    embeddings=100,
    model="words",
    dimension=3,
    is_centred=False,
    licence=None,
    calibration=None,
    files=(FILE,),
)


def read(
    folder: Path, lines: bytes, vectors: Iterable[PackEntry] = (), **members: Any
) -> list[PackEntry]:
    """Write the files of a pack, and return the entries that are read from them."""
    (folder / RECORDS_FILE).write_bytes(zstd.compress(lines))
    vectors = list(vectors)
    if vectors:
        write_embeddings([vectors], folder / EMBEDDINGS_FILE, 3)
    paths = {path.name: path for path in folder.iterdir()}
    return list(iter_entries(replace(MANIFEST, **members), paths))


def test_records_and_vectors_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    some = [
        entry if number % 3 else entry._replace(vector=None) for number, entry in enumerate(ENTRIES)
    ]
    lines = b"".join(entry.line for entry in some)
    found = read(tmp_path, lines, some, embeddings=sum(entry.vector is not None for entry in some))
    assert len(found) == len(some)
    assert all(
        entry.is_same(was) and entry.id == was.id for entry, was in zip(found, some, strict=True)
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id":"a","fields":{}}', "its last line has no end"),
        (b'{"id":"b","fields":{}}\n{"id":"a","fields":{}}\n', "'a' follows 'b'"),
        (b'{"id":"a","fields":{}}\n{"id":"a","fields":{}}\n', "'a' follows 'a'"),
        (b'{"fields":{},"id":"a"}\n', "does not begin with its id"),
        (b'{"id":7,"fields":{}}\n', "no 'id'"),
        (b'{"id":"a"}\n', "no 'fields'"),
        (b"[]\n", "no 'id'"),
        (b"\xff\n", "damaged"),
        (b'{"id":"a","fields":{}}\n', "has 1 records, and the manifest says 2"),
        (b'{"id":"a","fields":{}}\n' * 100_000, "unpacks to more than"),
    ],
)
def test_content_that_is_no_file_of_records_is_refused(
    content: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(StorageError, match=message):
        read(tmp_path, content, records=2, model=None, dimension=None)


def test_vectors_of_other_records_in_another_order_or_number_are_refused(tmp_path: Path) -> None:
    lines = b"".join(entry.line for entry in ENTRIES)
    with pytest.raises(
        StorageError, match="a vector of 'title 100', which is not among the records"
    ):
        read(
            tmp_path,
            lines,
            [*ENTRIES, ENTRIES[0]._replace(id=RecordId("title 100"))],
            embeddings=101,
        )
    with pytest.raises(StorageError, match="'title 000' follows 'title 001'"):
        read(tmp_path, lines, [ENTRIES[1], ENTRIES[0]])
    with pytest.raises(StorageError, match="has 99 vectors, and the manifest says 100"):
        read(tmp_path, lines, ENTRIES[1:])


@pytest.mark.parametrize(
    ("dimension", "value"), [(2, 1.0), (4, 1.0), (3, float("nan")), (3, float("inf"))]
)
def test_vectors_of_another_dimension_or_without_finite_numbers_are_refused(
    dimension: int, value: float, tmp_path: Path
) -> None:
    vector = PackedVector(bytes(32), np.full(3, value, dtype=np.float32))
    with pytest.raises(StorageError, match=r"not a table of vectors|not finite"):
        read(
            tmp_path,
            ENTRIES[0].line,
            [ENTRIES[0]._replace(vector=vector)],
            dimension=dimension,
            records=1,
        )


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 100 + b"PAR1", None])
def test_a_file_that_is_no_table_of_vectors_is_refused(
    content: bytes | None, tmp_path: Path
) -> None:
    if content is None:
        column = Array(["x"], type=DataType.utf8())
        write_parquet(RecordBatch.from_pydict({"id": column}), str(tmp_path / EMBEDDINGS_FILE))
    else:
        (tmp_path / EMBEDDINGS_FILE).write_bytes(content)
    with pytest.raises(StorageError, match=EMBEDDINGS_FILE):
        read(tmp_path, ENTRIES[0].line, records=1)


states = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.binary(max_size=1), max_size=12)


def entries_of(state: dict[str, bytes]) -> list[PackEntry]:
    return [PackEntry(RecordId(name), state[name]) for name in sorted(state)]


@settings(max_examples=100, deadline=None)
@given(old=states, new=states)
def test_the_differences_between_two_packs_are_those_of_their_entries(
    old: dict[str, bytes], new: dict[str, bytes]
) -> None:
    found = {
        (before or after).id: (before and before.body, after and after.body)  # type: ignore[union-attr]
        for before, after in iter_differences(iter(entries_of(old)), iter(entries_of(new)))
    }
    names = {*old, *new}
    assert found == {
        name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)
    }


def test_another_vector_or_another_text_is_a_difference() -> None:
    entry = ENTRIES[1]
    assert entry.vector is not None
    others = [
        entry._replace(vector=None),
        entry._replace(vector=entry.vector._replace(digest=bytes(32))),
        entry._replace(vector=entry.vector._replace(values=entry.vector.values + 1)),
    ]
    assert all(
        list(iter_differences(iter([entry]), iter([other]))) == [(entry, other)] for other in others
    )
    assert list(iter_differences(iter([entry]), iter([entry]))) == []
