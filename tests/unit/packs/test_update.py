"""Updating a catalogue to a newer release: what was edited by hand stays, and what is refused
changes nothing.
"""

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.model.record import RecordId
from stackroom.packs.installed import NextRelease
from stackroom.packs.update import (
    ReleaseProgress,
    ReleaseReport,
    update_catalogue,
)
from stackroom.tools.health import VECTORS_PART, check_catalogue
from stackroom.zstd import zstd
from support.publisher import (
    NAME,
    Publisher,
    make_star,
    make_stars,
    patches_of,
)
from support.released import edit, pack_of, records_of, state_of, versions_of

pytestmark = [pytest.mark.row("A11"), pytest.mark.row("N4")]

COUNT = 40


@pytest.fixture
def installed(with_release: Path, open_library: Callable[..., App]) -> App:
    """A library with release 1.0."""
    assert with_release.is_dir()
    return open_library()


def faults_of(app: App) -> list[str]:
    """Return what a check finds wrong with the catalogue, but for its vectors."""
    found = check_catalogue(app.open_catalogue(NAME))
    return [one.part for one in found if one.part != VECTORS_PART]


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
    assert faults_of(installed) == ["pack"]

    report = _update(installed)

    assert not report.is_changed
    assert report.notes == [
        "files of the installed release were damaged or gone, and fetched again"
    ]
    assert faults_of(installed) == []


def _fill_disk(*_args: object, **_options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


SETTLE = "stackroom.packs.update.HeldCatalogue.settle"


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
