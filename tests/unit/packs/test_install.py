"""Installing a catalogue from a release: whole and as it was published, or not at all."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.errors import (
    ExpectedError,
    InputError,
    StorageError,
    UnavailableError,
)
from stackroom.model.record import RecordId
from stackroom.packages import PACKAGES
from stackroom.packs import places, update
from stackroom.packs.build import files_folder
from stackroom.packs.entries import PackEntry
from stackroom.packs.manifest import Manifest, PackFile, content_of
from stackroom.packs.update import ReleaseProgress, install_release
from stackroom.search.evidence import find_calibration
from stackroom.zstd import zstd
from support.embedders import WORD_MODEL
from support.libraries import make_anime
from support.loopback import FileServer
from support.publisher import NAME, Publisher, make_star
from support.released import edit, records_of, versions_of

pytestmark = pytest.mark.row("A11")


def test_a_catalogue_is_installed_with_its_vectors_spec_and_calibration(
    app: App, publisher: Publisher
) -> None:
    said: list[str] = []

    report = install_release(
        app, NAME, str(publisher.folder), progress=ReleaseProgress(say=said.append)
    )

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


def test_the_release_of_a_packages_catalogue_follows_the_package(
    app: App, publisher: Publisher
) -> None:
    package = PACKAGES.get("anime")
    publisher.name, publisher.spec = "anime", package.loaded.declaration
    publisher.publish("2.0", [make_anime(f"a{number}") for number in range(5)], is_package=True)

    install_release(app, "anime", str(publisher.folder))

    installed = app.library.get_installed("anime")
    assert (installed.spec_name, installed.own_declaration) == ("anime", None)
    assert len(records_of(app, "anime")) == 5


@pytest.mark.parametrize("waiting_at", [(places, "find_release"), (update, "holding_release")])
def test_an_installation_that_waited_for_another_leaves_what_that_one_installed(
    open_library: Callable[..., App],
    publisher: Publisher,
    monkeypatch: pytest.MonkeyPatch,
    waiting_at: tuple[Any, str],
) -> None:
    reached = getattr(*waiting_at)

    def wait(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(*waiting_at, reached)
        first = open_library()
        install_release(first, NAME, str(publisher.folder))
        edit(first, make_star(3, "mine"))
        return reached(*args, **options)

    monkeypatch.setattr(*waiting_at, wait)
    report = install_release(open_library(), NAME, str(publisher.folder))

    assert not report.is_changed
    assert versions_of(open_library()) == {"1.0", "mine"}


@pytest.mark.parametrize("name", ["records.jsonl.zst", "embeddings.parquet"])
def test_an_installation_that_was_cut_off_goes_on_without_fetching_whole_files_twice(
    open_library: Callable[..., App], publisher: Publisher, file_server: FileServer, name: str
) -> None:
    files = [path for path in publisher.folder.rglob("*") if path.is_file()]
    file_server.files = {
        f"/{path.relative_to(publisher.folder).as_posix()}": path.read_bytes() for path in files
    }
    url, content = f"/1.0/{name}", (publisher.folder / "1.0" / name).read_bytes()
    part, tag = content[: len(content) // 2], {"ETag": '"x"'}
    file_server.replies[url] = [
        lambda handler: handler.send(200, part, tag, length=len(content)),
        *[lambda handler: handler.send(503, b"")] * 2,
    ]
    with pytest.raises(UnavailableError):
        install_release(open_library(), NAME, file_server.url)
    assert open_library().library.list_installed() == []
    file_server.requests.clear()

    assert install_release(open_library(), NAME, file_server.url).version == "1.0"

    fetched = [path for path, _ in file_server.requests]
    assert versions_of(open_library()) == {"1.0"}
    assert ("/1.0/records.jsonl.zst" in fetched) is (name == "records.jsonl.zst")


def _forged(publisher: Publisher, body: bytes, **wrong: Any) -> Manifest:
    """Return a manifest that is right in itself, whose file of records has one record of any
    content.
    """
    manifest = publisher.build("2.0", [])
    line = PackEntry(RecordId("s00000"), body).line
    data = zstd.compress(line)
    file = PackFile(
        name="records.jsonl.zst",
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        content=hashlib.sha256(line).hexdigest(),
        raw_bytes=len(line),
    )
    files = (manifest.files[0], replace(file, **wrong), manifest.files[2])
    forged = replace(manifest, records=1, files=files, content=content_of(files))
    folder = files_folder(publisher.packs / "2.0", manifest)
    (folder / file.name).write_bytes(data)
    folder.rename(files_folder(publisher.packs / "2.0", forged))
    return forged


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
    forged = _forged(publisher, body)
    publisher.add_release("2.0", forged)

    with pytest.raises(StorageError, match=message):
        install_release(app, NAME, str(publisher.folder))
    assert not (app.library.folder / NAME).exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"raw_bytes": 1 << 36}, "its content is not that of the manifest"),
        ({"raw_bytes": 1}, "unpacks to more than 1 bytes"),
        ({"size_bytes": 1}, "bytes rather than 1"),
        ({"content": "0" * 64}, "its content is not that of the manifest"),
    ],
)
def test_a_manifest_that_says_something_else_than_its_files_is_refused(
    app: App, publisher: Publisher, wrong: dict[str, Any], message: str
) -> None:
    publisher.add_release(
        "2.0", _forged(publisher, b'{"fields":{"title":"x"},"kind":"star"}', **wrong)
    )

    with pytest.raises(ExpectedError, match=message):
        install_release(app, NAME, str(publisher.folder))
    assert not (app.library.folder / NAME).exists()


def test_another_catalogue_than_the_named_one_is_refused(app: App, publisher: Publisher) -> None:
    with pytest.raises(
        InputError,
        match="has releases of 'stars', not of 'planets'; to install it: stackroom init stars",
    ):
        install_release(app, "planets", str(publisher.folder))
    assert not (app.library.folder / "planets").exists()


def test_a_file_that_is_not_the_published_one_is_refused(app: App, publisher: Publisher) -> None:
    records = publisher.folder / "1.0" / "records.jsonl.zst"
    content = records.read_bytes()
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    for wrong in (flipped, content[:-5], b"(\xb5/\xfd" + b"\0" * 2_000, None):
        records.unlink() if wrong is None else records.write_bytes(wrong)
        with pytest.raises(ExpectedError):
            install_release(app, NAME, str(publisher.folder))
        assert app.library.list_installed() == []
