"""Install the wheel into empty environments of every Python that is here, by pip, pipx and uv, and search in each.

`make install-matrix` runs all of it. `--python 3.12` names versions, `--no-tools` leaves out pipx and uv, `--wheel`
takes a wheel that exists. Exits with 1 when one of them fails; a Python that is not here is named and no failure.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
REFUSED = "3.10"
FILMS = "title,year,story\nHeat,1995,A thief and a detective.\nAlien,1979,Something is aboard the ship.\n"
TIMEOUT_S = 900


class StepFailedError(Exception):
    """A command of the matrix did not do what it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One line of the matrix."""

    name: str
    result: str
    seconds: float = 0.0

    @property
    def is_failure(self) -> bool:
        """Whether the line counts as a failure."""
        return self.result.startswith("FAILED")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix, print it, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="a version to try, such as 3.12; may be given several times")
    parser.add_argument("--no-tools", action="store_true", help="leave out pipx and uv")
    parser.add_argument("--wheel", type=Path, help="a wheel that exists; otherwise one is built")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pinakes-matrix-") as name:
        folder = Path(name)
        wheel = options.wheel.resolve() if options.wheel else build(folder)
        outcomes = [try_python(version, wheel, folder) for version in options.python or (*SUPPORTED, REFUSED)]
        outcomes += [] if options.no_tools else try_tools(wheel, folder)
    return 1 if any(one.is_failure for one in outcomes) else 0


def build(folder: Path) -> Path:
    """Build the wheel of this checkout."""
    command = [sys.executable, "-c", f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"]
    return folder / run(command, cwd=ROOT).strip().splitlines()[-1]


def try_python(version: str, wheel: Path, folder: Path) -> Outcome:
    """Install the wheel with pip into an empty environment of a Python, and search; an old one must refuse it."""
    python = find_python(version)
    if python is None:
        return told(Outcome(name=f"Python {version}", result="not here"))
    attempt = refuse_old if version == REFUSED else install_and_search
    return timed(f"Python {version}", lambda: attempt(python, wheel, folder / f"python-{version}"))


def find_python(version: str) -> str | None:
    """Return a Python of this version: on the path, or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [f"python{version}", *(str(one / "bin/python") for one in sorted(pyenv.glob(f"{version}.*")))]
    return next((one for one in found if shutil.which(one) and answers(one, version)), None)


def answers(python: str, version: str) -> bool:
    """Tell whether a command is a Python of this version; those of pyenv may exist and refuse."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def install_and_search(python: str, wheel: Path, folder: Path) -> str:
    """Install, build a catalogue of two films, search it, and uninstall."""
    run([python, "-m", "venv", str(folder)])
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    run([str(commands / "python"), "-m", "pip", "install", "-q", str(wheel)])
    search([str(commands / "pinakes")], folder)
    search([str(commands / "python"), "-m", "pinakes"], folder)
    run([str(commands / "python"), "-m", "pip", "uninstall", "-q", "-y", "pinakes"])
    if list(folder.rglob("site-packages/pinakes*/**/*.py")):
        raise StepFailedError("files of pinakes are left after pip uninstall")
    return "installed, searched, uninstalled"


def refuse_old(python: str, wheel: Path, folder: Path) -> str:
    """See that pip, asked for the package by name, refuses it and names the Python that it requires."""
    run([python, "-m", "venv", str(folder)])
    index = write_index(wheel, folder / "index")
    command = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "--index-url", index.as_uri(), "pinakes"]
    environment = clean_environment(folder) | {"PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    said = next((line for line in done.stderr.splitlines() if "Requires-Python >=3.11" in line), "")
    if done.returncode == 0 or not said:
        raise StepFailedError(f"an old Python was not refused: {done.stderr[-300:]}")
    return f"refused by pip: {said}"


def write_index(wheel: Path, folder: Path) -> Path:
    """Write a package index that has only this wheel, and states the Python that it requires."""
    page = folder / "pinakes" / "index.html"
    page.parent.mkdir(parents=True)
    link = f'<a href="{wheel.as_uri()}" data-requires-python="&gt;={SUPPORTED[0]}">{wheel.name}</a>'
    page.write_text(f"<!DOCTYPE html><title>pinakes</title>{link}", encoding="utf-8")
    return folder


def search(pinakes: Sequence[str], folder: Path) -> None:
    """Greet, add a table and search it, in an empty library and outside of any checkout."""
    home = Path(tempfile.mkdtemp(dir=folder))
    table = home / "films.csv"
    table.write_text(FILMS, encoding="utf-8")
    environment = clean_environment(home)
    greeting = run([*pinakes], cwd=home, environment=environment)
    if "pinakes init" not in greeting:
        raise StepFailedError(f"the greeting does not offer a library: {greeting}")
    run([*pinakes, "add", str(table), "--yes", "--no-embed"], cwd=home, environment=environment)
    found = json.loads(run([*pinakes, "search", "films", "ship", "--json"], cwd=home, environment=environment))
    if [one["title"] for one in found["results"]][:1] != ["Alien"]:
        raise StepFailedError(f"the search found {found['results']}")


def try_tools(wheel: Path, folder: Path) -> list[Outcome]:
    """Install the wheel as users of pipx and uv do; both are got by pip."""
    tools = folder / "tools"
    python = next(filter(None, map(find_python, ("3.12", "3.11", "3.13"))), sys.executable)
    run([python, "-m", "venv", str(tools)])
    run([str(tools / "bin/python"), "-m", "pip", "install", "-q", "pipx", "uv"])
    attempts: dict[str, Callable[[], str]] = {
        "pipx": lambda: try_pipx(tools, wheel, folder / "pipx", python),
        "uvx": lambda: try_uvx(tools, wheel, folder / "uvx", python),
        "uv tool": lambda: try_uv_tool(tools, wheel, folder / "uv-tool", python),
    }
    return [timed(name, attempt) for name, attempt in attempts.items()]


def try_pipx(tools: Path, wheel: Path, folder: Path, python: str) -> str:
    """Install, search, install again over it, and uninstall with pipx."""
    environment = clean_environment(folder) | {"PIPX_HOME": str(folder / "home"), "PIPX_BIN_DIR": str(folder / "bin")}
    pipx = str(tools / "bin/pipx")
    run([pipx, "install", "--python", python, str(wheel)], environment=environment)
    search([str(folder / "bin/pinakes")], folder)
    run([pipx, "install", "--force", "--python", python, str(wheel)], environment=environment)
    run([pipx, "uninstall", "pinakes"], environment=environment)
    return require_gone(folder / "bin/pinakes")


def try_uvx(tools: Path, wheel: Path, folder: Path, python: str) -> str:
    """Run from the wheel without installing."""
    folder.mkdir()
    search([str(tools / "bin/uvx"), "-q", "--python", python, "--from", str(wheel), "pinakes"], folder)
    return "ran and searched"


def try_uv_tool(tools: Path, wheel: Path, folder: Path, python: str) -> str:
    """Install, search, install again over it, and uninstall with uv."""
    places = {"UV_TOOL_DIR": str(folder / "home"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    environment, uv = clean_environment(folder) | places, str(tools / "bin/uv")
    run([uv, "tool", "install", "-q", "--python", python, str(wheel)], environment=environment)
    search([str(folder / "bin/pinakes")], folder)
    run([uv, "tool", "install", "-q", "--reinstall", "--python", python, str(wheel)], environment=environment)
    run([uv, "tool", "uninstall", "-q", "pinakes"], environment=environment)
    return require_gone(folder / "bin/pinakes")


def require_gone(command: Path) -> str:
    """Refuse a command that is left after it was uninstalled."""
    if command.exists():
        raise StepFailedError(f"{command} is left after uninstall")
    return "installed, searched, reinstalled, uninstalled"


def clean_environment(home: Path) -> dict[str, str]:
    """Return the environment of somebody who has no checkout: an empty home, and no settings of Python or Pinakes."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PINAKES_", "PYTHON"))}
    return kept | {"PINAKES_HOME": str(home / "library"), "PINAKES_MODELS": str(home / "models")}


def timed(name: str, attempt: Callable[[], str]) -> Outcome:
    """Run an attempt, and print its outcome."""
    start = time.monotonic()
    try:
        result = attempt()
    except StepFailedError as error:
        result = f"FAILED: {error}"
    return told(Outcome(name=name, result=result, seconds=time.monotonic() - start))


def told(outcome: Outcome) -> Outcome:
    """Print an outcome and return it."""
    print(f"{outcome.name:12} {outcome.seconds:6.1f} s  {outcome.result}", flush=True)
    return outcome


def run(command: Sequence[str], *, cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    """Run a command and return its output; one that fails ends the attempt."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        raise StepFailedError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
