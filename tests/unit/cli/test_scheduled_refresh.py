"""A table fed by a command or a schedule: `pinakes add command:…`, and the job that refreshes one catalogue."""

import shlex
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pinakes.assembly.app import App
from pinakes.assembly.build import open_provider, open_rows
from pinakes.errors import InputError, NotFoundError
from pinakes.settings import load_settings

pytestmark = pytest.mark.row("N1")
Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINAKES_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RAG_STRICT_OFFLINE", "1")
    return tmp_path / "home"


@pytest.fixture
def films(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    path.write_text("id,title\n1,Heat\n2,Ran\n")
    return path


def titles(run: Run) -> list[str]:
    return sorted(hit["title"] for hit in run(["search", "films", "heat ran ikiru", "--json"]).json["results"])


def test_a_catalogue_is_refreshed_by_a_job_of_its_own(home: Path, films: Path, run: Run) -> None:
    run(["add", str(films), "--yes", "--no-embed"])
    assert "refresh:films" not in [job["name"] for job in run(["job", "list", "--json"]).json]
    assert run(["job", "show", "refresh:films", "--json"]).json["schedule"] == "manual"
    scheduled = run(["job", "schedule", "refresh:films", "6h", "--json"])
    assert scheduled.json["schedule"] == "6h"
    assert "refresh:films" in run(["job", "list"]).out
    films.write_text("id,title\n1,Heat\n3,Ikiru\n")
    ran = run(["job", "run", "refresh:films"])
    assert ran.code == 0, ran.err
    assert titles(run) == ["Heat", "Ikiru"]
    assert run(["job", "history", "refresh:films", "--json"]).json[0]["state"] == "done"


def test_a_job_says_which_columns_are_new(home: Path, films: Path, run: Run) -> None:
    run(["add", str(films), "--yes", "--no-embed"])
    films.write_text("id,title,stars\n1,Heat,4\n2,Ran,5\n")
    ran = run(["job", "run", "refresh:films"])
    assert ran.code == 0, ran.err
    assert "new columns: 'stars' (int); to take them into the spec: add again with --adopt" in ran.out


def test_only_installed_catalogues_have_such_a_job(home: Path, films: Path, run: Run) -> None:
    run(["add", str(films), "--yes", "--no-embed"])
    for command in (["show"], ["run"], ["history"]):
        ran = run(["job", *command, "refresh:film"])
        assert ran.code == NotFoundError.exit_code
        assert "did you mean 'refresh:films'?" in ran.err


def exporting(path: Path) -> str:
    return f"command:{shlex.join([sys.executable, '-c', f'print(open({str(path)!r}).read())'])}"


def test_a_command_feeds_a_catalogue_at_the_command_line_and_jobs_need_leave(home: Path, films: Path, run: Run) -> None:
    ran = run(["add", exporting(films), "--name", "films", "--yes", "--no-embed"])
    assert ran.code == 0, ran.err
    assert titles(run) == ["Heat", "Ran"]
    films.write_text("id,title\n1,Heat\n3,Ikiru\n")
    refused = run(["job", "run", "refresh:films"])
    assert refused.code == 1
    assert "set commands = true in [sources] of pinakes.toml" in refused.out
    assert titles(run) == ["Heat", "Ran"]
    (home / "pinakes.toml").write_text("[sources]\ncommands = true\n")
    allowed = run(["job", "run", "refresh:films"])
    assert allowed.code == 0, allowed.out
    assert titles(run) == ["Heat", "Ikiru"]


def test_a_command_that_fails_leaves_the_catalogue_as_it_was(home: Path, films: Path, run: Run) -> None:
    location = exporting(films)
    run(["add", location, "--name", "films", "--yes", "--no-embed"])
    films.unlink()
    ran = run(["add", location, "--name", "films", "--no-embed"])
    assert ran.code == InputError.exit_code
    assert "failed with exit code 1: FileNotFoundError" in ran.err
    assert titles(run) == ["Heat", "Ran"]


def test_a_command_needs_a_name_for_its_catalogue(home: Path, films: Path, run: Run) -> None:
    ran = run(["add", exporting(films), "--yes", "--no-embed"])
    assert ran.code == InputError.exit_code
    assert "give --name" in ran.err


def test_nothing_but_the_command_line_and_allowed_jobs_can_name_a_command(home: Path, films: Path) -> None:
    with closing(App(load_settings())) as app, pytest.raises(InputError, match="may not run commands"):
        open_provider(app, exporting(films))
    with pytest.raises(InputError, match="no such file"):
        open_rows(None, exporting(films))


def test_answers_do_not_show_the_command(home: Path, films: Path, run: Run) -> None:
    run(["add", exporting(films), "--name", "films", "--yes", "--no-embed"])
    with closing(App(load_settings())) as app:
        (name,) = app.library.get_installed("films").sources
    assert name.startswith("command:(cd ")
    (hit,) = run(["search", "films", "heat", "--json"]).json["results"]
    assert "command" not in str(hit)
    assert sys.executable not in str(hit)
