"""Packs: what is in them is what the manifest says, and any damage shows."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arro3.io
import numpy as np
import orjson
import pytest
import zstandard

from pinakes.errors import StorageError
from pinakes.model.record import Record
from pinakes.model.scope import WHOLE
from pinakes.packs.builder import DECLARATION, EMBEDDINGS, MANIFEST, RECORDS, build_pack, check_pack
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("A10")


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    shelved.put(*(anime(f"Title {number}", synopsis=f"Story {number}", tags=["space"]) for number in range(20)))
    shelved.put(anime("Without a vector"), embed=False)
    return shelved


@pytest.fixture
def pack(stories: Any, tmp_path: Path) -> Path:
    build_pack(stories.shelf.reader(), 'name = "anime"', tmp_path / "pack", name="anime")
    return tmp_path / "pack"


def manifest_of(pack: Path) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((pack / MANIFEST).read_bytes())
    return found


def test_the_manifest_has_the_counts_the_model_and_the_checksum_of_every_file(pack: Path) -> None:
    manifest = manifest_of(pack)
    assert (manifest["records"], manifest["embeddings"]) == (21, 20)
    assert (manifest["model"], manifest["dimension"], manifest["catalogue"]) == ("word-hash", 64, "anime")
    assert set(manifest["files"]) == {file.name for file in pack.iterdir()} - {MANIFEST}
    for name, entry in manifest["files"].items():
        content = (pack / name).read_bytes()
        assert entry == {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    assert check_pack(pack) == []


def test_the_records_are_all_there_one_a_line(pack: Path, stories: Any) -> None:
    with (pack / RECORDS).open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()
    records = [orjson.loads(line) for line in lines]
    assert [record["id"] for record in records] == [*(f"Title {number}" for number in range(20)), "Without a vector"]
    assert records[0]["fields"]["synopsis"] == "Story 0"


def test_the_parquet_file_gives_back_the_vectors_with_their_ids(pack: Path, stories: Any) -> None:
    table = arro3.io.read_parquet(str(pack / EMBEDDINGS)).read_all()
    ids = [str(one) for one in table.column("id").to_pylist()]
    vectors = np.array(table.column("embedding").to_pylist(), dtype=np.float32)
    reader = stories.shelf.reader()
    keys = reader.find(ids, scope=WHOLE)
    assert ids == [f"Title {number}" for number in range(20)]
    assert (vectors == reader.vectors([keys[one] for one in ids])).all()


@pytest.mark.parametrize("name", [RECORDS, EMBEDDINGS, DECLARATION])
@pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
def test_a_single_flipped_bit_is_found(pack: Path, name: str, place: float) -> None:
    content = bytearray((pack / name).read_bytes())
    content[int(len(content) * place)] ^= 1
    (pack / name).write_bytes(content)
    assert check_pack(pack) == [f"{pack / name} is damaged: its sha256 is not the manifest's"]


def test_a_missing_file_is_found(pack: Path) -> None:
    (pack / EMBEDDINGS).unlink()
    assert check_pack(pack) == [f"{pack / EMBEDDINGS} is missing"]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b'{"files": 7}', b'{"files": {"a": {}}}', b"\xff"])
def test_a_manifest_that_cannot_be_made_out_is_a_problem_and_not_an_exception(pack: Path, content: bytes) -> None:
    (pack / MANIFEST).write_bytes(content)
    (problem,) = check_pack(pack)
    assert str(pack / MANIFEST) in problem


def test_a_folder_without_a_manifest_is_no_pack(tmp_path: Path) -> None:
    assert len(check_pack(tmp_path)) == 1


def test_a_new_pack_takes_the_place_of_the_old_one_whole(
    pack: Path, stories: Any, anime: Callable[..., Record]
) -> None:
    (pack / "leftover").write_text("old")
    (pack.with_name("pack.new")).mkdir()
    (pack.with_name("pack.new") / "junk").write_text("from a build that was killed")
    stories.put(anime("One more", synopsis="New."))
    build_pack(stories.shelf.reader(), "", pack, name="anime")
    assert manifest_of(pack)["records"] == 22
    assert check_pack(pack) == []
    assert not (pack / "leftover").exists()
    assert not pack.with_name("pack.new").exists()


def test_a_catalogue_without_vectors_has_a_pack_without_a_parquet_file(
    stories: Any, anime: Callable[..., Record], tmp_path: Path
) -> None:
    manifest = build_pack(MemoryShelf(stories.spec, model=None).reader(), "", tmp_path / "pack", name="anime")
    assert (manifest["records"], manifest["embeddings"], manifest["model"]) == (0, 0, None)
    assert not (tmp_path / "pack" / EMBEDDINGS).exists()
    assert check_pack(tmp_path / "pack") == []


def test_a_catalogue_with_a_model_and_no_records_has_an_empty_parquet_file(shelved: Any, tmp_path: Path) -> None:
    assert build_pack(shelved.shelf.reader(), "", tmp_path / "pack", name="anime")["embeddings"] == 0
    assert arro3.io.read_parquet(str(tmp_path / "pack" / EMBEDDINGS)).read_all().num_rows == 0


def test_a_place_that_cannot_be_written_is_a_clear_error(stories: Any, tmp_path: Path) -> None:
    (tmp_path / "pack.new").write_text("a file where a folder must be")
    with pytest.raises(StorageError, match="could not be written"):
        build_pack(stories.shelf.reader(), "", tmp_path / "pack", name="anime")
