"""Damage is noticed: a flipped bit is found, mended from the records or reported, and never an
answer that is wrong.
"""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from stackroom.assembly.app import App
from stackroom.assembly.upkeep import DamageTask
from stackroom.background.background import TaskContext
from stackroom.cli.main import main
from stackroom.control.control import Control
from stackroom.control.database.engine import check_database
from stackroom.errors import StorageError
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import RecordId
from stackroom.settings import CONTROL_FILE, Settings
from stackroom.shelf.embedded.index_files import DAMAGED_FOLDER, KEPT, quarantine
from stackroom.shelf.port import Delete
from stackroom.shelf.watched import WatchedShelf
from stackroom.tools.health import check_catalogue, examine
from support.damaged_kinds import KINDS, build_home, run_rounds
from support.damaging import (
    FOUND,
    HARMLESS,
    NAME,
    REBUILT,
    WRONG,
    add_films,
    answers_of,
    judge,
    open_app,
    write_table,
)
from support.processes import wait_until

pytestmark = [pytest.mark.row("T8"), pytest.mark.row("N14")]

FEW, MORE = 3, 20
"""How many of the rounds of `make damage` are part of the tests; more of a kind that is quick."""
NOBODY = 65534


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("whole") / "home"
    build_home(home)
    return home


@pytest.fixture(scope="module")
def right(whole: Path) -> Mapping[str, Any]:
    with closing(open_app(whole)) as app:
        return answers_of(app)


@pytest.fixture
def home(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "home"))


def folder_of(home: Path) -> Path:
    return home / "catalogues" / NAME


def find_array(home: Path, name: str) -> Path:
    return next(folder_of(home).glob(f"index/*/base-*/{name}.npy"))


def forget_years(home: Path) -> None:
    """Overwrite the years in the index, by which searches are filtered."""
    path = find_array(home, "number_year")
    np.save(path, np.zeros_like(np.load(path)))


def alter_record(home: Path, table: str = "records", column: str = "body") -> None:
    """Change one letter inside a record, as a bit that flips would, without SQLite."""
    path = folder_of(home) / "records.sqlite"
    with closing(apsw.Connection(str(path))) as db:
        content: bytes = db.execute(f"SELECT {column} FROM {table} WHERE rowid = 8").get  # type: ignore[assignment]
    altered = bytearray(content)
    altered[max(0, content.find(b"plot")) + 9] ^= 1
    # also where it was before it was written again
    path.write_bytes(path.read_bytes().replace(content, altered))


def problems_of(app: App) -> list[str]:
    return [str(one) for one in check_catalogue(app.open_catalogue(NAME))]


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "release"])
def test_damage_to_any_kind_of_file_is_named_mended_or_harmless(whole: Path, kind: str) -> None:
    verdicts = run_rounds(kind, MORE if kind == "pack" else FEW, seed=3, home=whole)
    assert [one for one in verdicts if one.outcome == WRONG] == []
    assert KINDS[kind].look is None or any(one.outcome == FOUND for one in verdicts)


@pytest.mark.parametrize(
    "column", ["users.password_hash", "credentials.catalogues", "job_runs.output"]
)
def test_a_value_of_the_accounts_that_changed_on_the_disk_is_named(home: Path, column: str) -> None:
    path, table = home / CONTROL_FILE, column.partition(".")[0]
    with closing(sqlite3.connect(path)) as database:
        (value,) = database.execute(f"SELECT {column} FROM {table} WHERE {column} <> ''").fetchone()
    content = str(value).encode()
    path.write_bytes(path.read_bytes().replace(content, content[:-1] + bytes([content[-1] ^ 1]), 1))
    with closing(Control.open(Settings(home=home))) as control:
        (problem,) = check_database(control.database)
    assert f"{path} is damaged (" in problem
    assert "put it back from a back-up, as by: stackroom restore --accounts" in problem


def test_accounts_whose_schema_is_not_text_are_refused_and_not_a_bug(home: Path) -> None:
    path = home / CONTROL_FILE
    path.write_bytes(path.read_bytes().replace(b"TABLE audit_anchor", b"TABLE audit_an\xe3hor"))
    with pytest.raises(StorageError):
        Control.open(Settings(home=home))


def test_doctor_names_damaged_accounts_and_models(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (home / CONTROL_FILE, home / "models/small/weights.bin"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
        path.write_bytes(content)
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    with suppress(SystemExit):
        main(["doctor"])
    said = capsys.readouterr().out
    assert "control.sqlite" in said
    assert "weights.bin is damaged; run: stackroom model pull small --force" in said


def test_an_index_that_is_not_what_was_written_is_moved_aside_and_rebuilt(
    home: Path, right: Mapping[str, Any]
) -> None:
    forget_years(home)
    with closing(open_app(home)) as app:
        assert "number_year.npy: not what was written" in problems_of(app)[0]
    assert judge(home, right, "").outcome == REBUILT
    assert judge(home, right, "").outcome == HARMLESS
    assert len(list((folder_of(home) / DAMAGED_FOLDER).glob("*/*"))) == 1


def test_of_what_is_moved_aside_only_the_last_few_are_kept(tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        (tmp_path / "index").mkdir()
        (tmp_path / "index" / f"{number}").touch()
        quarantine(tmp_path, tmp_path / "index")
    kept = sorted(path.name for path in (tmp_path / DAMAGED_FOLDER).glob("*/index/*"))
    assert kept == [str(KEPT), str(KEPT + 1)]


def test_a_damaged_record_is_left_out_and_named_until_its_source_is_added_again(
    home: Path, tmp_path: Path
) -> None:
    alter_record(home)
    with closing(open_app(home)) as app:
        reader = app.open_catalogue(NAME).shelf.reader()
        assert (
            "1 damaged records: Film 7; they are left out of answers; add its source again"
            in problems_of(app)[0]
        )
        assert answers_of(app)[f'fetch {{"id": "{NAME}/Film 7"}}'] == "not_found"
        assert reader.model is not None
    add_films(home, write_table(tmp_path / "films.csv"))
    with closing(open_app(home)) as app:
        assert problems_of(app) == []
        assert answers_of(app)[f'fetch {{"id": "{NAME}/Film 7"}}'] != "not_found"


def test_a_damaged_vector_is_removed_and_the_next_add_embeds_its_text_again(
    home: Path, tmp_path: Path
) -> None:
    alter_record(home, "embeddings", "vector")
    with closing(open_app(home)) as app:
        assert "1 damaged vectors" in problems_of(app)[0]
        assert "1 damaged vectors were removed" in app.open_catalogue(NAME).shelf.mend()[0]
        assert app.open_catalogue(NAME).shelf.writer().count_unembedded() == 1
    add_films(home, write_table(tmp_path / "films.csv"))
    with closing(open_app(home)) as app:
        assert app.open_catalogue(NAME).shelf.writer().count_unembedded() == 0
        assert problems_of(app) == []


def test_a_history_that_is_damaged_is_refused_and_named(home: Path) -> None:
    with closing(open_app(home)) as app:
        app.open_catalogue(NAME).shelf.writer().apply([Delete(RecordId("Film 3"))])
    path = folder_of(home) / "records.sqlite"
    with closing(apsw.Connection(str(path))) as db:
        altered = "CAST(replace(CAST(before AS TEXT), 'Film', 'Filn') AS BLOB)"
        db.execute(f"UPDATE changes SET before = {altered} WHERE op = 'delete'")
    with closing(open_app(home)) as app:
        assert any("1 damaged changes of its history" in problem for problem in problems_of(app))
        with pytest.raises(StorageError, match="of the history is damaged"):
            app.open_catalogue(NAME).shelf.history().list_changes(limit=5)


def test_a_server_finds_damage_after_it_has_started_and_mends_or_reports_it(
    home: Path, right: Mapping[str, Any]
) -> None:
    forget_years(home)
    alter_record(home)
    with closing(open_app(home)) as app:
        app.build_gate([NAME])
        assert DamageTask(app, share=1).run(TaskContext()) == f"not whole: {NAME}"
        assert "Film 7" in app.catalogue_problems()[f"catalogue {NAME}"]
        filtered = next(call for call in right if "filters" in call)
        assert ids_in(answers_of(app)[filtered]) == ids_in(right[filtered])


def test_a_check_leaves_a_catalogue_closed_that_no_call_has_read_and_open_that_one_has(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stackroom.assembly.serving.KEPT_OPEN", 0)
    with closing(open_app(home)) as app:
        gate = app.build_gate([NAME])
        (catalogue,) = app.list_served()
        shelf = catalogue.shelf
        assert isinstance(shelf, WatchedShelf)
        assert not shelf.is_open
        assert DamageTask(app, share=1).run(TaskContext()) == "1 catalogues are whole"
        assert not shelf.is_open
        assert not gate.call(LOCAL_USER, "search", {"query": "film"}).is_error
        assert DamageTask(app, share=1).run(TaskContext()) == "1 catalogues are whole"
        assert shelf.is_open


def test_what_is_put_right_after_it_was_reported_is_found_whole_again_without_a_restart(
    home: Path,
) -> None:
    ledger, away = folder_of(home) / "ledger.sqlite", home / "away.sqlite"
    ledger.rename(away)
    with closing(open_app(home)) as app:
        app.build_gate([NAME])
        app.background.add(DamageTask(app, share=1).task(first_s=0.0, again_s=0.01))
        app.background.start()
        assert app.background.wait_for("check catalogues", runs=1, timeout_s=120)
        assert "ledger.sqlite is missing" in app.catalogue_problems()[f"catalogue {NAME}"]
        away.rename(ledger)
        wait_until(lambda: f"catalogue {NAME}" not in app.catalogue_problems(), timeout_s=120)


def test_what_cannot_be_read_on_a_full_disk_is_not_called_damaged(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder_of(home) / "ledger.sqlite").unlink()
    monkeypatch.setattr("stackroom.background.machine_limits.bytes", full_disk, raising=False)
    with closing(open_app(home)) as app:
        app.build_gate([NAME])
        assert DamageTask(app, share=1).run(TaskContext()) == f"not whole: {NAME}"
        assert f"catalogue {NAME}" not in app.catalogue_problems()


def full_disk(_size: int) -> bytes:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ids_in(answer: Any) -> list[str]:
    return sorted(one["id"] for one in answer["results"])


@contextmanager
def unwritable(home: Path) -> Iterator[Path]:
    """Give a copy of a library that this process may read and not write; root becomes nobody
    meanwhile.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(shutil.copytree(home, Path(scratch) / "home"))
        Path(scratch).chmod(0o755)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        is_root = os.geteuid() == 0
        if is_root:
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield copy
        finally:
            if is_root:
                os.setresuid(0, 0, 0)
            for path in (copy, *copy.rglob("*")):
                path.chmod(0o755)


def test_a_library_that_cannot_be_written_to_is_served_and_says_so(
    home: Path, right: Mapping[str, Any]
) -> None:
    with unwritable(home) as copy, closing(open_app(copy)) as app:
        assert answers_of(app) == right
        parts = {part: (is_ok, told) for part, is_ok, told in examine(app.open_catalogue(NAME))}
        assert all(is_ok for is_ok, _ in parts.values())
        assert "read-only" in parts["records"][1]
        assert app.open_catalogue(NAME).shelf.mend() == []
        with pytest.raises(StorageError, match=r"cannot be written.*nothing was changed"):
            app.open_catalogue(NAME).shelf.writer().apply([Delete(RecordId("Film 7"))])


def test_a_library_that_cannot_be_written_to_has_what_a_killed_process_left_in_its_log(
    home: Path,
) -> None:
    app = open_app(home)
    shelf = app.open_catalogue(NAME).shelf
    shelf.writer().apply([Delete(RecordId("Film 7"))])  # in the -wal file, and in no index
    with unwritable(home) as copy, closing(open_app(copy)) as other:
        answers = answers_of(other)
    app.close()
    assert answers[f'fetch {{"id": "{NAME}/Film 7"}}'] == "not_found"
    assert answers[f'fetch {{"id": "{NAME}/Film 8"}}'] != "not_found"


def test_an_index_of_a_library_that_cannot_be_written_to_is_built_elsewhere_where_it_is_missing(
    home: Path, right: Mapping[str, Any]
) -> None:
    shutil.rmtree(folder_of(home) / "index")
    with unwritable(home) as copy, closing(open_app(copy)) as app:
        assert answers_of(app) == right
