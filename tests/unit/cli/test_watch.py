"""Watching a folder: one line a change, failures said once, a clean end."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pinakes.assembly.app import App
from pinakes.cli.watch import Snapshot, Watch, take_snapshot
from pinakes.errors import InputError
from pinakes.ingest.pipeline import IngestReport
from pinakes.settings import Settings

pytestmark = pytest.mark.row("T10")

Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nFirst note.\n")
    return folder


def waits(*steps: Callable[[], Any]) -> Callable[[], None]:
    """Return a wait that does one step each time, and is interrupted after the last."""
    left: Iterator[Callable[[], Any]] = iter(steps)

    def wait() -> None:
        step = next(left, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    return wait


def watch(look: Callable[[], Snapshot], add: Callable[[], IngestReport], *steps: Callable[[], Any]) -> list[str]:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        Watch(look=look, add=add, wait=waits(*steps), say=said.append).run(known=look())
    return said


def test_once_builds_the_catalogue_and_ends(home: Path, folder: Path, run: Run) -> None:
    ran = run(["watch", str(folder), "--name", "notes", "--once", "--no-embed"])
    assert ran.code == 0, ran.err
    assert "1 rows: 2 written" in ran.out
    assert [one.name for one in App(Settings(home=home)).library.list_installed()] == ["notes"]
    assert "0 written, 2 unchanged" in run(["watch", str(folder), "--name", "notes", "--once", "--no-embed"]).out


def test_every_change_is_added_until_it_is_interrupted(
    home: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = waits(
        lambda: (folder / "b.md").write_text("# B\n\nSecond note.\n"),
        lambda: None,
        (folder / "a.md").unlink,
        lambda: (folder / "c.pdf").write_bytes(b"broken"),
    )
    monkeypatch.setattr("time.sleep", lambda _seconds: wait())
    ran = run(["watch", str(folder), "--name", "notes", "--no-embed"])
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[2:] == [
        "2 written, 0 removed",
        "0 written, 2 removed",
        "0 written, 0 removed, 1 left out",
        "stopped; every change written so far is kept",
    ]


def test_a_folder_that_is_gone_for_a_while_is_said_once_and_nothing_is_removed(
    home: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    wait = waits(lambda: folder.rename(away), lambda: None, lambda: away.rename(folder), lambda: None)
    monkeypatch.setattr("time.sleep", lambda _seconds: wait())
    ran = run(["watch", str(folder), "--name", "notes", "--no-embed"])
    assert ran.code == 0
    assert ran.out.count("no such file or folder; trying again") == 1
    assert "removed" not in ran.out


def test_a_folder_that_is_not_there_is_refused_before_a_model_is_got(home: Path, tmp_path: Path, run: Run) -> None:
    ran = run(["watch", str(tmp_path / "nothing")])
    assert (ran.code, ran.out) == (InputError.exit_code, "")
    assert "no such file or folder" in ran.err


def test_what_failed_is_tried_again_though_nothing_changes_meanwhile(folder: Path) -> None:
    outcomes: list[Any] = [InputError("busy"), InputError("busy"), IngestReport(written=1)]

    def add() -> IngestReport:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    said = watch(
        lambda: take_snapshot(folder),
        add,
        lambda: (folder / "b.md").write_text("text"),
        lambda: None,
        lambda: None,
        lambda: None,
    )
    assert said == ["busy; trying again", "1 written, 0 removed"]
    assert not outcomes


def test_a_change_that_changes_nothing_is_not_worth_a_line(folder: Path) -> None:
    assert watch(lambda: take_snapshot(folder), IngestReport, lambda: (folder / "b.md").write_text("")) == []


def test_a_snapshot_has_every_file_but_hidden_ones(folder: Path) -> None:
    (folder / ".hidden").write_text("x")
    (folder / "dead.md").symlink_to(folder / "nothing")
    assert list(take_snapshot(folder)) == [folder / "a.md"]
    assert list(take_snapshot(folder / "a.md")) == [folder / "a.md"]
