"""Segments in memory and in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.model.record import Key, Record, RecordId, Tag
from stackroom.model.vectors import ModelId, centre
from stackroom.packages import PACKAGES
from stackroom.shelf import spool
from stackroom.shelf.embedded.segment import (
    Segment,
    SegmentRow,
    build_segment,
    open_segment,
    save_segment,
)

SPEC = PACKAGES.get("anime").spec
MODEL = ModelId(name="m", dimension=4)
CENTRED = ModelId(name="m", dimension=4, is_centred=True)


def row(key: int, name: str, **fields: Any) -> SegmentRow:
    vector = None if key % 2 else np.eye(4, dtype=np.float32)[key % 4]
    return SegmentRow(
        key=Key(key),
        record=Record(id=RecordId(name), fields={"title": name, **fields}),
        vector=vector,
    )


@pytest.fixture
def segment() -> Segment:
    rows = [
        row(2, "äpfel", tags=(Tag("genre", "Drama"),), year=1999),
        row(3, "β"),
        row(8, "third", year=2001),
    ]
    return build_segment(rows, SPEC, change_no=7, model=MODEL)


def test_rows_are_found_by_key_and_named_by_id(segment: Segment) -> None:
    assert segment.rows_of([Key(8), Key(2), Key(5), Key(99)]).tolist() == [2, 0, -1, -1]
    assert [text.decode() for text in segment.columns.texts["id"].texts_at(np.arange(3))] == [
        "äpfel",
        "β",
        "third",
    ]


def test_a_saved_segment_opens_as_it_was(segment: Segment, tmp_path: Path) -> None:
    save_segment(segment, tmp_path / "saved")
    opened = open_segment(tmp_path / "saved")
    assert opened.change_no == 7
    assert opened.keys.tolist() == segment.keys.tolist()
    assert [text.decode() for text in opened.columns.texts["id"].texts_at(np.arange(3))] == [
        "äpfel",
        "β",
        "third",
    ]
    assert opened.columns.terms["tags"].entries == [("drama", "genre", "Drama")]
    assert np.array_equal(opened.columns.numbers["year"], [1999, np.nan, 2001], equal_nan=True)
    assert opened.titles.find_like("apfel", limit=1) == [(0, 1.0)]
    assert opened.vectors is not None
    assert segment.vectors is not None
    assert np.array_equal(opened.vectors.exact, segment.vectors.exact)


def test_an_empty_segment_is_saved_and_opened_too(tmp_path: Path) -> None:
    save_segment(build_segment([], SPEC, change_no=0, model=MODEL), tmp_path / "saved")
    opened = open_segment(tmp_path / "saved")
    assert opened.rows_of([Key(1)]).tolist() == [-1]
    assert opened.vectors is None
    assert opened.columns.size == 0


def test_a_centred_segment_keeps_its_mean_and_vectors_that_are_missing_stay_missing(
    tmp_path: Path,
) -> None:
    rows = [row(key, f"record {key}") for key in range(200)]
    save_segment(build_segment(rows, SPEC, change_no=1, model=CENTRED), tmp_path / "saved")
    again = open_segment(tmp_path / "saved")
    assert again.mean is not None
    assert again.vectors is not None
    assert again.mean.tolist() == pytest.approx([50 / 130, 0, 50 / 130, 0])
    assert not again.vectors.exact[1].any()
    assert np.allclose(np.linalg.norm(again.vectors.exact[::2], axis=1), 1)


def test_the_tail_is_centred_by_the_mean_of_the_base() -> None:
    mean = np.float32([0.5, 0, 0, 0])
    tail = build_segment([row(2, "new")], SPEC, change_no=2, model=CENTRED, mean=mean)
    assert tail.mean is mean
    assert tail.vectors is not None
    assert np.allclose(tail.vectors.exact[0], centre(np.float32([0, 0, 1, 0]), mean))


def test_the_vector_of_an_only_record_keeps_its_direction() -> None:
    only = build_segment([row(2, "only")], SPEC, change_no=1, model=CENTRED)
    assert only.vectors is not None
    assert np.allclose(only.vectors.exact[0], [0, 0, 1, 0])


def test_a_segment_whose_arrays_were_collected_in_files_is_the_one_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(key, f"record {key} {'x' * key}") for key in range(100)]
    save_segment(build_segment(rows, SPEC, change_no=1, model=CENTRED), tmp_path / "of memory")
    monkeypatch.setattr(spool, "IN_MEMORY_BYTES", 50)
    monkeypatch.setattr(spool, "BLOCK_BYTES", 100)
    save_segment(
        build_segment(rows, SPEC, change_no=1, model=CENTRED, folder=tmp_path),
        tmp_path / "of files",
    )
    saved = {path.name: path.read_bytes() for path in (tmp_path / "of files").iterdir()}
    assert saved == {path.name: path.read_bytes() for path in (tmp_path / "of memory").iterdir()}
