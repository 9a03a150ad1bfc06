"""Exported catalogues as sources: records as they were, with the vectors that they bring."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arro3.core import Array, DataType, Table, fixed_size_list_array
from arro3.io import write_parquet

from stackroom.errors import InputError
from stackroom.model.vectors import ModelId
from stackroom.sources.export_rows import ExportRows, is_export
from stackroom.zstd import zstd

DECLARATION = """
name = "boats"
title = "Boats"
summary = "Boats of the harbour."

[fields]
title = { type = "text", role = "title", search = true }
year = { type = "int", filter = true }

[embed]
template = "{title}"
"""
RECORDS = [
    {"id": f"boat-{number}", "fields": {"title": f"Boat {number}", "year": 1900 + number}}
    for number in range(3)
]
MODEL = ModelId(name="made-up", dimension=4)

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An exported catalogue of three boats."""
    place = tmp_path / "boats"
    place.mkdir()
    (place / "catalogue.toml").write_text(DECLARATION)
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in RECORDS)
    (place / "records.jsonl.zst").write_bytes(zstd.compress(lines))
    numbers = Array.from_numpy(np.eye(3, 4, dtype=np.float32).ravel())
    ids = Array([record["id"] for record in RECORDS], DataType.utf8())
    write_parquet(
        Table.from_pydict({"id": ids, "embedding": fixed_size_list_array(numbers, 4)}),
        place / "embeddings.parquet",
    )
    write_manifest(place)
    return place


def write_manifest(place: Path, change: Change = lambda _manifest: None) -> None:
    names = ("catalogue.toml", "records.jsonl.zst", "embeddings.parquet")
    digests = {name: hashlib.sha256((place / name).read_bytes()).hexdigest() for name in names}
    manifest = {
        "format": 1,
        "catalogue": "boats",
        "spec": "boats",
        "records": len(RECORDS),
        "model": MODEL.name,
        "dimension": MODEL.dimension,
        "files": {name: {"sha256": digest} for name, digest in digests.items()},
    }
    change(manifest)
    (place / "manifest.json").write_text(json.dumps(manifest))


def test_records_come_with_their_vectors(folder: Path) -> None:
    assert is_export(folder)
    assert not is_export(folder.parent)
    source = ExportRows(folder)
    rows = list(source.iter_rows(start=1))
    assert (source.name, source.count_rows(), source.vector_model) == (str(folder), 3, MODEL)
    assert [row.place for row in rows] == ["line 2", "line 3"]
    assert rows[0].values == {"id": "boat-1", "title": "Boat 1", "year": 1901}
    assert rows[0].record is not None
    assert rows[0].record.catalogue == "boats"
    assert rows[0].vector is not None
    assert rows[0].vector.values.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_a_catalogue_without_a_model_has_no_vectors(folder: Path) -> None:
    write_manifest(folder, lambda manifest: manifest.pop("model"))
    source = ExportRows(folder)
    assert source.vector_model is None
    assert [row.vector for row in source.iter_rows()] == [None, None, None]


@pytest.mark.row("A10")
def test_an_exported_folder_is_added_by_its_name_and_declaration(
    folder: Path, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "home"))
    added = run(["add", str(folder), "--no-embed", "--json"]).json
    assert added["written"] == 3
    assert run(["get", "boats", "boat-2", "--json"]).json["year"] == 1902


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda place: (place / "manifest.json").write_text("{}"),
            "not the manifest of an exported catalogue",
        ),
        (
            lambda place: write_manifest(place, lambda known: known.update(format=2)),
            "not the manifest",
        ),
        (
            lambda place: (place / "records.jsonl.zst").write_bytes(b"other"),
            "is damaged: its sha256 is not that of",
        ),
        (
            lambda place: (place / "embeddings.parquet").unlink(),
            "is missing, which manifest.json names",
        ),
        (
            lambda place: write_manifest(place, lambda known: known.update(dimension=5)),
            "a vector is not of 5 numbers",
        ),
    ],
)
def test_what_is_not_an_export_or_damaged_is_refused(
    folder: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(folder)
    with pytest.raises(InputError, match=message):
        list(ExportRows(folder).iter_rows())


def test_a_line_that_is_no_record_has_its_problem(folder: Path) -> None:
    (folder / "records.jsonl.zst").write_bytes(zstd.compress(b'{"id": "boat-0"}\n'))
    write_manifest(folder)
    (row,) = ExportRows(folder).iter_rows()
    assert (row.problem or "").startswith("not a record of an export")
