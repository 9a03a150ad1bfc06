"""A publisher of releases for tests: versions of an invented catalogue, in a folder that is a
place.

Every record of a version names the version, so that an answer of two versions at once is seen.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from stackroom.catalogue.codec import find_digest
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.catalogue.spec import embedding_text
from stackroom.model.record import Record, RecordId
from stackroom.model.vectors import ModelId, Vector
from stackroom.packs.build import PackLabel, build_pack, files_folder
from stackroom.packs.manifest import Manifest, PackCalibration, load_manifest
from stackroom.packs.patches import make_patch, patch_name, read_content
from stackroom.shelf.port import Embedding, Put
from support.embedders import WORD_MODEL, word_vector
from support.memory_shelf import MemoryShelf
from support.signer import Signer

NAME = "stars"
SPEC = """
name = "stars"
title = "Stars"
summary = "Stars with their stories."
id = "id"
editable = true

[kinds.star]
title = "Star"

[fields]
title = { type = "text", role = "title", required = true, search = true }
story = { type = "text", role = "body", search = true }
version = { type = "text", filter = "equals" }

[embed]
template = "{title}. {story}"
"""
WORDS = (
    "amber",
    "bright",
    "calm",
    "distant",
    "eastern",
    "faint",
    "golden",
    "hidden",
    "icy",
    "jagged",
)


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
    """Publishes versions of a catalogue into a folder, with an index in the layout of GitHub's
    releases.
    """

    folder: Path
    packs: Path
    name: str = NAME
    spec: str = SPEC
    model: ModelId | None = WORD_MODEL
    key: Signer | None = None
    index: list[dict[str, Any]] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)

    def publish(
        self, version: str, records: Iterable[Record], *, has_patches: bool = True, **label: Any
    ) -> Manifest:
        """Build the pack of a version, and add it as a release, with patches from the one
        before.
        """
        manifest = self.build(version, records, **label)
        self.add_release(version, manifest, has_patches=has_patches)
        return manifest

    def build(self, version: str, records: Iterable[Record], **label: Any) -> Manifest:
        """Build the pack of a version in a folder of its own."""
        loaded = LoadedSpec(spec=compile_text(self.spec, origin="a test"), declaration=self.spec)
        told = PackLabel(
            catalogue=self.name, loaded=loaded, version=version, calibration=_calibration(), **label
        )
        return build_pack(self._shelved(loaded, records).reader(), told, self.packs / version)

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

    def add_release(
        self,
        tag: str,
        manifest: Manifest,
        *,
        files: Mapping[str, bytes] | None = None,
        has_patches: bool = False,
    ) -> None:
        """Write the files of a release, and put it at the head of the index."""
        release = self.folder / tag
        shutil.copytree(files_folder(self.packs / manifest.version, manifest), release)
        content = manifest.dump()
        wanted = {"manifest.json": content, **(files or {})}
        if self.key is not None and "manifest.json.minisig" not in wanted:
            wanted["manifest.json.minisig"] = self.key.sign(content, comment=f"{self.name} {tag}")
        for name, data in wanted.items():
            (release / name).write_bytes(data)
        if has_patches and self.versions:
            self._add_patches(release, manifest)
        self.versions.append(manifest.version)
        assets = [_asset(path, tag) for path in sorted(release.iterdir())]
        self.index.insert(
            0, {"tag_name": tag, "name": tag, "draft": False, "prerelease": False, "assets": assets}
        )
        self.write_index()

    def _add_patches(self, release: Path, manifest: Manifest) -> None:
        former = self.packs / self.versions[-1]
        base = load_manifest(former)
        for file in manifest.files:
            old = base.find_file(file.name)
            if old is not None and old.content != file.content:
                before = read_content(files_folder(former, base) / old.name, old)
                after = read_content(release / file.name, file)
                (release / patch_name(old, file)).write_bytes(make_patch(before, after))

    def write_index(self) -> None:
        """Write the index as it is now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "releases.json").write_text(json.dumps(self.index), encoding="utf-8")


@cache
def _vector_of(text: str, dimension: int) -> Vector:
    return word_vector(text, dimension)


def _asset(path: Path, tag: str) -> dict[str, Any]:
    return {
        "name": path.name,
        "size": path.stat().st_size,
        "browser_download_url": f"{tag}/{path.name}",
    }


def _calibration() -> PackCalibration:
    return PackCalibration(middle=0.25, spread=0.1)


def new_publisher(folder: Path) -> Publisher:
    """Return a publisher whose place is `folder/place`."""
    return Publisher(folder=folder / "place", packs=folder / "packs")


def patches_of(publisher: Publisher, version: str) -> list[Path]:
    """Return the patches of a release."""
    return sorted((publisher.folder / version).glob("*.patch"))
