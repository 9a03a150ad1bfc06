"""Rows that a command prints: read, bounded in time and size, and left alone where it fails."""

import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from pinakes.errors import InputError
from pinakes.sources.command_rows import Command, CommandLimits, CommandRows
from pinakes.sources.location import SourceLocation
from pinakes.sources.options import NO_OPTIONS, ReadOptions

pytestmark = pytest.mark.row("N1")


def printing(code: str, **limits: Any) -> CommandRows:
    """Return the rows that a line of Python prints."""
    location = f"command:{shlex.join([sys.executable, '-c', code])}"
    return CommandRows(Command.parse(location), NO_OPTIONS, limits=CommandLimits(**limits))


@pytest.mark.parametrize(
    "output",
    ["title,year\nHeat,1995\nRan,1985\n", '{"title": "Heat", "year": 1995}\n{"title": "Ran", "year": 1985}\n'],
)
def test_csv_and_json_lines_are_read(output: str) -> None:
    source = printing(f"print({output!r}, end='')")
    rows = list(source.iter_rows())
    assert [row.values["title"] for row in rows] == ["Heat", "Ran"]
    assert [row.values for row in source.iter_rows(start=1)] == [rows[1].values]
    assert source.is_whole


def test_a_command_is_run_once_for_all_readings(tmp_path: Path) -> None:
    log = tmp_path / "log"
    source = printing(f"open({str(log)!r}, 'a').write('run '); print('a,b'); print('1,2')")
    assert len(list(source.iter_rows())) == len(list(source.iter_rows())) == 1
    assert log.read_text() == "run "


def test_no_shell_reads_the_command_and_nothing_is_typed_at_it(tmp_path: Path) -> None:
    marks = "; touch made > out $HOME *"
    words = [sys.executable, "-c", "import sys; print('a'); print(sys.argv[1]); print(sys.stdin.read() or 'silent')"]
    source = CommandRows(Command(words=(*words, marks), folder=tmp_path), NO_OPTIONS)
    assert [row.values["a"] for row in source.iter_rows()] == [marks, "silent"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["plain", "a b", "it's", "(x)"])
def test_its_name_runs_it_again_from_any_folder(tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / folder
    place.mkdir()
    (place / "rows.csv").write_text("note\nfirst\na,b\n1,2\n")
    monkeypatch.chdir(place)
    name = CommandRows(Command.parse("command:cat rows.csv '#x' 2"), ReadOptions(skip=2)).name
    monkeypatch.chdir("/")
    again = SourceLocation.parse(name)
    command = Command.parse(again.location)
    assert (command.words, command.folder, again.options) == (
        ("cat", "rows.csv", "#x", "2"),
        place,
        ReadOptions(skip=2),
    )
    assert SourceLocation(location=command.location, options=again.options).name == name
    read = CommandRows(Command(words=("cat", "rows.csv"), folder=place), again.options)
    assert [row.values for row in read.iter_rows()] == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; print('a'); print('no such account', file=sys.stderr); sys.exit(3)", "code 3: no such account"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "failed with exit code -15"),
        ("pass", "printed nothing"),
        ("print('[1, 2')", "JSON"),
    ],
)
def test_a_command_that_fails_is_refused_with_what_it_says(code: str, says: str) -> None:
    source = printing(code)
    with pytest.raises(InputError, match=says) as caught:
        list(source.iter_rows())
    assert tempfile.gettempdir() not in str(caught.value)


def test_a_command_that_takes_too_long_is_ended_with_what_it_started() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with pytest.raises(InputError, match=r"took longer than 0\.5 s, and was ended"):
        list(printing(code, timeout_s=0.5).iter_rows())


def test_a_command_that_prints_too_much_is_ended() -> None:
    with pytest.raises(InputError, match="printed more than 1,000 bytes, and was ended"):
        list(printing("while True: print('x' * 100)", most_bytes=1_000).iter_rows())


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("command:", "names no command"),
        ("command:   ", "names no command"),
        ("command:echo 'open", "cannot be read"),
        ("command:/no/such/program x", "cannot be run: No such file or directory"),
    ],
)
def test_what_is_no_command_is_refused(location: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        list(CommandRows(Command.parse(location), NO_OPTIONS).iter_rows())


def test_its_output_is_deleted_with_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = printing("print('a'); print('1')")
    assert len(list(source.iter_rows())) == 1
    assert len(list(tmp_path.iterdir())) == 1
    del source
    assert list(tmp_path.iterdir()) == []
