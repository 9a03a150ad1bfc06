"""Updating a catalogue to a newer release: what was edited by hand stays, and what is refused
changes nothing.
"""

import errno
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stackroom.assembly.app import App
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    InputError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.packs.installed import NextRelease
from stackroom.packs.update import (
    ReleaseProgress,
    ReleaseReport,
    install_release,
    list_released,
    roll_back,
    update_catalogue,
)
from stackroom.settings import Settings
from stackroom.tools.health import VECTORS_PART, check_catalogue
from stackroom.zstd import zstd
from support.embedders import WORD_MODEL, word_vector
from support.libraries import opened
from support.publisher import (
    NAME,
    SPEC,
    Publisher,
    make_star,
    make_stars,
    patches_of,
    versions_in_answer,
)
from support.released import bodies_of, edit, pack_of, records_of, remove, state_of, versions_of
from support.signer import Signer

pytestmark = [pytest.mark.row("A11"), pytest.mark.row("N4")]

COUNT = 40


@pytest.fixture
def installed(with_release: Path, open_library: Callable[..., App]) -> App:
    """A library with release 1.0."""
    assert with_release.is_dir()
    return open_library()


def _update(app: App, **options: bool) -> ReleaseReport:
    return update_catalogue(app, NAME, **options)


def test_an_update_brings_every_record_of_the_new_release_and_only_patches_are_fetched(
    installed: App, publisher: Publisher
) -> None:
    records = make_stars(COUNT, "1.0") | {
        RecordId("s00001"): make_star(1, "1.0", story="a star that was renamed")
    }
    del records[RecordId("s00002")]
    manifest = publisher.publish("1.1", [*records.values(), make_star(99, "1.0")])
    said: list[str] = []

    report = update_catalogue(installed, NAME, progress=ReleaseProgress(say=said.append))

    assert set(records_of(installed)) == {*records, "s00099"}
    assert records_of(installed)[RecordId("s00001")].get("story") == "a star that was renamed"
    assert (report.version, report.former, report.written, report.removed) == ("1.1", "1.0", 2, 1)
    assert report.fetch_bytes == sum(path.stat().st_size for path in patches_of(publisher, "1.1"))
    assert report.fetch_bytes < manifest.size_bytes / 4
    assert "to fetch as a patch" in said[0]


def test_a_release_without_patches_is_fetched_by_the_files_that_changed(
    installed: App, publisher: Publisher
) -> None:
    star = make_star(7, "1.0")
    # a field that is not embedded
    other = replace(star, fields={**star.fields, "version": "other"})
    records = make_stars(COUNT, "1.0") | {RecordId("s00007"): other}
    second = publisher.publish("1.1", records.values(), has_patches=False)

    report = _update(installed)

    assert report.fetch_bytes == second.get_file("records.jsonl.zst").size_bytes
    assert records_of(installed)[RecordId("s00007")].get("version") == "other"


@pytest.mark.parametrize("damage", ["damaged", "cut off", "gone", "too long", "of another state"])
def test_a_patch_that_cannot_be_used_is_made_up_for_by_the_whole_file(
    installed: App, publisher: Publisher, damage: str
) -> None:
    manifest = publisher.publish("1.1", [*make_stars(COUNT, "1.0").values(), make_star(99, "1.1")])
    for patch in patches_of(publisher, "1.1"):
        content = patch.read_bytes()
        wrong = {
            "damaged": b"x" * len(content),
            "cut off": content[:-1],
            "too long": zstd.compress(bytes(20_000_000)),
            "of another state": zstd.compress(b"another"),
        }
        patch.unlink() if damage == "gone" else patch.write_bytes(wrong[damage])
    said: list[str] = []

    report = update_catalogue(installed, NAME, progress=ReleaseProgress(say=said.append))

    whole = [file.size_bytes for file in manifest.files if file.name != "catalogue.toml"]
    assert "to fetch as a patch" in said[0]
    assert report.fetch_bytes >= sum(whole)
    assert len(records_of(installed)) == COUNT + 1


def test_a_damaged_file_of_the_installed_release_is_made_up_for_and_edits_stay(
    installed: App, publisher: Publisher
) -> None:
    edit(installed, make_star(3, "mine"))
    for path in (pack_of(installed).folder / "files").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    records = make_stars(COUNT, "1.1")
    del records[RecordId("s00002")]
    publisher.publish("1.1", records.values())

    report = _update(installed)

    found = records_of(installed)
    assert report.conflicts == ["s00003"]
    assert found.pop(RecordId("s00003")).get("version") == "mine"
    assert {record.get("version") for record in found.values()} == {"1.1"}
    assert "s00002" not in found


def test_new_records_are_found_by_words_and_by_vectors(
    installed: App, publisher: Publisher
) -> None:
    publisher.publish(
        "1.1", [*make_stars(COUNT, "1.0").values(), make_star(77, "1.1", story="zebra crossing")]
    )
    _update(installed)
    catalogue = installed.open_catalogue(NAME)

    reader = catalogue.shelf.reader()
    key = reader.find([RecordId("s00077")], scope=WHOLE)[RecordId("s00077")]

    assert np.any(reader.vectors([key]))
    assert reader.awaiting_vectors == 0


class TestHandEdits:
    """Base 1.0, edits by hand, release 1.1."""

    def test_an_edit_that_the_release_does_not_touch_is_kept(
        self, installed: App, publisher: Publisher
    ) -> None:
        mine = make_star(3, "mine")
        edit(installed, mine)
        remove(installed, "s00004")
        edit(installed, Record(id=RecordId("own"), kind="star", fields={"title": "My own star"}))
        publisher.publish("1.1", [*make_stars(COUNT, "1.0").values(), make_star(99, "1.1")])

        report = _update(installed)

        found = records_of(installed)
        assert not report.conflicts
        assert found[RecordId("s00003")].get("version") == "mine"
        assert "s00004" not in found
        assert {"own", "s00099"} <= set(found)

    def test_what_both_changed_is_a_conflict_and_stays_as_it_was_edited(
        self, installed: App, publisher: Publisher
    ) -> None:
        edit(installed, make_star(3, "mine"), make_star(99, "mine"))
        remove(installed, "s00004")
        records = make_stars(COUNT, "1.1")
        del records[RecordId("s00003")]
        publisher.publish("1.1", [*records.values(), make_star(99, "1.1")])

        report = _update(installed)

        found = records_of(installed)
        assert report.conflicts == ["s00003", "s00004", "s00099"]
        assert found[RecordId("s00003")].get("version") == "mine"
        assert found[RecordId("s00099")].get("version") == "mine"
        assert "s00004" not in found
        assert {
            record.get("version") for one, record in found.items() if one not in report.conflicts
        } == {"1.1"}

    def test_an_edit_that_is_what_the_release_has_is_no_conflict(
        self, installed: App, publisher: Publisher
    ) -> None:
        edit(installed, make_star(3, "1.1"))
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())

        assert not _update(installed).conflicts

    def test_an_edit_makes_a_catalogue_newer_than_its_release_and_not_ill(
        self, installed: App
    ) -> None:
        edit(installed, make_star(3, "mine"))

        found = check_catalogue(installed.open_catalogue(NAME))

        assert [problem for problem in found if problem.part != VECTORS_PART] == []


def test_an_update_with_nothing_newer_changes_nothing(installed: App, tmp_path: Path) -> None:
    before = state_of(tmp_path / "home")

    report = _update(installed)

    assert not report.is_changed
    assert state_of(tmp_path / "home") == before


def test_an_update_fetches_what_is_damaged_of_the_installed_release(installed: App) -> None:
    damaged = max(
        (pack_of(installed).folder / "files").iterdir(), key=lambda path: path.stat().st_size
    )
    damaged.write_bytes(b"x")
    assert [
        one.part
        for one in check_catalogue(installed.open_catalogue(NAME))
        if one.part != VECTORS_PART
    ] == ["pack"]

    report = _update(installed)

    assert not report.is_changed
    assert report.notes == [
        "files of the installed release were damaged or gone, and fetched again"
    ]
    assert [
        one.part
        for one in check_catalogue(installed.open_catalogue(NAME))
        if one.part != VECTORS_PART
    ] == []


def test_only_catalogues_from_a_place_are_updated(
    installed: App, open_library: Callable[..., App]
) -> None:
    assert [one.name for one in list_released(installed)] == [NAME]
    assert list_released(open_library("empty")) == []


class TestRefused:
    """Releases that are refused: the installed one stays, byte for byte."""

    def _refuse(self, app: App, tmp_path: Path, error: type[ExpectedError], match: str) -> None:
        before, records = state_of(tmp_path / "home"), bodies_of(app)
        with pytest.raises(error, match=match):
            _update(app)
        after = state_of(tmp_path / "home")
        assert {name: content for name, content in after.items() if name in before} == before
        assert bodies_of(app) == records
        assert pack_of(app).find_next() is None or pack_of(app).find_next().since is None  # type: ignore[union-attr]

    def test_an_older_release(self, installed: App, publisher: Publisher, tmp_path: Path) -> None:
        publisher.publish("0.9", make_stars(COUNT, "0.9").values())

        self._refuse(installed, tmp_path, ConflictError, "0.9, older than the installed 1.0")

    def test_another_content_under_the_same_version(
        self, installed: App, publisher: Publisher, tmp_path: Path
    ) -> None:
        manifest = publisher.build("1.1", make_stars(COUNT, "1.1").values())
        shutil.copytree(publisher.packs / "1.1", publisher.packs / "1.0", dirs_exist_ok=True)
        publisher.add_release("1.0.again", replace(manifest, version="1.0"))

        self._refuse(
            installed, tmp_path, ConflictError, "another content under the installed version 1.0"
        )

    def test_another_catalogue(self, installed: App, publisher: Publisher, tmp_path: Path) -> None:
        publisher.name = "planets"
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())

        self._refuse(
            installed, tmp_path, ConflictError, "a release of 'planets' now, not of 'stars'"
        )

    def test_a_release_of_another_spec(
        self, installed: App, publisher: Publisher, tmp_path: Path
    ) -> None:
        publisher.spec = SPEC.replace('name = "stars"', 'name = "others"')
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())

        self._refuse(installed, tmp_path, ConflictError, "follows the spec 'others'")

    @pytest.mark.parametrize("file", ["manifest.json", "records.jsonl.zst", "embeddings.parquet"])
    def test_damaged_files(
        self, installed: App, publisher: Publisher, tmp_path: Path, file: str
    ) -> None:
        publisher.publish("1.1", make_stars(COUNT, "1.1").values(), has_patches=False)
        path = publisher.folder / "1.1" / file
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 4
        path.write_bytes(content)

        self._refuse(installed, tmp_path, ExpectedError, "damaged|sha256 differs")

    def test_an_unsigned_release_where_a_key_is_pinned(
        self, open_library: Callable[..., App], publisher: Publisher, tmp_path: Path
    ) -> None:
        publisher.key = Signer.new()
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())
        app = open_library()
        install_release(app, NAME, str(publisher.folder), key=str(publisher.key.public))
        publisher.key = None
        publisher.publish("1.2", make_stars(COUNT, "1.2").values())

        self._refuse(app, tmp_path, StorageError, "is not signed, but a key is pinned")

    def test_a_place_that_is_gone(
        self, installed: App, publisher: Publisher, tmp_path: Path
    ) -> None:
        shutil.rmtree(publisher.folder)

        self._refuse(installed, tmp_path, NotFoundError, "no such folder")

    def test_no_network(
        self, open_library: Callable[..., App], installed: App, tmp_path: Path
    ) -> None:
        pack = pack_of(installed)
        source = pack.find_source()
        assert source is not None
        pack.save_source(replace(source, place="https://example.org/stars"))

        self._refuse(
            open_library(offline=True),
            tmp_path,
            UnavailableError,
            "what is installed stays as it is",
        )

    def test_a_catalogue_that_came_from_no_place(self, installed: App) -> None:
        (pack_of(installed).folder / "source.json").unlink()

        with pytest.raises(InputError, match="was not installed from a place"):
            _update(installed)


class TestRollback:
    """Going back to the release before."""

    def test_the_former_release_is_there_again_without_a_network(
        self, installed: App, publisher: Publisher
    ) -> None:
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())
        _update(installed)
        shutil.rmtree(publisher.folder)

        report = roll_back(installed, NAME)

        assert (report.version, report.former, report.fetch_bytes) == ("1.0", "1.1", 0)
        assert versions_of(installed) == {"1.0"}

    def test_hand_edits_are_kept(self, installed: App, publisher: Publisher) -> None:
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())
        _update(installed)
        edit(installed, make_star(5, "mine"))

        assert roll_back(installed, NAME).conflicts == ["s00005"]
        assert records_of(installed)[RecordId("s00005")].get("version") == "mine"

    def test_a_second_rollback_undoes_the_first(self, installed: App, publisher: Publisher) -> None:
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())
        before = bodies_of(installed)
        _update(installed)
        after = bodies_of(installed)

        roll_back(installed, NAME)
        assert bodies_of(installed) == before
        roll_back(installed, NAME)
        assert bodies_of(installed) == after

    def test_a_damaged_former_release_is_not_gone_back_to_and_forgotten_by_the_next_update(
        self, installed: App, publisher: Publisher
    ) -> None:
        publisher.publish("1.1", make_stars(COUNT, "1.1").values())
        pack = pack_of(installed)
        _update(installed)
        former = pack.find_former()
        assert former is not None
        pack.path_of(former.get_file("embeddings.parquet")).write_bytes(b"x")

        with pytest.raises(StorageError, match=r"cannot go back to 1\.0: .* is damaged"):
            roll_back(installed, NAME)
        assert versions_of(installed) == {"1.1"}
        assert _update(installed).notes == [
            "files of release 1.0 were damaged, so it cannot be gone back to any more"
        ]
        found = check_catalogue(installed.open_catalogue(NAME))
        assert [problem for problem in found if problem.part != VECTORS_PART] == []

    def test_without_a_former_release_it_is_refused(self, installed: App) -> None:
        with pytest.raises(NotFoundError, match=r"has no release before 1\.0 to go back to"):
            roll_back(installed, NAME)


class KilledError(BaseException):
    """The process ends here."""


def _die(*_args: object, **_options: object) -> None:
    raise KilledError


def _fill_disk(*_args: object, **_options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


SETTLE = "stackroom.packs.update.HeldCatalogue.settle"
OTHER_MODEL = ModelId(name="word-hash-2", dimension=32)
NEW_SPEC = SPEC.replace("[embed]", '[fields.size]\ntype = "int"\nfilter = "range"\n\n[embed]')


class TestOtherSpecAndModel:
    """A release may bring another spec or other vectors: the old or the new, never a mix."""

    def test_a_release_brings_its_spec(
        self, installed: App, publisher: Publisher, open_library: Callable[..., App]
    ) -> None:
        publisher.spec = NEW_SPEC
        publisher.publish("1.1", [make_star(number, "1.1", size=number) for number in range(COUNT)])
        _update(installed)

        app = open_library()
        assert "size" in app.open_catalogue(NAME).spec.fields
        assert records_of(app)[RecordId("s00007")].get("size") == 7
        found = check_catalogue(app.open_catalogue(NAME))
        assert [problem for problem in found if problem.part != VECTORS_PART] == []
        roll_back(app, NAME)
        assert "size" not in open_library().open_catalogue(NAME).spec.fields

    def test_a_server_goes_on_with_the_former_spec_and_records_until_it_has_both(
        self, installed: App, publisher: Publisher, tmp_path: Path
    ) -> None:
        publisher.spec = NEW_SPEC
        publisher.publish("1.1", [make_star(number, "1.1", size=number) for number in range(COUNT)])
        with opened(Settings(home=tmp_path / "home")) as server:
            assert server.structured("search", query="star", catalogue=NAME)["results"]
            _update(installed)
            before = server.structured("search", query="golden star", catalogue=NAME)
            server.gate.refresh()
            after = server.structured("search", query="golden star", catalogue=NAME)

        assert versions_in_answer(before) == {"1.0"}
        assert versions_in_answer(after) == {"1.1"}

    def test_a_kill_between_the_commit_and_the_files_leaves_the_new_spec_with_the_new_records(
        self,
        installed: App,
        publisher: Publisher,
        open_library: Callable[..., App],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        publisher.spec = NEW_SPEC
        publisher.publish("1.1", [make_star(number, "1.1", size=number) for number in range(COUNT)])

        with monkeypatch.context() as patched:
            patched.setattr(SETTLE, _die)
            with pytest.raises(KilledError):
                _update(installed)

        app = open_library()
        assert "size" in app.open_catalogue(NAME).spec.fields
        assert versions_of(app) == {"1.1"}
        assert _update(app).version == "1.1"
        assert pack_of(app).find_next() is None

    @pytest.mark.parametrize("killed_at", [SETTLE, "stackroom.shelf.embedded.store.Store.apply"])
    def test_a_kill_in_an_update_that_changes_the_spec_alone_leaves_spec_and_release_in_step(
        self,
        installed: App,
        publisher: Publisher,
        open_library: Callable[..., App],
        monkeypatch: pytest.MonkeyPatch,
        killed_at: str,
    ) -> None:
        publisher.spec = NEW_SPEC
        publisher.publish("1.1", make_stars(COUNT, "1.0").values())
        with monkeypatch.context() as patched:
            patched.setattr(killed_at, _die)
            with pytest.raises(KilledError):
                _update(installed)

        assert _update(open_library()).version == "1.1"

        app = open_library()
        manifest, own = (
            pack_of(app).find_manifest(),
            app.library.get_installed(NAME).own_declaration,
        )
        assert manifest is not None
        assert own is not None
        assert manifest.version == "1.1"
        assert own.read_text() == NEW_SPEC

    @pytest.mark.parametrize(
        ("killed_at", "model", "version"),
        [
            ("stackroom.shelf.embedded.store.Store.apply", WORD_MODEL, "1.0"),
            ("stackroom.shelf.catalogue_shelf.CatalogueShelf.publish", OTHER_MODEL, "1.1"),
        ],
    )
    def test_a_kill_leaves_the_vectors_of_one_model(
        self,
        installed: App,
        publisher: Publisher,
        open_library: Callable[..., App],
        monkeypatch: pytest.MonkeyPatch,
        killed_at: str,
        model: ModelId,
        version: str,
    ) -> None:
        publisher.model = OTHER_MODEL
        publisher.publish("1.1", make_stars(COUNT, "1.1").values(), has_patches=False)
        with monkeypatch.context() as patched:
            patched.setattr(killed_at, _die)
            with pytest.raises(KilledError):
                _update(installed)

        app = open_library()
        reader = app.open_catalogue(NAME).shelf.reader()
        assert reader.model == model
        query = word_vector("golden star", model.dimension)[None]
        assert reader.nearest(query, scope=WHOLE, limit=COUNT)[0].total == COUNT
        assert versions_of(app) == {version}

    def test_a_release_brings_vectors_of_another_model(
        self, installed: App, publisher: Publisher
    ) -> None:
        publisher.model = OTHER_MODEL
        publisher.publish("1.1", make_stars(COUNT, "1.1").values(), has_patches=False)
        _update(installed)

        reader = installed.open_catalogue(NAME).shelf.reader()
        assert reader.model == publisher.model
        assert reader.vectors(reader.scan(scope=WHOLE, limit=COUNT)).shape == (COUNT, 32)
        assert reader.awaiting_vectors == 0
        assert versions_of(installed) == {"1.1"}


def test_a_running_server_answers_from_the_new_release_at_its_next_call(
    installed: App, publisher: Publisher, tmp_path: Path
) -> None:
    publisher.publish("1.1", make_stars(COUNT, "1.1").values())
    with opened(Settings(home=tmp_path / "home")) as server:
        first = server.structured("search", query="star", catalogue=NAME)
        _update(installed)
        then = server.structured("search", query="star", catalogue=NAME)

    assert versions_in_answer(first) == {"1.0"}
    assert versions_in_answer(then) == {"1.1"}


def test_an_update_that_was_committed_and_not_settled_is_settled_by_the_next(
    installed: App, publisher: Publisher, open_library: Callable[..., App]
) -> None:
    publisher.publish("1.1", make_stars(COUNT, "1.1").values())
    _update(installed)
    pack = pack_of(installed)
    new, old = pack.find_manifest(), pack.find_former()
    assert new is not None
    assert old is not None
    (pack.folder / "manifest.json").write_bytes(old.dump())
    pack.save_next(NextRelease(manifest=new, since=COUNT))
    edit(installed, make_star(5, "mine"))

    report = _update(open_library())

    assert (report.version, report.conflicts) == ("1.1", [])
    assert pack.find_manifest() == new
    assert pack.find_next() is None


@pytest.mark.parametrize(
    ("failing", "note"),
    [
        (SETTLE, "its files are not in order yet; run it again"),
        (
            "stackroom.shelf.catalogue_shelf.CatalogueShelf.publish",
            "the index is brought up when it is opened",
        ),
        ("stackroom.shelf.embedded.store.Store.count_unembedded", "new texts have no vector yet"),
    ],
)
def test_what_fails_after_the_commit_is_noted_and_made_up_for(
    installed: App,
    publisher: Publisher,
    open_library: Callable[..., App],
    monkeypatch: pytest.MonkeyPatch,
    failing: str,
    note: str,
) -> None:
    publisher.publish("1.1", make_stars(COUNT, "1.1").values())
    with monkeypatch.context() as patched:
        patched.setattr(failing, _fill_disk)
        report = _update(installed)

    assert report.version == "1.1"
    assert report.notes == [
        f"the release is installed, and {note}: [Errno 28] No space left on device"
    ]
    app = open_library()
    assert versions_of(app) == {"1.1"}
    assert _update(app).version == "1.1"
    assert pack_of(app).find_next() is None


def test_a_read_only_library_is_served_and_its_update_refused_with_the_reason(
    installed: App, publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher.publish("1.1", make_stars(COUNT, "1.1").values())
    monkeypatch.setattr(
        "os.access", lambda path, _mode: not str(path).startswith(str(tmp_path / "home"))
    )

    with pytest.raises(StorageError, match="'stars' is read-only"):
        _update(installed)
    assert versions_of(installed) == {"1.0"}
