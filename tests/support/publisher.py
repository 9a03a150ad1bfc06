"""A publisher of releases for tests: versions of an invented catalogue, in a folder that is a place.

Every record of a version names the version, so that an answer of two versions at once is seen.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pinakes.catalogue.embedded_text import find_digest
from pinakes.catalogue.loader import LoadedSpec, compile_text
from pinakes.catalogue.spec import embedding_text
from pinakes.model.record import Record, RecordId
from pinakes.model.vectors import ModelId, Vector
from pinakes.packs.builder import PackLabel, build_pack
from pinakes.packs.delta import build_delta, describe_delta
from pinakes.packs.manifest import SHORT, Manifest, PackCalibration, block_path, load_manifest
from pinakes.packs.signing import SecretKey
from pinakes.shelf.port import Embedding, Put
from support.embedders import WORD_MODEL, word_vector
from support.memory_shelf import MemoryShelf

NAME = "stars"
SPEC = """
name = "stars"
title = "Stars"
summary = "Stars with their stories."
id = "id"
editable = true

[kinds.star]
title = "Star"

[fields.title]
type = "text"
role = "title"
required = true
search = true

[fields.story]
type = "text"
role = "body"
search = true

[fields.version]
type = "text"
filter = "equals"

[embed]
template = "{title}. {story}"
"""
WORDS = ("amber", "bright", "calm", "distant", "eastern", "faint", "golden", "hidden", "icy", "jagged")


def make_star(number: int, version: str, **fields: Any) -> Record:
    """Return one record of a version."""
    word = WORDS[number % len(WORDS)]
    story = f"a {word} star of number {number}, as of {version}"
    values = {"title": f"Star {number}", "story": story, "version": version, **fields}
    return Record(id=RecordId(f"s{number:05}"), kind="star", fields=values)


def versions_in_answer(answer: Mapping[str, Any]) -> set[str]:
    """Return the versions that the records of an answer of `search` name in their stories."""
    return {hit["text"].rpartition("as of ")[2] for hit in answer["results"]}


def make_stars(count: int, version: str) -> dict[RecordId, Record]:
    """Return the records of a version, all of which name it."""
    made = (make_star(number, version) for number in range(count))
    return {record.id: record for record in made}


@dataclass(kw_only=True)
class Publisher:
    """Publishes versions of a catalogue into a folder, with an index in the layout of GitHub's releases."""

    folder: Path
    packs: Path
    name: str = NAME
    spec: str = SPEC
    model: ModelId | None = WORD_MODEL
    key: SecretKey | None = None
    index: list[dict[str, Any]] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)

    def publish(self, version: str, records: Iterable[Record], *, has_delta: bool = True, **label: Any) -> Manifest:
        """Build the pack of a version, and add it as a release with the files that no former one has."""
        manifest = self.build(version, records, has_delta=has_delta, **label)
        self.add_release(version, manifest)
        return manifest

    def build(self, version: str, records: Iterable[Record], *, has_delta: bool = True, **label: Any) -> Manifest:
        """Build the pack of a version in a folder of its own."""
        pack = self.packs / version
        loaded = LoadedSpec(spec=compile_text(self.spec, origin="a test"), declaration=self.spec)
        told = PackLabel(catalogue=self.name, loaded=loaded, version=version, calibration=_calibration(), **label)
        manifest = build_pack(self._shelved(loaded, records).reader(), told, pack)
        if has_delta and self.versions:
            manifest = self._with_delta(pack, manifest)
        self.versions.append(version)
        return manifest

    def _shelved(self, loaded: LoadedSpec, records: Iterable[Record]) -> MemoryShelf:
        shelf = MemoryShelf(loaded.spec, model=self.model)
        shelf.apply([self._put(loaded, record) for record in records])
        return shelf

    def _put(self, loaded: LoadedSpec, record: Record) -> Put:
        digest, spec = find_digest(record, loaded.spec), loaded.spec
        if digest is None or spec.embed is None or self.model is None:
            return Put(record=record)
        vector = _vector_of(embedding_text(spec.embed, record), self.model.dimension)
        return Put(record=record, embedding=Embedding(digest=digest, vector=vector))

    def _with_delta(self, pack: Path, manifest: Manifest) -> Manifest:
        former = self.packs / self.versions[-1]
        delta = build_delta(former, pack)
        block_path(pack, delta.block).write_bytes(delta.data)
        return replace(manifest, deltas=(describe_delta(load_manifest(former), delta),))

    def add_release(self, tag: str, manifest: Manifest, *, files: Mapping[str, bytes] | None = None) -> None:
        """Write the files of a release that no former one has, and put it at the head of the index."""
        release = self.folder / tag
        release.mkdir(parents=True)
        content = manifest.dump()
        wanted = {"manifest.json": content, **(files or {})}
        if self.key is not None and "manifest.json.minisig" not in wanted:
            wanted["manifest.json.minisig"] = self.key.sign(content, comment=f"{self.name} {tag}")
        for name, data in wanted.items():
            (release / name).write_bytes(data)
        self._copy_blocks(release, manifest)
        assets = [_asset(path, tag) for path in sorted(release.iterdir())]
        self.index.insert(0, {"tag_name": tag, "name": tag, "draft": False, "prerelease": False, "assets": assets})
        self.write_index()

    def _copy_blocks(self, release: Path, manifest: Manifest) -> None:
        known = {asset["name"] for one in self.index for asset in one["assets"]}
        pack = self.packs / manifest.version
        for block in manifest.all_blocks:
            if block.file_name not in known:
                shutil.copyfile(block_path(pack, block), release / block.file_name)
        for delta in manifest.deltas:
            name = f"delta-{delta.base[:SHORT]}-{manifest.content[:SHORT]}.zst"
            shutil.copyfile(block_path(pack, delta.block), release / name)

    def write_index(self) -> None:
        """Write the index as it is now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "releases.json").write_text(json.dumps(self.index), encoding="utf-8")


@cache
def _vector_of(text: str, dimension: int) -> Vector:
    return word_vector(text, dimension)


def _asset(path: Path, tag: str) -> dict[str, Any]:
    return {"name": path.name, "size": path.stat().st_size, "browser_download_url": f"{tag}/{path.name}"}


def _calibration() -> PackCalibration:
    return PackCalibration(middle=0.25, spread=0.1)


def new_publisher(folder: Path) -> Publisher:
    """Return a publisher whose place is `folder/place`."""
    return Publisher(folder=folder / "place", packs=folder / "packs")
