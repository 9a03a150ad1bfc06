"""Publishing packs as releases in a folder: what is written, what is kept, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import ConflictError, StorageError
from stackroom.packs.build import files_folder
from stackroom.packs.manifest import EMBEDDINGS_FILE, RECORDS_FILE, SIGNATURE_FILE, load_manifest
from stackroom.packs.patches import apply_patch, patch_name, read_content
from stackroom.packs.places import find_release, open_place, parse_index
from stackroom.packs.publish import PublishedRelease, publish_pack
from stackroom.settings import Settings
from support.publisher import Publisher, make_star, make_stars, new_publisher
from support.signer import Signer

pytestmark = pytest.mark.row("A11")

STARS = 1_500

Publish = Callable[..., PublishedRelease]


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packs 1 to 4 of one catalogue: each changes a record of the one before, and the last all of
    them.
    """
    publisher: Publisher = new_publisher(tmp_path_factory.mktemp("packs"))
    stars = make_stars(STARS, "1")
    for version in ("1", "2", "3"):
        changed = make_star(int(version), version)
        stars = {**stars, changed.id: changed}
        publisher.build(version, stars.values())
    publisher.build("4", make_stars(STARS, "4").values())
    return publisher.packs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def publish(packs: Path, folder: Path) -> Publish:
    def make(version: str, **options: Any) -> PublishedRelease:
        return publish_pack(packs / version, folder, **options)

    return make


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


def test_patches_lead_from_the_last_releases_to_the_new_one(
    publish: Publish, folder: Path, packs: Path
) -> None:
    publish("1")
    publish("2")
    third = publish("3")

    assert len(list(third.folder.glob("*.patch"))) == 4
    for name in (RECORDS_FILE, EMBEDDINGS_FILE):
        target = third.manifest.get_file(name)
        for version in "12":
            manifest = load_manifest(packs / version)
            base = manifest.get_file(name)
            patch = (third.folder / patch_name(base, target)).read_bytes()
            old = read_content(files_folder(packs / version, manifest) / name, base)
            assert len(patch) < target.size_bytes / 10
            assert apply_patch(old, patch, target) == read_content(third.folder / name, target)
    assert not list((folder / "releases" / "2").glob("*.patch"))


def test_the_same_content_is_published_once(publish: Publish, folder: Path) -> None:
    publish("1")
    before = (folder / "releases.json").read_bytes()

    again = publish("1")

    assert not again.is_new
    assert (folder / "releases.json").read_bytes() == before


def test_folders_that_are_no_releases_are_left_alone(publish: Publish, folder: Path) -> None:
    publish("1")
    others = [folder / "releases" / "otherapp" / "app.tgz", folder / "README"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    (folder / "releases" / ".unfinished").mkdir()

    publish("2")

    assert all(path.exists() for path in others)
    assert sorted(path.name for path in (folder / "releases").iterdir()) == ["1", "2", "otherapp"]


def test_nothing_is_published_where_a_manifest_cannot_be_read(
    publish: Publish, folder: Path
) -> None:
    publish("1")
    publish("2")
    (folder / "releases" / "1" / "manifest.json").write_bytes(b"{}")
    before = (folder / "releases.json").read_bytes()

    with pytest.raises(StorageError, match=r"1/manifest\.json"):
        publish("3")

    assert (folder / "releases.json").read_bytes() == before


def test_the_releases_of_another_machine_are_gone_on_from(
    publish: Publish, packs: Path, folder: Path
) -> None:
    brought = folder / "releases" / "stars-2"
    manifest = load_manifest(packs / "2")
    brought.mkdir(parents=True)
    for path in [packs / "2" / "manifest.json", *files_folder(packs / "2", manifest).iterdir()]:
        (brought / path.name).write_bytes(path.read_bytes())

    published = publish("3")

    assert len(list(published.folder.glob("*.patch"))) == 2
    assert [release.tag for release in parse_index((folder / "releases.json").read_bytes())] == [
        "3",
        "stars-2",
    ]


def test_a_version_that_does_not_follow_the_newest_is_refused(publish: Publish) -> None:
    publish("2")

    with pytest.raises(ConflictError, match="version 1 does not come after 2"):
        publish("1")


def test_the_signature_of_a_pack_is_published_and_none_follows_without_one(
    publish: Publish, folder: Path, packs: Path, settings: Settings
) -> None:
    key = Signer.new()
    path = packs / "1" / SIGNATURE_FILE
    path.write_bytes(key.sign((packs / "1" / "manifest.json").read_bytes()))
    try:
        publish("1")
    finally:
        path.unlink()

    find_release(open_place(str(folder), settings), key=str(key.public))
    with pytest.raises(
        ConflictError,
        match=r"release '1' is signed, and the pack is not; sign it: minisign -Sm .*/2/",
    ):
        publish("2")
