"""Install the wheel into empty environments of every Python that is here, by pip, pipx and uv, and
search in each.

`make install-matrix` runs all of it. `--python 3.12` names versions, `--no-tools` leaves out pipx
and uv, `--wheel` takes a wheel that exists. Exits with 1 when one of them fails; a Python that is
not here is named and no failure.
"""

import argparse
import json
import os
import re
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
OLDER = "0.0.1"
"""The version of the wheel that is upgraded from: this checkout under another number."""
BUILT_FROM = ("pyproject.toml", "hatch_build.py", "README.md", "CHANGELOG.md", "LICENSE")
FILMS = (
    "title,year,story\nHeat,1995,A thief and a detective.\nAlien,1979,Something is aboard the"
    " ship.\n"
)
TIMEOUT_S = 900


class StepFailedError(Exception):
    """A command of the matrix did not do what it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheels:
    """The wheel that is tried, and one of an older version to upgrade from."""

    older: Path
    newest: Path


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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        action="append",
        help="a version to try, such as 3.12; may be given several times",
    )
    parser.add_argument("--no-tools", action="store_true", help="leave out pipx and uv")
    parser.add_argument("--wheel", type=Path, help="a wheel that exists; otherwise one is built")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="stackroom-matrix-") as name:
        folder = Path(name)
        wheel = options.wheel.resolve() if options.wheel else build(ROOT, folder)
        wheels = Wheels(older=build_older(folder / "older"), newest=wheel)
        outcomes = [
            try_python(version, wheels, folder)
            for version in options.python or (*SUPPORTED, REFUSED)
        ]
        outcomes += [] if options.no_tools else try_tools(wheels, folder)
    return 1 if any(one.is_failure for one in outcomes) else 0


def build(checkout: Path, folder: Path) -> Path:
    """Build the wheel of a checkout."""
    command = [
        sys.executable,
        "-c",
        f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))",
    ]
    return folder / run(command, cwd=checkout).strip().splitlines()[-1]


def build_older(folder: Path) -> Path:
    """Build the wheel of this checkout under an older version."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in BUILT_FROM:
        shutil.copy(ROOT / name, folder / name)
    version_file = folder / "src/stackroom/__init__.py"
    text = re.sub(
        r'^__version__ = ".*"$',
        f'__version__ = "{OLDER}"',
        version_file.read_text("utf-8"),
        flags=re.MULTILINE,
    )
    version_file.write_text(text, encoding="utf-8")
    return build(folder, folder)


def try_python(version: str, wheels: Wheels, folder: Path) -> Outcome:
    """Install the wheel with pip into an empty environment of a Python, and search; an old one must
    refuse it.
    """
    python = find_python(version)
    if python is None:
        return told(Outcome(name=f"Python {version}", result="not here"))
    attempt = refuse_old if version == REFUSED else install_and_search
    return timed(f"Python {version}", lambda: attempt(python, wheels, folder / f"python-{version}"))


def find_python(version: str) -> str | None:
    """Return a Python of this version: on the path, or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [
        f"python{version}",
        *(str(one / "bin/python") for one in sorted(pyenv.glob(f"{version}.*"))),
    ]
    return next((one for one in found if shutil.which(one) and answers(one, version)), None)


def answers(python: str, version: str) -> bool:
    """Tell whether a command is a Python of this version; those of pyenv may exist and refuse."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def install_and_search(python: str, wheels: Wheels, folder: Path) -> str:
    """Install, upgrade, build a catalogue of two films, search it, and uninstall."""
    run([python, "-m", "venv", str(folder)])
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    run([str(commands / "python"), "-m", "pip", "install", "-q", str(wheels.older)])
    run([str(commands / "python"), "-m", "pip", "install", "-q", "-U", str(wheels.newest)])
    require_version(commands / "stackroom", wheels.newest)
    search([str(commands / "stackroom")], folder)
    search([str(commands / "python"), "-m", "stackroom"], folder)
    run([str(commands / "python"), "-m", "pip", "uninstall", "-q", "-y", "stackroom"])
    if list(folder.rglob("site-packages/stackroom*/**/*.py")):
        raise StepFailedError("files of stackroom are left after pip uninstall")
    return "installed, upgraded, searched, uninstalled"


def refuse_old(python: str, wheels: Wheels, folder: Path) -> str:
    """See that pip, asked for the package by name, refuses it and names the Python that it
    requires.
    """
    run([python, "-m", "venv", str(folder)])
    index = write_index([wheels.newest], folder / "index")
    command = [
        str(folder / "bin/python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--index-url",
        index.as_uri(),
        "stackroom",
    ]
    environment = clean_environment(folder) | {"PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    said = next((line for line in done.stderr.splitlines() if "Requires-Python >=3.11" in line), "")
    if done.returncode == 0 or not said:
        raise StepFailedError(f"an old Python was not refused: {done.stderr[-300:]}")
    return f"refused by pip: {said}"


def write_index(wheels: Sequence[Path], folder: Path) -> Path:
    """Write a package index that has only these wheels, and states the Python that they require."""
    page = folder / "stackroom" / "index.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    requires = f'data-requires-python="&gt;={SUPPORTED[0]}"'
    links = [f'<a href="{wheel.as_uri()}" {requires}>{wheel.name}</a>' for wheel in wheels]
    page.write_text(f"<!DOCTYPE html><title>stackroom</title>{''.join(links)}", encoding="utf-8")
    return folder


def search(stackroom: Sequence[str], folder: Path) -> None:
    """Greet, add a table and search it, in an empty library and outside of any checkout."""
    home = Path(tempfile.mkdtemp(dir=folder))
    table = home / "films.csv"
    table.write_text(FILMS, encoding="utf-8")
    environment = clean_environment(home)
    greeting = run([*stackroom], cwd=home, environment=environment)
    if "stackroom init" not in greeting:
        raise StepFailedError(f"the greeting does not offer a library: {greeting}")
    run([*stackroom, "add", str(table), "--yes", "--no-embed"], cwd=home, environment=environment)
    found = json.loads(
        run([*stackroom, "search", "films", "ship", "--json"], cwd=home, environment=environment)
    )
    if [one["title"] for one in found["results"]][:1] != ["Alien"]:
        raise StepFailedError(f"the search found {found['results']}")


def try_tools(wheels: Wheels, folder: Path) -> list[Outcome]:
    """Install the wheel as users of pipx and uv do; both are got by pip."""
    tools = folder / "tools"
    python = next(filter(None, map(find_python, ("3.12", "3.11", "3.13"))), sys.executable)
    run([python, "-m", "venv", str(tools)])
    run([str(tools / "bin/python"), "-m", "pip", "install", "-q", "pipx", "uv"])
    attempts: dict[str, Callable[[], str]] = {
        "pipx": lambda: try_pipx(tools / "bin/pipx", wheels, folder / "pipx", python),
        "uvx": lambda: try_uvx(tools / "bin/uvx", wheels, folder / "uvx", python),
        "uv tool": lambda: try_uv_tool(tools / "bin/uv", wheels, folder / "uv-tool", python),
    }
    return [timed(name, attempt) for name, attempt in attempts.items()]


def try_pipx(pipx: Path, wheels: Wheels, folder: Path, python: str) -> str:
    """Install, upgrade, search and uninstall with pipx."""
    index = write_index([wheels.older], folder / "index")
    environment = clean_environment(folder) | {
        "PIPX_HOME": str(folder / "home"),
        "PIPX_BIN_DIR": str(folder / "bin"),
    }
    from_index = f"--pip-args=--extra-index-url {index.as_uri()}"
    run(
        [str(pipx), "install", "--python", python, from_index, "stackroom"], environment=environment
    )
    write_index([wheels.older, wheels.newest], index)
    run([str(pipx), "upgrade", "stackroom"], environment=environment)
    require_version(folder / "bin/stackroom", wheels.newest)
    search([str(folder / "bin/stackroom")], folder)
    run([str(pipx), "uninstall", "stackroom"], environment=environment)
    return require_gone(folder / "bin/stackroom")


def try_uvx(uvx: Path, wheels: Wheels, folder: Path, python: str) -> str:
    """Run from the wheel without installing."""
    folder.mkdir()
    search([str(uvx), "-q", "--python", python, "--from", str(wheels.newest), "stackroom"], folder)
    return "ran and searched"


def try_uv_tool(uv: Path, wheels: Wheels, folder: Path, python: str) -> str:
    """Install, upgrade, search and uninstall with uv."""
    index = write_index([wheels.older], folder / "index")
    places = {"UV_TOOL_DIR": str(folder / "home"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    environment = clean_environment(folder) | places
    from_index = ["--index", index.as_uri()]
    run(
        [str(uv), "tool", "install", "-q", "--python", python, *from_index, "stackroom"],
        environment=environment,
    )
    write_index([wheels.older, wheels.newest], index)
    run([str(uv), "tool", "upgrade", "-q", "stackroom"], environment=environment)
    require_version(folder / "bin/stackroom", wheels.newest)
    search([str(folder / "bin/stackroom")], folder)
    run([str(uv), "tool", "uninstall", "-q", "stackroom"], environment=environment)
    return require_gone(folder / "bin/stackroom")


def require_version(stackroom: Path, wheel: Path) -> None:
    """Refuse a command that is of another version than the wheel."""
    version = wheel.name.split("-")[1]
    said = run([str(stackroom), "--version"]).strip()
    if not said.endswith(f" {version}"):
        raise StepFailedError(f"{said!r} after the upgrade to {version}")


def require_gone(command: Path) -> str:
    """Refuse a command that is left after it was uninstalled."""
    if command.exists():
        raise StepFailedError(f"{command} is left after uninstall")
    return "installed, upgraded, searched, uninstalled"


def clean_environment(home: Path) -> dict[str, str]:
    """Return the environment of somebody who has no checkout: an empty home, and no settings of
    Python or Stackroom.
    """
    home.mkdir(parents=True, exist_ok=True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STACKROOM_", "PYTHON"))
    }
    return kept | {
        "STACKROOM_HOME": str(home / "library"),
        "STACKROOM_MODELS": str(home / "models"),
    }


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


def run(
    command: Sequence[str], *, cwd: Path | None = None, environment: dict[str, str] | None = None
) -> str:
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
        raise StepFailedError(
            f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-400:]}"
        )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
