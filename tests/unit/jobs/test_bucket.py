"""Back-ups in a bucket: whole or not listed, compared after they were sent, few, and brought back
as they were.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import MaintainedLibrary, back_up
from stackroom.control.control import Control
from stackroom.errors import ExpectedError, InputError, NotFoundError, StorageError
from stackroom.jobs.backup import MANIFEST, BackupPlan, check_backup, file_item, store_backup
from stackroom.jobs.job import JobContext
from stackroom.settings import BackupSettings, Settings, load_settings
from support.late import LateModule, require_lance
from support.s3 import BUCKET, S3Server, never, running_s3

require_lance()
bucket = LateModule("stackroom.jobs.bucket")
pytestmark = [pytest.mark.row("Z9"), pytest.mark.row("N24")]

NIGHT = datetime(2026, 11, 15, 3, 0, tzinfo=UTC)
PLACE = "s3://bucket/kept"
NAME = "20261115T030000Z"


@pytest.fixture(scope="module")
def shared_server() -> Iterator[S3Server]:
    """A server of S3 for all tests of this module."""
    with running_s3() as server:
        yield server


@pytest.fixture
def server(shared_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server with an empty bucket, to which this process is led."""
    shared_server.store.objects.clear()
    shared_server.is_failing, shared_server.spoiled = never, set()
    for name, value in shared_server.environment().items():
        monkeypatch.setenv(name, value)
    return shared_server


@pytest.fixture
def plan(tmp_path: Path) -> BackupPlan:
    (tmp_path / "records").write_bytes(b"records " * 1000)
    (tmp_path / "config").write_text("offline = false\n")
    items = (
        file_item("catalogues/films/records.sqlite", tmp_path / "records"),
        file_item("c", tmp_path / "config"),
    )
    return BackupPlan(items=items)


@pytest.fixture
def settings(server: S3Server, tmp_path: Path) -> Settings:
    return load_settings({**server.environment(), "STACKROOM_HOME": str(tmp_path / "home")})


def store(
    plan: BackupPlan, settings: Settings, *, days: int = 0, keep: int = 3, to: str = PLACE
) -> str:
    return store_backup(
        plan, settings, to=to, at=NIGHT + timedelta(days=days), keep=keep, context=JobContext()
    )[0]


def fetch(settings: Settings, folder: Path, place: str = PLACE) -> Path:
    return Path(bucket.BucketBackups(place, settings, field="FROM").fetch(folder))


def refusal(plan: BackupPlan, settings: Settings, **named: Any) -> str:
    with pytest.raises(ExpectedError) as caught:
        store(plan, settings, **named)
    assert not list((settings.home / "backups").glob("*")), "nothing is left here"
    return caught.value.message


def test_a_back_up_in_a_bucket_is_the_same_files_and_comes_back_as_they_were(
    plan: BackupPlan, settings: Settings, server: S3Server, tmp_path: Path
) -> None:
    assert store(plan, settings) == f"{PLACE}/{NAME}"
    assert server.names() == [
        f"kept/{NAME}/{name}" for name in ("c", "catalogues/films/records.sqlite", MANIFEST)
    ]
    assert not list((settings.home / "backups").iterdir())
    for number, place in enumerate((PLACE, f"{PLACE}/{NAME}", f"{PLACE}/")):
        fetched = fetch(settings, tmp_path / str(number), place)
        assert (fetched.name, check_backup(fetched)) == (NAME, [])
        assert (fetched / "catalogues/films/records.sqlite").read_bytes() == b"records " * 1000


def test_an_upload_that_is_cut_off_anywhere_leaves_no_back_up_that_looks_whole(
    plan: BackupPlan, settings: Settings, server: S3Server, tmp_path: Path
) -> None:
    store(plan, settings)
    for name in ("c", "records.sqlite", MANIFEST):
        server.is_failing = lambda method, path, name=name: method == "PUT" and path.endswith(name)
        assert "the back-up cannot be written: access is denied" in refusal(plan, settings, days=1)
        server.is_failing = never
        assert fetch(settings, tmp_path / name).name == NAME
    assert store(plan, settings, days=1) == f"{PLACE}/20261116T030000Z-3", (
        "no object of a cut one is in the next"
    )
    assert check_backup(fetch(settings, tmp_path / "last")) == []


def test_an_object_that_does_not_read_back_as_sent_is_no_back_up(
    plan: BackupPlan, settings: Settings, server: S3Server, tmp_path: Path
) -> None:
    server.spoiled = {"records.sqlite"}
    assert "records.sqlite does not read back as sent; the back-up is not kept" in refusal(
        plan, settings
    )
    with pytest.raises(NotFoundError, match="there is no back-up"):
        fetch(settings, tmp_path / "none")


def test_the_oldest_go_with_what_cut_uploads_left_a_day_ago_and_foreign_objects_stay(
    plan: BackupPlan, settings: Settings, server: S3Server
) -> None:
    for foreign in ("kept/mine/file", "kept/note.txt", "other/20200101T000000Z/c"):
        server.store.put(f"{BUCKET}/{foreign}", b"mine", is_new_only=True)
    for left in ("20261112T030000Z", "20261118T200000Z"):
        server.store.put(f"{BUCKET}/kept/{left}/c", b"half", is_new_only=True)
    for day in range(5):
        store(plan, settings, days=day, keep=2)
    kept = {name.split("/")[1] for name in server.names() if name.startswith("kept/")} - {""}
    assert kept == {"mine", "note.txt", "20261118T030000Z", "20261118T200000Z", "20261119T030000Z"}
    assert "other/20200101T000000Z/c" in server.names()


def test_a_wrong_bucket_key_server_or_scheme_is_named_with_its_field(
    plan: BackupPlan,
    settings: Settings,
    server: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert "--to: s3://nowhere/x: there is no such bucket" in refusal(
        plan, settings, to="s3://nowhere/x"
    )
    assert "back-ups are kept in a folder, or at s3://" in refusal(
        plan, settings, to="gs://bucket/x"
    )
    offline = settings.model_copy(update={"offline": True})
    assert "is not used offline" in refusal(plan, offline)
    plain = settings.model_copy(update={"environment": {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}})
    assert "AWS_ENDPOINT_URL: http://127.0.0.1:9 has no TLS" in refusal(plan, plain)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    assert "access is denied" in (said := refusal(plan, settings))
    assert "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY" in said
    for place in ("gs://bucket/x", "s3://", "https://bucket/x"):
        with pytest.raises(InputError, match=r"setting 'backup.to': "):
            load_settings({"STACKROOM_HOME": str(tmp_path), "STACKROOM_BACKUP_TO": place})


def test_a_manifest_that_names_a_file_outside_writes_nothing_there(
    plan: BackupPlan, settings: Settings, server: S3Server, tmp_path: Path
) -> None:
    store(plan, settings)
    manifest = server.store.objects[f"{BUCKET}/kept/{NAME}/{MANIFEST}"]
    server.store.objects[f"{BUCKET}/kept/{NAME}/{MANIFEST}"] = manifest.replace(
        b'"c"', b'"../../c"'
    )
    with pytest.raises(StorageError, match=r"is damaged: it names \.\./\.\./c"):
        fetch(settings, tmp_path / "there" / "here")
    assert not (tmp_path / "c").exists()


def test_the_nightly_job_writes_to_the_place_of_the_settings(
    settings: Settings, server: S3Server
) -> None:
    nightly = settings.model_copy(update={"backup": BackupSettings(to=PLACE)})
    app, control = App(nightly), Control.open(nightly)
    try:
        context = JobContext()
        back_up(MaintainedLibrary(app=app, control=control, now=lambda: NIGHT), context)
    finally:
        control.close()
        app.close()
    assert f"in {PLACE}/{NAME}" in context.report().output
    assert f"kept/{NAME}/control.sqlite" in server.names()
