"""Building packs: the same catalogue gives the same files, and an edit changes the blocks of its record alone."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pinakes.errors import InputError, StorageError
from pinakes.model.record import Record, RecordId
from pinakes.model.scope import WHOLE
from pinakes.packs.blocks import load_block, parse_records, parse_vectors
from pinakes.packs.builder import next_version
from pinakes.packs.manifest import BlockKind, Manifest, block_path, load_manifest
from pinakes.packs.verify import check_pack
from pinakes.shelf.port import Delete, Embedding, Put
from support.libraries import Shelved
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("N4")

Build = Callable[..., tuple[Path, Manifest]]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.row("A10")
def test_the_manifest_says_what_the_catalogue_is(stories: Any, build: Build) -> None:
    folder, manifest = build(stories, version="2026.46")
    assert load_manifest(folder) == manifest
    assert (manifest.catalogue, manifest.version, manifest.licence) == ("anime", "2026.46", "CC0-1.0")
    assert (manifest.records, manifest.embeddings) == (21, 20)
    assert (manifest.model, manifest.dimension) == ("word-hash", 64)
    assert (manifest.spec.name, manifest.spec.is_package) == ("anime", True)
    assert manifest.calibration is not None
    assert manifest.quality is not None
    assert list(check_pack(folder)) == []


@pytest.mark.row("A10")
def test_the_blocks_give_back_every_record_and_every_vector(stories: Any, build: Build) -> None:
    folder, manifest = build(stories, cut=4)
    reader = stories.shelf.reader()
    contents = {kind: [load_block(folder, one) for one in manifest.of_kind(kind)] for kind in BlockKind}
    records = [one for content in contents[BlockKind.RECORDS] for one in parse_records(content)]
    keys = reader.find([one.id for one in records], scope=WHOLE)
    assert [one.id for one in records] == sorted(keys)
    known = reader.fetch(list(keys.values()), scope=WHOLE)
    assert all(one.decode(stories.spec) == known[keys[one.id]] for one in records)
    vectors = [one for content in contents[BlockKind.VECTORS] for one in parse_vectors(content, dimension=64)]
    assert [one.id for one in vectors] == sorted(f"Title {number}" for number in range(20))
    assert (reader.vectors([keys[one.id] for one in vectors]) == [one.vector for one in vectors]).all()


def test_the_same_records_give_the_same_bytes_whatever_the_order_of_edits(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    other = Shelved(spec=stories.spec)
    other.put(anime("Title 3", synopsis="To be rewritten."), anime("Gone", synopsis="To be removed."))
    other.put(anime("Without a vector"), embed=False)
    other.shelf.apply([Delete(RecordId("Gone"))])
    other.put(*(anime(f"Title {number}", synopsis=f"Story {number}", tags=["space"]) for number in reversed(range(20))))
    first, again = build(stories, "first", cut=4)[0], build(other, "again", cut=4)[0]
    assert files_of(first) == files_of(again)
    assert len(files_of(first)) > 10


def test_a_vector_of_a_text_that_an_earlier_spec_made_is_packed_with_the_digest_of_that_text(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    vector = stories.embedder.embed_documents(["an older text"])[0]
    stories.shelf.apply([Put(record=anime("Older"), embedding=Embedding(digest=b"o" * 32, vector=vector))])
    folder, manifest = build(stories)
    contents = [load_block(folder, one) for one in manifest.of_kind(BlockKind.VECTORS)]
    (older,) = (one for content in contents for one in parse_vectors(content, dimension=64) if one.id == "Older")
    assert older.digest == b"o" * 32
    assert (older.vector == vector).all()


def test_a_record_that_changes_while_its_pack_is_built_has_the_vector_of_the_text_that_it_had(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    changed = stories.shelf.reader().find([RecordId("Title 7")], scope=WHOLE)["Title 7"]
    before = build(stories, "before")[1]
    assert build(_WithChangedRecord(stories.shelf.reader(), changed), "meanwhile")[1] == before


def test_an_edit_changes_the_blocks_of_its_record_and_no_others(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    before = build(stories, "before", cut=4)[1]
    stories.put(anime("Title 7", synopsis="Another story."))
    after = build(stories, "after", cut=4)[1]
    moved = {block.sha256 for block in after.blocks} - {block.sha256 for block in before.blocks}
    assert len(moved) == 2
    assert before.content != after.content


def test_a_new_pack_takes_the_place_of_the_old_one_and_keeps_the_blocks_that_stay(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    folder, before = build(stories, cut=4)
    (folder / "blocks" / "half.zst.new").write_bytes(b"left by a build that was killed")
    kept = {path.name: path.stat().st_ino for path in (folder / "blocks").iterdir()}
    stories.put(anime("Title 7", synopsis="Another story."))
    _, after = build(stories, cut=4)
    assert list(check_pack(folder)) == []
    names = {block.file_name for block in after.all_blocks}
    assert {path.name for path in (folder / "blocks").iterdir()} == names
    stayed = names & {block.file_name for block in before.all_blocks}
    assert len(stayed) == len(names) - 2
    assert all((folder / "blocks" / name).stat().st_ino == kept[name] for name in stayed)


def test_a_block_that_was_damaged_is_written_anew_by_the_next_build(stories: Any, build: Build) -> None:
    folder, manifest = build(stories, cut=4)
    path = block_path(folder, manifest.blocks[0])
    path.write_bytes(bytes(len(path.read_bytes())))
    assert list(check_pack(folder)) != []
    build(stories, cut=4)
    assert list(check_pack(folder)) == []


def test_without_a_version_a_changed_pack_counts_up_and_the_same_one_does_not(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    assert build(stories)[1].version == "1"
    assert build(stories)[1].version == "1"
    stories.put(anime("One more", synopsis="New."))
    assert build(stories)[1].version == "2"
    last = build(stories, version="2026.46")[1]
    assert next_version(last, "other") == "2026.47"
    assert next_version(build(stories, version="beta")[1], "other") == "beta.1"


def test_a_catalogue_without_vectors_or_without_records_has_a_pack_too(stories: Any, build: Build) -> None:
    folder, manifest = build(Shelved(spec=stories.spec), "empty")
    assert (manifest.records, manifest.blocks, list(check_pack(folder))) == (0, (), [])
    bare = Shelved(spec=stories.spec)
    bare.shelf = MemoryShelf(stories.spec, model=None)
    folder, manifest = build(bare, "bare")
    assert (manifest.model, manifest.calibration, list(check_pack(folder))) == (None, None, [])


def test_a_catalogue_with_a_record_that_cannot_be_read_is_not_packed(stories: Any, build: Build) -> None:
    folder, manifest = build(stories)
    with pytest.raises(StorageError, match="1 of its records cannot be read"):
        build(_WithLostRecord(stories.shelf.reader()))
    assert load_manifest(folder) == manifest


class _WithLostRecord:
    """A shelf whose index still has a record that its store has lost; its own snapshot."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.shelf = self

    def reader(self) -> Any:
        return self

    def fetch(self, keys: Any, **named: Any) -> Any:
        return dict(list(self._reader.fetch(keys, **named).items())[1:])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


class _WithChangedRecord(_WithLostRecord):
    """A shelf with a record that was changed after the snapshot."""

    def __init__(self, reader: Any, changed: Any) -> None:
        super().__init__(reader)
        self._changed = changed

    def fetch(self, keys: Any, **named: Any) -> Any:
        return self._reader.fetch(keys, **named)

    def embeddings(self, keys: Any) -> Any:
        return self._reader.embeddings([key for key in keys if key != self._changed])


@pytest.mark.parametrize("version", ["", "a b", "../x", "x" * 65])
def test_a_version_that_cannot_name_a_release_is_refused_before_anything_is_written(
    stories: Any, build: Build, tmp_path: Path, version: str
) -> None:
    with pytest.raises(InputError, match="cannot be a version"):
        build(stories, version=version)
    assert not (tmp_path / "pack").exists()


def test_a_place_with_other_files_is_left_alone(stories: Any, build: Build, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "thesis.odt").write_text("years of work")
    with pytest.raises(InputError, match=r"has thesis\.odt in it, and is no pack"):
        build(stories)
    (tmp_path / "file").write_text("a file where a folder must be")
    with pytest.raises(InputError, match="is a file"):
        build(stories, "file")


class _Killed(BaseException):
    """The end of a process, as far as its files are concerned: nothing is put in order."""


@pytest.mark.parametrize("step", range(13))
def test_a_build_that_ends_at_any_write_leaves_the_former_pack_or_the_new_one(
    stories: Any, build: Build, anime: Callable[..., Record], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before = build(stories, cut=4)
    stories.put(*(anime(f"Title {number}", synopsis=f"Rewritten {number}") for number in range(20)))
    with monkeypatch.context() as patch, suppress(_Killed):
        _die_at(step, patch)
        build(stories, cut=4)
    assert list(check_pack(folder)) == []
    is_former = load_manifest(folder) == before
    _, after = build(stories, cut=4)
    assert is_former or load_manifest(folder) == after
    assert {path.name for path in (folder / "blocks").iterdir()} == {block.file_name for block in after.all_blocks}


def _die_at(step: int, patch: pytest.MonkeyPatch) -> None:
    """End the process when it puts its next file but so many in place."""
    replace, left = os.replace, [step]

    def counting(*arguments: Any) -> None:
        if not left[0]:
            raise _Killed
        left[0] -= 1
        replace(*arguments)

    patch.setattr(os, "replace", counting)
