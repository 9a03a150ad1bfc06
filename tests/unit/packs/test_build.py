"""Building packs: the same catalogue gives the same files, and a folder always has the former pack
or the new one.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError, StorageError
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.packs.build import check_pack, files_folder, next_version
from stackroom.packs.entries import PackEntry, iter_entries
from stackroom.packs.manifest import (
    MANIFEST_FILE,
    SIGNATURE_FILE,
    Manifest,
    load_manifest,
)
from stackroom.shelf.port import Delete, Embedding, Put
from support.libraries import Shelved
from support.memory_shelf import MemoryShelf

pytestmark = pytest.mark.row("N4")

Build = Callable[..., tuple[Path, Manifest]]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def entries_of(folder: Path) -> list[PackEntry]:
    manifest = load_manifest(folder)
    paths = {file.name: files_folder(folder, manifest) / file.name for file in manifest.files}
    return list(iter_entries(manifest, paths))


@pytest.mark.row("A10")
def test_the_manifest_says_what_the_catalogue_is(stories: Any, build: Build) -> None:
    folder, manifest = build(stories, version="2026.46")
    assert load_manifest(folder) == manifest
    assert (manifest.catalogue, manifest.version, manifest.licence) == (
        "anime",
        "2026.46",
        "CC0-1.0",
    )
    assert (manifest.records, manifest.embeddings) == (21, 20)
    assert (manifest.model, manifest.dimension) == ("word-hash", 64)
    assert (manifest.spec.name, manifest.spec.is_package) == ("anime", True)
    assert manifest.calibration is not None
    assert list(check_pack(folder)) == []


@pytest.mark.row("A10")
def test_a_pack_gives_back_every_record_and_every_vector(stories: Any, build: Build) -> None:
    entries = entries_of(build(stories)[0])
    reader = stories.shelf.reader()
    keys = reader.find([entry.id for entry in entries], scope=WHOLE)
    assert [entry.id for entry in entries] == sorted(keys)
    known = reader.fetch(list(keys.values()), scope=WHOLE)
    assert all(entry.decode(stories.spec) == known[keys[entry.id]] for entry in entries)
    vectors = {entry.id: entry.vector.values for entry in entries if entry.vector is not None}
    assert sorted(vectors) == sorted(f"Title {number}" for number in range(20))
    assert (reader.vectors([keys[one] for one in vectors]) == list(vectors.values())).all()


def test_the_same_records_give_the_same_bytes_whatever_the_order_of_edits(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    other = Shelved(spec=stories.spec)
    other.put(
        anime("Title 3", synopsis="To be rewritten."), anime("Gone", synopsis="To be removed.")
    )
    other.put(anime("Without a vector"), embed=False)
    other.shelf.apply([Delete(RecordId("Gone"))])
    other.put(
        *(
            anime(f"Title {number}", synopsis=f"Story {number}", tags=["space"])
            for number in reversed(range(20))
        )
    )
    first, again = build(stories, "first")[0], build(other, "again")[0]
    assert files_of(first) == files_of(again)
    assert len(files_of(first)) == 4


def test_a_vector_of_a_text_that_an_earlier_spec_made_is_not_packed(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    vector = stories.embedder.embed_documents(["an older text"])[0]
    stories.shelf.apply(
        [Put(record=anime("Older"), embedding=Embedding(digest=b"o" * 32, vector=vector))]
    )
    (older,) = (entry.vector for entry in entries_of(build(stories)[0]) if entry.id == "Older")
    assert older is None


def test_a_new_pack_takes_the_place_of_the_old_one_with_its_signature(
    stories: Any, build: Build, anime: Callable[..., Record]
) -> None:
    folder, before = build(stories)
    (folder / SIGNATURE_FILE).write_bytes(b"signed")
    assert build(stories)[1] == before
    assert (folder / SIGNATURE_FILE).read_bytes() == b"signed"
    stories.put(anime("Title 7", synopsis="Another story."))
    _, after = build(stories)
    assert list(check_pack(folder)) == []
    assert before.content != after.content
    assert {path.name for path in folder.iterdir()} == {MANIFEST_FILE, after.content[:12]}


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


def test_a_catalogue_without_vectors_or_without_records_has_a_pack_too(
    stories: Any, build: Build
) -> None:
    folder, manifest = build(Shelved(spec=stories.spec), "empty")
    assert (manifest.records, list(check_pack(folder))) == (0, [])
    bare = Shelved(spec=stories.spec)
    bare.shelf = MemoryShelf(stories.spec, model=None)
    folder, manifest = build(bare, "bare")
    assert (manifest.model, manifest.calibration, list(check_pack(folder))) == (None, None, [])


def test_a_catalogue_with_a_record_that_cannot_be_read_is_not_packed(
    stories: Any, build: Build
) -> None:
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
    (tmp_path / "pack" / "thesis.odt").rename(tmp_path / "thesis.odt")
    folder, manifest = build(stories)
    shutil.copy(tmp_path / "thesis.odt", files_folder(folder, manifest))
    with pytest.raises(InputError, match="and is no pack"):
        build(stories)


class _Killed(BaseException):
    """The end of a process, as far as its files are concerned: nothing is put in order."""


@pytest.mark.parametrize("step", range(3))
def test_a_build_that_ends_at_any_write_leaves_the_former_pack_or_the_new_one(
    stories: Any,
    build: Build,
    anime: Callable[..., Record],
    step: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, before = build(stories)
    stories.put(*(anime(f"Title {number}", synopsis=f"Rewritten {number}") for number in range(20)))
    with monkeypatch.context() as patch, suppress(_Killed):
        _die_at(step, patch)
        build(stories)
    assert list(check_pack(folder)) == []
    is_former = load_manifest(folder) == before
    _, after = build(stories)
    assert is_former or load_manifest(folder) == after
    assert {path.name for path in folder.iterdir()} == {MANIFEST_FILE, after.content[:12]}


def _die_at(step: int, patch: pytest.MonkeyPatch) -> None:
    """End the process when it puts its next file but so many in place."""
    replace, left = os.replace, [step]

    def counting(*arguments: Any) -> None:
        if not left[0]:
            raise _Killed
        left[0] -= 1
        replace(*arguments)

    patch.setattr(os, "replace", counting)
