"""Back-ups: whole or not there, checkable, and few."""

import shutil
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import orjson
import pytest

from stackroom.errors import StorageError
from stackroom.jobs.backup import (
    BackupItem,
    BackupPlan,
    Checkpoint,
    check_backup,
    copy_store,
    list_backups,
    make_backup,
)
from stackroom.jobs.job import JobContext

pytestmark = pytest.mark.row("Z9")

NIGHT = datetime(2026, 11, 15, 3, 0, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An SQLite file with pairs of rows that are always equal in number."""
    path = tmp_path / "records.sqlite"
    with closing(apsw.Connection(str(path))) as database:
        database.pragma("journal_mode", "wal")
        database.execute("CREATE TABLE a (n); CREATE TABLE b (n)")
        for number in range(500):
            database.execute("INSERT INTO a VALUES (?), (zeroblob(2000))", (number,))
            database.execute("INSERT INTO b VALUES (?), (zeroblob(2000))", (number,))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def plan(store: Path, tmp_path: Path) -> BackupPlan:
    config = tmp_path / "stackroom.toml"
    config.write_text("offline = true\n")
    items = (
        BackupItem(name="catalogues/films/records.sqlite", path=store, copy=copy_store),
        BackupItem(name="stackroom.toml", path=config),
    )
    return BackupPlan(items=items, notes=("PostgreSQL is not in it",))


def plan_of(path: Path, copy: Any) -> BackupPlan:
    return BackupPlan(items=(BackupItem(name="records.sqlite", path=path, copy=copy),))


def make(plan: BackupPlan, folder: Path, *, at: datetime = NIGHT, keep: int = 3) -> Path:
    return make_backup(plan, folder, at=at, keep=keep, context=JobContext())


def counts(path: Path) -> tuple[int, int]:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as database:
        assert database.pragma("integrity_check") == "ok"
        return database.execute(
            "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)"
        ).fetchall()[0]


def test_a_back_up_has_everything_with_its_checksums_for_its_owner_only(
    plan: BackupPlan, folder: Path, store: Path
) -> None:
    made = make(plan, folder)
    assert made == folder / "20261115T030000Z"
    assert counts(made / "catalogues/films/records.sqlite") == (1000, 1000)
    assert (made / "stackroom.toml").read_text() == "offline = true\n"
    manifest = orjson.loads((made / "manifest.json").read_bytes())
    assert sorted(manifest["files"]) == ["catalogues/films/records.sqlite", "stackroom.toml"]
    assert (manifest["made_at"], manifest["notes"]) == (
        "2026-11-15T03:00:00+00:00",
        ["PostgreSQL is not in it"],
    )
    assert check_backup(made) == []
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert {stat.S_IMODE((made / name).stat().st_mode) for name in manifest["files"]} == {0o600}


def test_the_oldest_go_and_foreign_folders_stay(plan: BackupPlan, folder: Path) -> None:
    (folder / "mine").mkdir(parents=True)
    (folder / "20200101T000000Z").mkdir()  # without a manifest: not ours
    for day in range(5):
        make(plan, folder, at=NIGHT + timedelta(days=day), keep=2)
    make(plan, folder, at=NIGHT + timedelta(days=4), keep=2)
    assert [one.name for one in list_backups(folder)] == ["20261119T030000Z", "20261119T030000Z-2"]
    assert sorted(one.name for one in folder.iterdir())[-1] == "mine"
    assert (folder / "20200101T000000Z").is_dir()
    assert list_backups(folder / "nowhere") == []


def test_one_that_was_paused_and_taken_for_dead_does_not_go_on_in_anothers_folder(
    folder: Path,
) -> None:
    is_paused, goes_on = threading.Event(), threading.Event()

    def pause(_source: Path, target: Path, _checkpoint: Checkpoint) -> None:
        is_paused.set()
        assert goes_on.wait(120)
        target.write_bytes(b"of one that was taken for dead")

    def meet(_source: Path, target: Path, _checkpoint: Checkpoint) -> None:
        goes_on.set()
        assert isinstance(paused.exception(10), StorageError)
        target.write_bytes(b"of the one that took over")

    source = folder.with_name("source")
    first, second = plan_of(source, pause), plan_of(source, meet)
    with ThreadPoolExecutor(1) as pool:
        paused = pool.submit(make, first, folder)
        assert is_paused.wait(120)
        made = make(second, folder)
    assert list(folder.iterdir()) == [made]
    assert check_backup(made) == []
    assert (made / "records.sqlite").read_bytes() == b"of the one that took over"


@pytest.mark.parametrize("name", ["stackroom.toml", "catalogues/films/records.sqlite"])
def test_a_damaged_or_missing_file_of_a_back_up_is_found(
    plan: BackupPlan, folder: Path, name: str
) -> None:
    made = make(plan, folder)
    content = bytearray((made / name).read_bytes())
    content[len(content) // 2] ^= 1
    (made / name).write_bytes(content)
    assert check_backup(made) == [f"{made / name} is damaged: its sha256 is not the manifest's"]
    (made / name).unlink()
    assert check_backup(made) == [f"{made / name} is missing"]
    for manifest in ("{}", '{"files": {"../x": {"sha256": ""}}}'):
        (made / "manifest.json").write_text(manifest)
        assert "manifest.json is damaged" in check_backup(made)[0]


def test_a_back_up_that_does_not_read_back_is_not_kept_and_the_one_before_stays(
    plan: BackupPlan, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make(plan, folder)

    def spoil(fresh: Path) -> None:
        (fresh / "stackroom.toml").write_text("something else")

    monkeypatch.setattr("stackroom.jobs.backup._sync", spoil)
    with pytest.raises(
        StorageError, match=r"the back-up is not kept: .*stackroom\.toml is damaged"
    ):
        make(plan, folder, at=NIGHT + timedelta(days=1), keep=1)
    assert list(folder.iterdir()) == [before]


def test_a_damaged_store_is_not_backed_up_as_if_it_were_whole(store: Path, folder: Path) -> None:
    with closing(apsw.Connection(str(store))) as database:
        database.pragma("wal_checkpoint(truncate)")
    content = bytearray(store.read_bytes())
    content[4096 * 20 : 4096 * 30] = b"\xff" * 4096 * 10
    store.write_bytes(content)
    with pytest.raises(StorageError, match=rf"{store}: .*(not whole|could not be made)"):
        make(plan_of(store, copy_store), folder)
    assert list(folder.iterdir()) == []


def refused(folder: Path, path: Path, copy: Any) -> str:
    with pytest.raises(StorageError) as caught:
        make(plan_of(path, copy), folder)
    assert list(folder.iterdir()) == []
    return caught.value.message


def test_what_cannot_be_written_is_told_and_leaves_nothing(folder: Path) -> None:
    def fill_up(_source: Path, target: Path, _checkpoint: Checkpoint) -> None:
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    assert "the back-up could not be written: No space left on device" in refused(
        folder, folder.with_name("source"), fill_up
    )


def test_a_back_up_that_would_fill_the_disk_is_not_begun(folder: Path) -> None:
    large = folder.with_name("large")
    with large.open("wb") as file:  # of holes alone
        file.truncate(shutil.disk_usage(folder.parent).free)
    assert "is made only where twice as much is" in refused(folder, large, lambda *_: None)
