"""Installing a catalogue from a release: whole and as it was published, or not at all."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pinakes.api.registry import get_package
from pinakes.assembly.app import App
from pinakes.assembly.releases import install
from pinakes.assembly.releases.install import install_release
from pinakes.assembly.releases.report import ReleaseProgress
from pinakes.assembly.releases.update import check_update, update_catalogue
from pinakes.errors import ConflictError, ExpectedError, InputError, NotFoundError, StorageError, UnavailableError
from pinakes.packs.blocks import PackedRecord, encode_records
from pinakes.packs.manifest import Manifest, block_path, content_of
from pinakes.packs.signing import SecretKey
from pinakes.search.calibrate import find_calibration
from support.embedders import WORD_MODEL
from support.libraries import make_anime
from support.loopback import FileServer
from support.publisher import NAME, Publisher, make_star, make_stars
from support.released import edit, pack_of, records_of, versions_of

pytestmark = pytest.mark.row("A11")


def test_a_catalogue_is_installed_with_its_vectors_spec_and_calibration(app: App, publisher: Publisher) -> None:
    said: list[str] = []

    report = install_release(app, NAME, str(publisher.folder), progress=ReleaseProgress(say=said.append))

    assert report.version == "1.0"
    assert versions_of(app) == {"1.0"}
    reader = app.open_catalogue(NAME).shelf.reader()
    assert reader.model == WORD_MODEL
    assert reader.awaiting_vectors == 0
    calibration = find_calibration(app.library.get_installed(NAME).folder / "calibration.json")
    assert calibration is not None
    assert (calibration.model, calibration.middle) == (WORD_MODEL, 0.25)
    assert app.library.get_installed(NAME).own_declaration is not None
    assert "40 records" in said[0]
    assert f"{report.fetch_bytes / 1e3:,.1f} kB to fetch" in said[0]


def test_the_release_of_a_packages_catalogue_follows_the_package(app: App, publisher: Publisher) -> None:
    package = get_package("anime")
    publisher.name, publisher.spec = "anime", package.loaded.declaration
    publisher.publish("2.0", [make_anime(f"a{number}") for number in range(5)], has_delta=False, is_package=True)

    install_release(app, "anime", str(publisher.folder))

    installed = app.library.get_installed("anime")
    assert (installed.spec_name, installed.own_declaration) == ("anime", None)
    assert len(records_of(app, "anime")) == 5


def test_a_version_is_installed_by_its_number(app: App, publisher: Publisher) -> None:
    publisher.publish("1.1", make_stars(40, "1.1").values())

    report = install_release(app, NAME, str(publisher.folder), version="1.0")

    assert report.version == "1.0"
    with pytest.raises(ConflictError, match=r"with version 1\.0; pinakes update takes the newest"):
        install_release(app, NAME, str(publisher.folder), version="1.1")


def test_installing_again_changes_nothing(app: App, publisher: Publisher) -> None:
    install_release(app, NAME, str(publisher.folder))

    assert not install_release(app, NAME, str(publisher.folder)).is_changed


@pytest.mark.parametrize("waiting_at", ["find_release", "holding_release"])
def test_an_installation_that_waited_for_another_leaves_what_that_one_installed(
    open_library: Callable[..., App], publisher: Publisher, monkeypatch: pytest.MonkeyPatch, waiting_at: str
) -> None:
    reached = getattr(install, waiting_at)

    def wait(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(install, waiting_at, reached)
        first = open_library()
        install_release(first, NAME, str(publisher.folder))
        edit(first, make_star(3, "mine"))
        return reached(*args, **options)

    monkeypatch.setattr(install, waiting_at, wait)
    report = install_release(open_library(), NAME, str(publisher.folder))

    assert not report.is_changed
    assert versions_of(open_library()) == {"1.0", "mine"}


def test_a_single_pack_is_installed_from_its_folder_or_a_server(
    open_library: Callable[..., App], publisher: Publisher
) -> None:
    pack = publisher.packs / "1.0"
    install_release(open_library("one"), NAME, str(pack))
    server = FileServer()
    files = [path for path in pack.rglob("*") if path.is_file()]
    server.files = {f"/{path.relative_to(pack).as_posix()}": path.read_bytes() for path in files}
    try:
        other = open_library("other")
        install_release(other, NAME, server.url)
    finally:
        server.die()

    assert versions_of(other) == {"1.0"}


def test_an_installation_that_was_cut_off_goes_on_without_fetching_anything_twice(
    open_library: Callable[..., App], publisher: Publisher
) -> None:
    server = FileServer()
    files = [path for path in publisher.folder.rglob("*") if path.is_file()]
    server.files = {f"/{path.relative_to(publisher.folder).as_posix()}": path.read_bytes() for path in files}
    manifest = publisher.index[0]
    blocks = sorted(asset["browser_download_url"] for asset in manifest["assets"] if asset["name"][64:] == ".zst")
    gone = server.files.pop(f"/{blocks[-1]}")
    try:
        with pytest.raises(ExpectedError):
            install_release(open_library(), NAME, server.url)
        assert [one.name for one in open_library().library.list_installed()] == []
        server.files[f"/{blocks[-1]}"] = gone
        install_release(open_library(), NAME, server.url)
    finally:
        server.die()

    assert versions_of(open_library()) == {"1.0"}


def _forged(publisher: Publisher, manifest: Manifest, body: bytes) -> Manifest:
    """Return a manifest that is right in itself, whose first block of records has one record of any content."""
    block, data = encode_records([PackedRecord("s00000", body)])  # type: ignore[arg-type]
    block_path(publisher.packs / manifest.version, block).write_bytes(data)
    spec = manifest.spec.block
    return replace(manifest, version="2.0", records=1, embeddings=0, blocks=(block,), content=content_of(spec, [block]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"fields":{"title":7},"kind":"star"}', "'title' is 7, not text"),
        (b'{"fields":{"title":"x"},"kind":"planet"}', "no kind 'planet'"),
        (b'{"fields":{"title":"x"},"kind":{"a":1}}', "malformed|no kind"),
        (b'{"fields":{"title":"x"},"kind":"star","audiences":7}', "malformed"),
    ],
)
def test_records_that_do_not_fit_the_spec_are_refused(
    app: App, publisher: Publisher, body: bytes, message: str
) -> None:
    forged = _forged(publisher, publisher.build("2.0", [], has_delta=False), body)
    publisher.add_release("2.0", forged)

    with pytest.raises(StorageError, match=message):
        install_release(app, NAME, str(publisher.folder))
    assert not (app.library.folder / NAME).exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"count": 10**12}, "has 1 entries, and its manifest says 1000000000000"),
        ({"raw_bytes": 1 << 30}, "unpacks to 1,073,741,824 bytes; at most 268,435,456 are taken"),
        ({"raw_bytes": 1}, "its content has another size"),
        ({"size_bytes": 1}, "bytes rather than 1"),
    ],
)
def test_a_manifest_that_says_something_else_than_its_blocks_is_refused(
    app: App, publisher: Publisher, wrong: dict[str, int], message: str
) -> None:
    forged = _forged(publisher, publisher.build("2.0", [], has_delta=False), b'{"fields":{"title":"x"},"kind":"star"}')
    block = replace(forged.blocks[0], **wrong)  # type: ignore[arg-type]
    publisher.add_release("2.0", replace(forged, records=block.count, blocks=(block,)))

    with pytest.raises(ExpectedError, match=message):
        install_release(app, NAME, str(publisher.folder))
    assert not (app.library.folder / NAME).exists()


def test_another_catalogue_than_the_named_one_is_refused(app: App, publisher: Publisher) -> None:
    with pytest.raises(
        InputError, match="has releases of 'stars', not of 'planets'; to install it: pinakes init stars"
    ):
        install_release(app, "planets", str(publisher.folder))
    assert not (app.library.folder / "planets").exists()


def test_a_name_that_something_else_has_is_refused(app: App, publisher: Publisher, tmp_path: Path) -> None:
    install_release(app, NAME, str(publisher.folder))
    other = Publisher(folder=tmp_path / "elsewhere", packs=tmp_path / "other packs")
    other.publish("1.0", make_stars(3, "1.0").values())

    with pytest.raises(ConflictError, match="is installed already, from"):
        install_release(app, NAME, str(other.folder))


@pytest.mark.parametrize("damage", ["flip", "truncate", "swap", "bomb", "gone"])
def test_a_block_that_is_not_the_published_one_is_refused(app: App, publisher: Publisher, damage: str) -> None:
    release = publisher.folder / "1.0"
    records, vectors = sorted(release.glob("*.zst"), key=lambda path: path.stat().st_size)[-2:]
    content = records.read_bytes()
    wrong = {
        "flip": content[:-1] + bytes([content[-1] ^ 1]),
        "truncate": content[:-5],
        "swap": vectors.read_bytes(),
        "bomb": b"(\xb5/\xfd" + b"\0" * 2_000,
        "gone": b"",
    }[damage]
    records.write_bytes(wrong) if damage != "gone" else records.unlink()

    with pytest.raises(ExpectedError):
        install_release(app, NAME, str(publisher.folder))
    assert app.library.list_installed() == []


def test_the_control_of_refused_releases_is_that_a_sound_one_is_installed(app: App, publisher: Publisher) -> None:
    publisher.add_release("2.0", publisher.build("2.0", make_stars(1, "2.0").values(), has_delta=False))

    assert install_release(app, NAME, str(publisher.folder)).version == "2.0"


class TestSigned:
    """A key that is given has to have signed the release."""

    KEY = SecretKey.new()

    @pytest.fixture
    def signed(self, tmp_path: Path) -> Publisher:
        found = Publisher(folder=tmp_path / "signed", packs=tmp_path / "signed packs", key=self.KEY)
        found.publish("1.0", make_stars(5, "1.0").values())
        return found

    def test_a_signed_release_is_installed_and_its_key_kept(self, app: App, signed: Publisher) -> None:
        install_release(app, NAME, str(signed.folder), key=str(self.KEY.public))

        source = pack_of(app).find_source()
        assert source is not None
        assert source.key == str(self.KEY.public)

    def test_a_release_that_is_signed_by_another_key_is_refused(self, app: App, signed: Publisher) -> None:
        with pytest.raises(StorageError, match="signed by another key"):
            install_release(app, NAME, str(signed.folder), key=str(SecretKey.new().public))
        assert app.library.list_installed() == []

    def test_a_release_that_is_not_signed_is_refused(self, app: App, publisher: Publisher) -> None:
        with pytest.raises(StorageError, match="is not signed, but a key is pinned"):
            install_release(app, NAME, str(publisher.folder), key=str(self.KEY.public))

    def test_a_manifest_that_was_replaced_is_refused(self, app: App, signed: Publisher) -> None:
        other = replace(signed.build("1.1", make_stars(5, "1.1").values(), has_delta=False), licence="mine")
        (signed.folder / "1.0" / "manifest.json").write_bytes(other.dump())
        signed.index[0]["assets"] = [asset | {"size": None} for asset in signed.index[0]["assets"]]
        signed.write_index()

        with pytest.raises(StorageError, match="not the one that was signed"):
            install_release(app, NAME, str(signed.folder), key=str(self.KEY.public))


def test_an_index_that_leads_out_of_the_place_is_refused(app: App, publisher: Publisher) -> None:
    for asset in publisher.index[0]["assets"]:
        asset["browser_download_url"] = f"../{publisher.folder.name}/1.0/{asset['name']}"
    publisher.write_index()

    with pytest.raises(InputError, match="is not a path inside"):
        install_release(app, NAME, str(publisher.folder))


def test_nothing_is_fetched_offline_from_a_server(open_library: Callable[..., App]) -> None:
    with pytest.raises(UnavailableError, match="'offline' is set"):
        install_release(open_library(offline=True), NAME, "https://example.org/stars")


def test_a_release_with_a_spec_that_is_not_valid_is_refused(app: App, publisher: Publisher) -> None:
    manifest = publisher.build("2.0", make_stars(1, "2.0").values(), has_delta=False)
    raw = json.loads(manifest.dump())
    assert raw["catalogue"] == NAME
    publisher.add_release(
        "2.0", replace(manifest, spec=replace(manifest.spec, is_package=True, name="no-such-package"))
    )

    with pytest.raises(InputError, match="needs the catalogue package 'no-such-package', which is not installed"):
        install_release(app, NAME, str(publisher.folder))
    assert not (app.library.folder / NAME).exists()


class TestOverSamples:
    """A release takes the place of the sample data that came with a package."""

    @pytest.fixture
    def sampled(self, plain_home: Path, tmp_path: Path, open_library: Callable[..., App]) -> App:
        shutil.copytree(plain_home, tmp_path / "home")
        return open_library()

    @pytest.fixture
    def published(self, publisher: Publisher) -> Publisher:
        publisher.name, publisher.spec = "anime", get_package("anime").loaded.declaration
        publisher.publish("2.0", [make_anime(f"a{number}") for number in range(5)], has_delta=False, is_package=True)
        return publisher

    def test_the_samples_make_way_and_updates_follow(self, sampled: App, published: Publisher) -> None:
        report = install_release(sampled, "anime", str(published.folder))

        assert report.removed > 0
        assert set(records_of(sampled, "anime")) == {f"a{number}" for number in range(5)}
        assert sampled.library.get_installed("anime").sources == ()
        published.publish("2.1", [make_anime("b")], has_delta=False, is_package=True)
        assert update_catalogue(sampled, "anime").removed == 5
        assert not install_release(sampled, "anime", str(published.folder)).is_changed

    def test_the_export_of_an_earlier_version_makes_way_too(self, sampled: App, published: Publisher) -> None:
        folder = sampled.library.get_installed("anime").folder / "pack"
        folder.mkdir()
        (folder / "manifest.json").write_text('{"format": 1, "catalogue": "anime"}')
        for name in ("records.jsonl.zst", "catalogue.toml", "embeddings.parquet"):
            (folder / name).write_bytes(b"x")
        with pytest.raises(NotFoundError, match="was not installed from a place"):
            check_update(sampled, "anime")

        assert install_release(sampled, "anime", str(published.folder)).is_changed

        assert set(records_of(sampled, "anime")) == {f"a{number}" for number in range(5)}
        assert not (folder / "records.jsonl.zst").exists()
        assert not (folder / "embeddings.parquet").exists()
        assert not install_release(sampled, "anime", str(published.folder)).is_changed
        assert check_update(sampled, "anime").version == "2.0"

    def test_files_that_cannot_be_settled_are_brought_up_by_the_same_command(
        self, sampled: App, published: Publisher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_args: object) -> None:
            raise PermissionError("no")

        with monkeypatch.context() as patched:
            patched.setattr("pinakes.library.Library.drop_sources", fail)
            with pytest.raises(StorageError, match=r"is in 'anime', .* not in order yet: no; run the same command"):
                install_release(sampled, "anime", str(published.folder))

        assert install_release(sampled, "anime", str(published.folder)).version == "2.0"
        assert sampled.library.get_installed("anime").sources == ()

    def test_a_release_of_another_spec_is_refused(self, sampled: App, publisher: Publisher) -> None:
        publisher.name = "anime"
        publisher.publish("2.0", make_stars(3, "2.0").values(), has_delta=False)
        before = records_of(sampled, "anime")

        with pytest.raises(ConflictError, match="has sample data of 'anime', and the release follows the spec 'stars'"):
            install_release(sampled, "anime", str(publisher.folder))
        assert records_of(sampled, "anime") == before
