"""The exchange format: its files are what the manifest says, and are read back with their vectors, or not at all."""

import hashlib
from pathlib import Path
from typing import Any

import arro3.io
import numpy as np
import orjson
import pytest
import zstandard

from pinakes.api.registry import get_package
from pinakes.errors import InputError, StorageError
from pinakes.model.scope import WHOLE
from pinakes.packs.exchange import write_exchange
from pinakes.sources.exchange_rows import DECLARATION, EMBEDDINGS, MANIFEST, RECORDS, ExchangeRows
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("A10")


@pytest.fixture
def export(stories: Any, tmp_path: Path) -> Path:
    write_exchange(stories.shelf.reader(), get_package("anime").loaded, tmp_path / "export", name="anime")
    return tmp_path / "export"


def manifest_of(export: Path) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((export / MANIFEST).read_bytes())
    return found


def test_the_manifest_has_the_counts_the_model_and_the_checksum_of_every_file(export: Path) -> None:
    manifest = manifest_of(export)
    assert (manifest["records"], manifest["embeddings"]) == (21, 20)
    assert (manifest["model"], manifest["dimension"], manifest["catalogue"]) == ("word-hash", 64, "anime")
    assert set(manifest["files"]) == {file.name for file in export.iterdir()} - {MANIFEST}
    for name, entry in manifest["files"].items():
        content = (export / name).read_bytes()
        assert entry == {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}


def test_the_records_are_all_there_one_a_line(export: Path, stories: Any) -> None:
    with (export / RECORDS).open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()
    records = [orjson.loads(line) for line in lines]
    ids = [record["id"] for record in records]
    assert ids == sorted([*(f"Title {number}" for number in range(20)), "Without a vector"])
    assert records[0]["fields"]["synopsis"] == "Story 0"


def test_the_parquet_file_gives_back_the_vectors_with_their_ids(export: Path, stories: Any) -> None:
    table = arro3.io.read_parquet(str(export / EMBEDDINGS)).read_all()
    ids = [str(one) for one in table.column("id").to_pylist()]
    vectors = np.array(table.column("embedding").to_pylist(), dtype=np.float32)
    reader = stories.shelf.reader()
    keys = reader.find(ids, scope=WHOLE)
    assert ids == sorted(f"Title {number}" for number in range(20))
    assert (vectors == reader.vectors([keys[one] for one in ids])).all()


def test_the_rows_of_an_export_bring_their_records_and_vectors(export: Path, stories: Any) -> None:
    source = ExchangeRows(export)
    rows = list(source.iter_rows())
    assert (source.catalogue, source.spec_name, source.count_rows(), len(rows)) == ("anime", "anime", 21, 21)
    assert [row.record.id for row in rows if row.record and row.vector is None] == ["Without a vector"]
    reader = stories.shelf.reader()
    for row in rows[:20]:
        assert row.record is not None
        assert row.vector is not None
        (vector,) = reader.vectors(list(reader.find([row.record.id], scope=WHOLE).values()))
        assert (row.vector.values == vector).all()
    assert [row.place for row in source.iter_rows(start=19)] == ["line 20", "line 21"]


@pytest.mark.parametrize("name", [RECORDS, EMBEDDINGS, DECLARATION])
@pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
def test_a_single_flipped_bit_of_an_export_is_found_before_the_first_row(export: Path, name: str, place: float) -> None:
    content = bytearray((export / name).read_bytes())
    content[int(len(content) * place)] ^= 1
    (export / name).write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        next(ExchangeRows(export).iter_rows())


def test_a_missing_file_of_an_export_is_named(export: Path) -> None:
    (export / EMBEDDINGS).unlink()
    with pytest.raises(InputError, match=f"{EMBEDDINGS} is missing"):
        next(ExchangeRows(export).iter_rows())


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b'{"format": 1, "files": 7}', b"\xff"])
def test_a_manifest_that_cannot_be_made_out_is_a_clear_error(export: Path, content: bytes) -> None:
    (export / MANIFEST).write_bytes(content)
    with pytest.raises(InputError, match=r"manifest\.json"):
        next(ExchangeRows(export).iter_rows())


def test_a_new_export_takes_the_place_of_the_old_one_whole_and_of_nothing_else(
    export: Path, stories: Any, tmp_path: Path
) -> None:
    manifest = manifest_of(export)
    (export / "leftover").write_text("of a package, and listed by the earlier export")
    (export / MANIFEST).write_bytes(orjson.dumps({**manifest, "files": {**manifest["files"], "leftover": {}}}))
    loaded = get_package("anime").loaded
    write_exchange(stories.shelf.reader(), loaded, export, name="anime")
    assert manifest_of(export) == manifest
    assert {path.name for path in export.iterdir()} == {MANIFEST, *manifest["files"]}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.odt").write_text("years of work")
    with pytest.raises(InputError, match="has other files in it"):
        write_exchange(stories.shelf.reader(), loaded, tmp_path / "mine", name="anime")
    (tmp_path / "mine.new").write_text("a file where a folder must be")
    with pytest.raises(StorageError, match="could not be written"):
        write_exchange(stories.shelf.reader(), loaded, tmp_path / "mine.new" / "x", name="anime")


def test_an_export_removes_no_file_that_it_did_not_write(export: Path, stories: Any, tmp_path: Path) -> None:
    reader, loaded = stories.shelf.reader(), get_package("anime").loaded
    (tmp_path / "export.new").mkdir()
    (tmp_path / "export.new" / "thesis.odt").write_text("years of work")
    write_exchange(reader, loaded, export, name="anime")
    assert (tmp_path / "export.new" / "thesis.odt").is_file()
    (export / ".git").mkdir()
    (export / "README.md").write_text("mine")
    with pytest.raises(InputError, match=r"such as \.git, README\.md"):
        write_exchange(reader, loaded, export, name="anime")
    assert (export / "README.md").read_text() == "mine"
    assert len(list(ExchangeRows(export).iter_rows())) == 21


def test_a_manifest_that_lists_files_elsewhere_lets_an_export_remove_none_of_them(export: Path, stories: Any) -> None:
    mine = export.parent / "mine"
    mine.write_text("mine")
    (export / MANIFEST).write_bytes(orjson.dumps({**manifest_of(export), "files": {"../mine": {}, str(mine): {}}}))
    write_exchange(stories.shelf.reader(), get_package("anime").loaded, export, name="anime")
    assert mine.is_file()


def test_an_export_that_was_interrupted_is_written_again(export: Path, stories: Any) -> None:
    whole = manifest_of(export)
    unfinished = export / ".unfinished-export"
    unfinished.mkdir()
    (unfinished / MANIFEST).write_bytes(orjson.dumps({**whole, "files": {**whole["files"], "added.db": {}}}))
    (export / "added.db").write_bytes(b"moved before the interruption")
    (export / MANIFEST).unlink()
    write_exchange(stories.shelf.reader(), get_package("anime").loaded, export, name="anime")
    assert manifest_of(export) == whole
    assert {path.name for path in export.iterdir()} == {MANIFEST, *whole["files"]}


def test_a_catalogue_without_vectors_has_an_export_without_a_parquet_file(stories: Any, tmp_path: Path) -> None:
    empty, loaded = MemoryShelf(stories.spec, model=None).reader(), get_package("anime").loaded
    manifest = write_exchange(empty, loaded, tmp_path / "export", name="anime")
    assert (manifest["records"], manifest["embeddings"], manifest["model"]) == (0, 0, None)
    assert not (tmp_path / "export" / EMBEDDINGS).exists()
    assert list(ExchangeRows(tmp_path / "export").iter_rows()) == []
