"""Segments in memory and in files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinakes.api.registry import get_package
from pinakes.model.record import Key, Record, RecordId, Tag
from pinakes.shelf.embedded.segment import (
    DamagedIndexError,
    Segment,
    SegmentRow,
    build_segment,
    open_segment,
    save_segment,
)

SPEC = get_package("anime").spec


def row(key: int, name: str, **fields: Any) -> SegmentRow:
    vector = None if key % 2 else np.eye(4, dtype=np.float32)[key % 4]
    return SegmentRow(key=Key(key), record=Record(id=RecordId(name), fields={"title": name, **fields}), vector=vector)


@pytest.fixture
def segment() -> Segment:
    rows = [row(2, "äpfel", tags=(Tag("genre", "Drama"),), year=1999), row(3, "β"), row(8, "third", year=2001)]
    return build_segment(rows, SPEC, change_no=7, dimension=4)


def test_rows_are_found_by_key_and_named_by_id(segment: Segment) -> None:
    assert segment.rows_of([Key(8), Key(2), Key(5), Key(99)]).tolist() == [2, 0, -1, -1]
    assert segment.ids_of(np.arange(3)) == ["äpfel", "β", "third"]


def test_a_saved_segment_opens_as_it_was(segment: Segment, tmp_path: Path) -> None:
    save_segment(segment, tmp_path / "saved")
    opened = open_segment(tmp_path / "saved")
    assert opened.change_no == 7
    assert opened.keys.tolist() == segment.keys.tolist()
    assert opened.ids_of(np.arange(3)) == ["äpfel", "β", "third"]
    assert opened.columns.terms["tags"].entries == [("drama", "genre", "Drama")]
    assert np.array_equal(opened.columns.numbers["year"].values, [1999, np.nan, 2001], equal_nan=True)
    assert opened.titles.find_like("apfel", limit=1) == [(0, 1.0)]
    assert opened.vectors is not None
    assert segment.vectors is not None
    assert np.array_equal(opened.vectors.exact, segment.vectors.exact)


def test_an_empty_segment_is_saved_and_opened_too(tmp_path: Path) -> None:
    save_segment(build_segment([], SPEC, change_no=0, dimension=4), tmp_path / "saved")
    opened = open_segment(tmp_path / "saved")
    assert opened.rows_of([Key(1)]).tolist() == [-1]
    assert opened.vectors is None
    assert opened.columns.size == 0


def test_a_segment_of_a_catalogue_without_a_model_has_no_vectors() -> None:
    assert build_segment([row(1, "one")], SPEC, change_no=1, dimension=None).vectors is None


def test_a_folder_that_is_no_segment_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(DamagedIndexError, match="not a readable segment"):
        open_segment(tmp_path)
