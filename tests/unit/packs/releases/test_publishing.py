"""Publishing packs as releases in a folder: what is written, what is kept, what is refused."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pinakes.errors import ConflictError, InputError, StorageError
from pinakes.packs.blocks import decode_block, load_block
from pinakes.packs.delta import rebuild_blocks
from pinakes.packs.manifest import Block, Manifest, block_path, load_manifest
from pinakes.packs.releases.index import Asset, Release, parse_index
from pinakes.packs.releases.mirror import mirror_releases
from pinakes.packs.releases.newest import find_release
from pinakes.packs.releases.places import ReleasePlace, open_place
from pinakes.packs.releases.publishing import Publication, PublishOptions, publish_pack
from pinakes.packs.signing import SecretKey
from pinakes.settings import Settings
from support.embedders import WORD_MODEL
from support.publisher import Publisher, make_star, make_stars, new_publisher

pytestmark = pytest.mark.row("A11")

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
STARS = 1_500

Publish = Callable[..., Publication]


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packs 1 to 4 of one catalogue: each changes a record of the one before, and the last all of them."""
    publisher: Publisher = new_publisher(tmp_path_factory.mktemp("packs"))
    stars = make_stars(STARS, "1")
    for version in ("1", "2", "3"):
        changed = make_star(int(version), version)
        stars = {**stars, changed.id: changed}
        publisher.build(version, stars.values(), has_delta=False)
    publisher.build("4", make_stars(STARS, "4").values(), has_delta=False)
    return publisher.packs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def publish(packs: Path, folder: Path) -> Publish:
    def make(version: str, *, sign: Any = None, **options: Any) -> Publication:
        return publish_pack(packs / version, folder, published_at=NOW, sign=sign, options=PublishOptions(**options))

    return make


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def blocks_there(folder: Path) -> set[str]:
    return {path.name for path in (folder / "blocks").iterdir()}


def needed(*manifests: Manifest) -> set[str]:
    return {block.file_name for manifest in manifests for block in manifest.all_blocks}


def test_a_published_pack_is_the_newest_release_of_the_folder(
    publish: Publish, folder: Path, settings: Settings
) -> None:
    publish("1")
    publish("2")

    found = find_release(open_place(str(folder), settings))

    assert found.manifest.version == "2"
    assert [release.tag for release in parse_index((folder / "releases.json").read_bytes())] == ["2", "1"]
    assert json.loads((folder / "releases.json").read_bytes())[0]["published_at"] == "2026-11-16T12:00:00Z"


def test_only_blocks_that_no_earlier_release_has_are_new(publish: Publish, packs: Path) -> None:
    first, second = publish("1"), publish("2")

    new = needed(load_manifest(packs / "2")) - needed(load_manifest(packs / "1"))
    assert {path.name for path in first.files} >= needed(first.manifest)
    assert {path.name for path in second.files if path.parent.name == "blocks"} == new
    assert 0 < len(new) < len(needed(second.manifest))


def test_deltas_lead_from_the_last_releases_to_the_new_one(publish: Publish, folder: Path, packs: Path) -> None:
    publish("1")
    publish("2")
    third = publish("3")

    assert [delta.base for delta in third.manifest.deltas] == [load_manifest(packs / one).content for one in "21"]
    names = {path.name for path in third.files}
    for delta in third.manifest.deltas:
        name = f"delta-{delta.base[:12]}-{third.manifest.content[:12]}.zst"
        assert name in names
    first = load_manifest(packs / "1")
    from_first = third.manifest.deltas[1]
    data = (folder / "releases" / "3" / f"delta-{first.content[:12]}-{third.manifest.content[:12]}.zst").read_bytes()

    def load(block: Block) -> bytes:
        return load_block(packs / "1", block)

    made = dict(rebuild_blocks(first, load, decode_block(from_first.block, data), third.manifest))
    missing = {block for block in third.manifest.blocks if block.content not in {one.content for one in first.blocks}}
    assert made.keys() == missing


def test_no_delta_leads_to_the_vectors_of_another_model(publish: Publish, folder: Path, tmp_path: Path) -> None:
    publish("3")
    publisher = replace(new_publisher(tmp_path), model=replace(WORD_MODEL, name="another"))
    publisher.build("5", make_stars(20, "5").values())

    published = publish_pack(publisher.packs / "5", folder, published_at=NOW)

    assert published.manifest.deltas == ()


def test_the_same_content_is_published_once(publish: Publish, folder: Path) -> None:
    publish("1")
    before = (folder / "releases.json").read_bytes()

    again = publish("1")

    assert again.files == ()
    assert (folder / "releases.json").read_bytes() == before


def test_a_pruned_release_takes_no_block_with_it_that_a_kept_one_needs(publish: Publish, folder: Path) -> None:
    for version in "123":
        publish(version)

    last = publish("4", keep=2)

    kept = [load_manifest(folder / "releases" / tag) for tag in ("3", "4")]
    assert last.removed == ("2", "1")
    assert blocks_there(folder) == needed(*kept)
    assert sorted(path.name for path in (folder / "releases").iterdir()) == ["3", "4"]


def test_pruning_leaves_the_files_of_others_alone(publish: Publish, folder: Path) -> None:
    publish("1")
    others = [folder / "releases" / "otherapp" / "app.tgz", folder / "blocks" / "README", folder / "releases/1/notes"]
    others += [folder / "releases" / "otherapp" / "manifest.json", folder / "releases" / "empty"]
    for path in others[:-1]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    others[-1].mkdir()
    half = folder / "blocks" / f"{'0' * 64}.zst.new"
    half.write_bytes(b"left by a publisher that was killed")

    assert publish("2", keep=1).removed == ("1",)

    assert all(path.exists() for path in others)
    assert [path.name for path in (folder / "releases" / "1").iterdir()] == ["notes"]
    assert not half.exists()


def test_nothing_is_pruned_where_a_manifest_cannot_be_read(publish: Publish, folder: Path) -> None:
    for version in "123":
        publish(version)
    (folder / "releases" / "2" / "manifest.json").write_bytes(b"{}")
    before = blocks_there(folder)

    with pytest.raises(StorageError, match=r"2/manifest\.json"):
        publish("3", keep=2)

    assert blocks_there(folder) == before
    assert len(json.loads((folder / "releases.json").read_bytes())) == 3


def test_a_version_that_does_not_follow_the_newest_is_refused(publish: Publish) -> None:
    publish("2")

    with pytest.raises(ConflictError, match="version 1 does not come after 2"):
        publish("1")


def test_a_tag_is_given_once(publish: Publish) -> None:
    publish("1", tag="stars-1")

    with pytest.raises(ConflictError, match="a release 'stars-1' already"):
        publish("2", tag="stars-1")


@pytest.mark.parametrize("tag", ["../x", "a/b", "-x", "a b", "x" * 101])
def test_a_tag_that_is_no_name_is_refused(publish: Publish, tag: str) -> None:
    with pytest.raises(InputError, match="'--tag' is"):
        publish("1", tag=tag)


def test_a_damaged_block_is_not_published(packs: Path, publish: Publish, folder: Path) -> None:
    path = block_path(packs / "1", load_manifest(packs / "1").blocks[0])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"?")
    try:
        with pytest.raises(StorageError, match="Nothing was published"):
            publish("1")
    finally:
        path.write_bytes(whole)

    assert not (folder / "releases.json").exists()


def test_a_release_is_signed_with_its_deltas(publish: Publish, folder: Path, settings: Settings) -> None:
    key = SecretKey.new()

    def sign(content: bytes) -> bytes:
        return key.sign(content, comment="stars")

    publish("1", sign=sign)
    publish("2", sign=sign)

    found = find_release(open_place(str(folder), settings), key=str(key.public))
    assert found.is_signed
    assert len(found.manifest.deltas) == 1


def test_a_signed_pack_is_not_given_deltas_without_the_key(publish: Publish, packs: Path) -> None:
    publish("1")
    signature = packs / "2" / "manifest.json.minisig"
    signature.write_bytes(b"signed by somebody")
    try:
        with pytest.raises(InputError, match=r"--sign.*--deltas 0"):
            publish("2")
        assert publish("2", deltas=0).manifest == load_manifest(packs / "2")
    finally:
        signature.unlink()


def test_a_machine_without_the_folder_goes_on_after_the_releases_of_a_place(
    publish: Publish, folder: Path, packs: Path, settings: Settings, tmp_path: Path
) -> None:
    for version in "12":
        publish(version)
    here = publish("3")

    (folder / "releases.json").write_text(json.dumps(json.loads((folder / "releases.json").read_bytes())[1:]))
    brought = mirror_releases(open_place(str(folder), settings), tmp_path / "there", count=4)
    there = publish_pack(packs / "3", tmp_path / "there", published_at=NOW)

    assert brought == ["2", "1"]
    assert {path.name for path in there.files} == {path.name for path in here.files}
    assert there.manifest == here.manifest


def test_the_first_release_of_all_follows_those_of_a_place_without_any(
    packs: Path, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "releases.json").write_text("[]")

    brought = mirror_releases(open_place(str(tmp_path / "place"), settings), tmp_path / "new" / "there", count=4)

    assert brought == []
    assert publish_pack(packs / "1", tmp_path / "new" / "there", published_at=NOW).tag == "1"


def test_a_folder_that_cannot_be_written_is_named(folder: Path, settings: Settings, tmp_path: Path) -> None:
    folder.mkdir()
    (folder / "releases.json").write_text("[]")
    (tmp_path / "file").write_text("where a folder must be")

    with pytest.raises(StorageError, match="file: cannot be written"):
        mirror_releases(open_place(str(folder), settings), tmp_path / "file", count=4)


@pytest.mark.parametrize("tag", ["../../escaped", "/absolute", "..", "a/b"])
def test_a_tag_that_leads_out_of_the_folder_is_not_brought(
    publish: Publish, folder: Path, settings: Settings, tmp_path: Path, tag: str
) -> None:
    publish("1")
    tag = tag.replace("/absolute", str(tmp_path / "absolute"))
    entries = json.loads((folder / "releases.json").read_bytes())
    (folder / "releases.json").write_text(json.dumps([{**entries[0], "tag_name": tag}]))

    with pytest.raises(InputError, match="expected a tag of letters"):
        mirror_releases(open_place(str(folder), settings), tmp_path / "in" / "there", count=4)

    assert not [path for path in tmp_path.rglob("manifest.json") if folder not in path.parents]


class PagedPlace:
    """A place whose pages have one release, and then the others again with it, as GitHub is asked."""

    def __init__(self, place: ReleasePlace) -> None:
        self._place = place
        self.asked: list[int] = []

    @property
    def shown(self) -> str:
        return self._place.shown

    def list_releases(self, *, page: int = 1) -> Sequence[Release]:
        self.asked.append(page)
        found = [Release(tag="not a pack"), *self._place.list_releases()]
        return {1: found[:1], 2: found}.get(page, [])

    def read(self, asset: Asset, *, max_bytes: int) -> bytes:
        return self._place.read(asset, max_bytes=max_bytes)

    def bring(self, asset: Asset, destination: Path, *, max_bytes: int, **how: Any) -> None:
        self._place.bring(asset, destination, max_bytes=max_bytes, **how)


def test_further_pages_are_read_until_a_release_with_a_pack_is_found(
    publish: Publish, folder: Path, settings: Settings, tmp_path: Path
) -> None:
    publish("1")
    publish("2")
    place = PagedPlace(open_place(str(folder), settings))

    assert find_release(place).manifest.version == "2"
    assert place.asked == [1, 2]
    assert find_release(place, version="1").manifest.version == "1"
    assert mirror_releases(place, tmp_path / "there", count=2) == ["2", "1"]
