"""What `make serve` does before it serves, with programs in the place of Python and uv that do as
they are told.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.row("N17")

PYTHON = """#!/bin/sh
case "$1 $2" in
"-c "*print*) echo {version} ;;
"-c "*) exit {is_too_old} ;;
"-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; echo venv >> calls ;;
"-m pip") echo "pip $*" >> calls; exit {pip} ;;
"-m compileall") ;;
esac
"""
UV = """#!/bin/sh
echo "uv $*" >> calls
{does}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the set-up reads, and an empty folder of programs."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "programs").mkdir()
    for name in ("Makefile", "scripts/environment.sh", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for lock in ROOT.glob("*.lock"):
        (tmp_path / lock.name).touch()
    return tmp_path


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def write_python(
    checkout: Path, name: str = "python3", *, version: str = "3.12.1", pip: int = 0
) -> None:
    is_too_old = int(version.startswith("3.1") and int(version.split(".")[1]) < 11)
    write_program(
        checkout / "programs" / name, PYTHON.format(version=version, is_too_old=is_too_old, pip=pip)
    )


def write_uv(checkout: Path, does: str = "") -> None:
    write_program(checkout / "programs" / "uv", UV.format(does=does))


def set_up(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run `make` for the serving environment, with no Python to be found but those of the folder of
    programs.
    """
    tools = checkout / "tools"
    if not tools.is_dir():
        tools.mkdir()
        for name in ("make", "sh", "rm", "mkdir", "touch", "cp", "cat", "sleep"):
            (tools / name).symlink_to(shutil.which(name) or pytest.skip(f"{name} is not installed"))
    environment = {"PATH": f"{checkout / 'programs'}{os.pathsep}{tools}"}
    command = ["make", ".venv/.serving"]
    return subprocess.run(
        command,
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=_hear_ctrl_c,
    )


def _hear_ctrl_c() -> None:
    """Undo what a shell does to the commands that it runs in the background: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_python_that_is_too_old_is_told_in_one_sentence_and_nothing_is_made(
    checkout: Path,
) -> None:
    write_python(checkout, version="3.10.13")
    done = set_up(checkout)
    sentence, *rest = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert "Python 3.11 or newer is needed, and python3 is 3.10.13" in sentence
    assert not rest
    assert done.returncode != 0
    assert not (checkout / ".venv").exists()


def test_no_python_at_all_is_told_in_the_same_way(checkout: Path) -> None:
    done = set_up(checkout)
    assert "Python 3.11 or newer is needed, and python3 is not here" in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_newer_python_beside_one_that_is_too_old_is_used(checkout: Path) -> None:
    write_python(checkout, version="3.10.13")
    write_python(checkout, "python3.12")
    write_uv(checkout)
    assert set_up(checkout).returncode == 0
    assert (checkout / ".venv/.serving").exists()


def test_serving_installs_the_serving_lock_alone(checkout: Path) -> None:
    write_python(checkout)
    write_uv(checkout)
    set_up(checkout)
    calls = (checkout / "calls").read_text()
    assert "--require-hashes -r requirements-server.lock" in calls
    assert "-r requirements.lock" not in calls


def test_an_installation_that_fails_leaves_nothing_behind_and_the_next_one_works(
    checkout: Path,
) -> None:
    write_python(checkout, pip=1)
    write_uv(checkout, "exit 1")
    done = set_up(checkout)
    assert done.returncode != 0
    assert "not installed" in done.stderr
    assert not (checkout / ".venv").exists()
    write_uv(checkout)
    assert set_up(checkout).returncode == 0


def test_where_uv_fails_pip_installs(checkout: Path) -> None:
    write_python(checkout)
    write_uv(checkout, "exit 1")
    assert set_up(checkout).returncode == 0
    assert (
        "pip -m pip install -q --require-hashes -r requirements-server.lock"
        in (checkout / "calls").read_text()
    )


@pytest.mark.parametrize(("sent", "stays"), [("INT", False), ("KILL", True)])
def test_after_an_interruption_the_next_run_makes_the_environment_anew(
    checkout: Path, sent: str, stays: bool
) -> None:
    write_python(checkout)
    write_uv(checkout, f"touch .venv/half; kill -{sent} $PPID; exit 1")
    assert set_up(checkout).returncode != 0
    assert (checkout / ".venv").exists() == stays, "only what cannot be caught leaves files"
    write_uv(checkout)
    assert set_up(checkout).returncode == 0
    assert not (checkout / ".venv/half").exists()
    assert not (checkout / ".venv/.unfinished").exists()


def test_an_update_that_fails_keeps_the_environment_that_worked(checkout: Path) -> None:
    write_python(checkout, pip=1)
    write_uv(checkout)
    set_up(checkout)
    (checkout / ".venv/kept").touch()
    (checkout / ".venv/.serving").unlink()
    write_uv(checkout, "exit 1")
    assert set_up(checkout).returncode != 0
    write_uv(checkout)
    assert set_up(checkout).returncode == 0
    assert (checkout / ".venv/kept").exists()


def test_an_environment_of_a_python_that_is_too_old_is_made_anew(checkout: Path) -> None:
    write_python(checkout, version="3.10.13")
    (checkout / ".venv/bin").mkdir(parents=True)
    (checkout / "programs/python3").rename(checkout / ".venv/bin/python")
    (checkout / ".venv/trap").touch()
    write_python(checkout)
    write_uv(checkout)
    assert set_up(checkout).returncode == 0
    assert not (checkout / ".venv/trap").exists()
