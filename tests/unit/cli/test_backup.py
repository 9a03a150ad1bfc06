"""`stackroom backup` and `restore`: a library under writes, copied, checked, and brought back whole
or in part.
"""

import shutil
import threading
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from stackroom.assembly.app import App
from stackroom.background.background import Background, TaskContext, status_task
from stackroom.control.control import Control
from stackroom.jobs.backup import list_backups
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from support.terminals import Run

pytestmark = [pytest.mark.row("Z9"), pytest.mark.row("N24")]

PLAYS = "code,play,note\n" + "".join(
    f"p{number},Play {number},note {number}\n" for number in range(300)
)


@pytest.fixture
def library(home: Path, tmp_path: Path, run: Run) -> Path:
    """A library with two catalogues, one of which can be edited, an account and a setting."""
    (tmp_path / "plays.csv").write_text(PLAYS)
    for name in ("plays", "other"):
        run(f"add {tmp_path / 'plays.csv'} --name {name} --yes --no-embed")
    run("describe plays --editable")
    run("user add ada --one-time")
    (home / "stackroom.toml").write_text("offline = true\n")
    return home


def find(run: Run, query: str, catalogue: str = "plays") -> list[str]:
    return [hit["title"] for hit in run(f"search {catalogue} '{query}' --json").json["results"]]


def edit(app: App, number: int, note: str) -> None:
    gate = app.build_gate(["plays"])
    change = {"action": "update", "id": f"p{number}", "kind": "record", "fields": {"note": note}}
    assert gate.call(LOCAL_USER, "catalog.mutate", change).error is None


def test_a_backup_made_under_writes_is_a_moment_of_the_library_that_restores_whole(
    library: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, stop, done = App(Settings(home=library)), threading.Event(), threading.Event()

    def write() -> None:
        for number in range(300):
            if stop.is_set():
                break
            edit(app, number, f"rewritten {number}")
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    done.wait(60)
    made = run(f"backup --to {tmp_path / 'kept'} --json").json
    stop.set()
    writer.join()
    app.close()
    assert "plays" not in made["notes"]

    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "again"))
    restored = run(f"restore {tmp_path / 'kept'} --json").json
    assert restored["restored"] == ["catalogues", "control.sqlite", "stackroom.toml"]
    with closing(App(Settings(home=tmp_path / "again"))) as again:
        shelf = again.open_catalogue("plays").shelf
        edited = shelf.history().list_changes(limit=1000)
        notes = [str(one.after.get("note")) for one in edited if one.after and one.before]
    assert notes
    assert find(run, notes[0])[0].startswith("Play")
    assert find(run, "Play 7", "other")
    assert run("user list --json").json["users"][0]["name"] == "ada"
    assert run("audit verify").code == 0
    assert "plays: ledger: whole" in run("doctor").out


def test_old_backups_beyond_those_to_keep_are_removed_and_models_are_in_it_if_asked_for(
    library: Path, run: Run
) -> None:
    (library / "models" / "tiny").mkdir(parents=True)
    (library / "models" / "tiny" / "model.onnx").write_bytes(b"weights")
    for _ in range(3):
        run("backup --keep 2")
    made = Path(run("backup --keep 2 --models --json").json["folder"])
    assert list_backups(library / "backups")[-1] == made
    assert len(list_backups(library / "backups")) == 2
    assert (made / "models" / "tiny" / "model.onnx").read_bytes() == b"weights"


def test_one_catalogue_is_restored_beside_the_others_and_never_over_one(
    library: Path, run: Run
) -> None:
    run("backup")
    refused = run("restore --catalogue plays")
    assert (refused.code != 0, "is there already, and nothing was restored" in refused.err) == (
        True,
        True,
    )
    run("remove plays")
    assert run("restore --catalogue plays").code == 0
    assert find(run, "Play 7")
    assert "did you mean 'plays'?" in run("restore --catalogue plas").err


def test_accounts_alone_are_restored_and_those_before_are_kept_beside_them(
    library: Path, run: Run
) -> None:
    run("backup")
    run("user add bob --one-time")
    assert run("restore --accounts").code == 0
    assert [one["name"] for one in run("user list --json").json["users"]] == ["ada"]
    (library / "control.sqlite").unlink()
    (library / "control.sqlite.before-restore").rename(library / "control.sqlite")
    with closing(Control.open(Settings(home=library))) as control:
        assert control.accounts.get_user("bob").name == "bob"


def test_nothing_is_restored_over_a_library_a_running_server_or_from_a_damaged_backup(
    library: Path, run: Run
) -> None:
    made = Path(run("backup --json").json["folder"])
    assert "catalogues, control.sqlite, stackroom.toml already" in run("restore").err
    background = Background()
    status_task(background, library).run(TaskContext())
    assert "a server runs on this library" in run("restore --accounts").err
    shutil.rmtree(library / "background")
    with (made / "catalogues" / "plays" / "records.sqlite").open("r+b") as file:
        file.seek(4096)
        file.write(b"flipped")
    refused = run("restore --accounts")
    assert "the back-up is damaged, and nothing was restored" in refused.err
    assert "is restored" not in refused.out
    assert orjson.loads((made / "manifest.json").read_bytes())["format"] == 1
