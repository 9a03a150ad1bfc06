"""A stranger who follows README and *Start* to the letter, in an empty home folder and without a
checkout.

`python -m support.stranger WHEEL` makes a machine of a few tools (Python, uv, pipx) and nothing of
ours, and types what the two pages say, one line after the other. Only the index differs from the
public one: the wheel is found beside it. The last line of *Start* is an answer to a program that
speaks MCP.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from support.pages import ROOT, SavedFile, Step, iter_steps, missing_lines

README = ROOT / "README.md"
START = ROOT / "docs" / "start.md"
EXAMPLES = ROOT / "docs" / "examples"
KEPT_VARIABLES = (
    "LANG",
    "PIP_CERT",
    "PIP_DEFAULT_TIMEOUT",
    "SSL_CERT_FILE",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
)
"""How this machine reaches an index, which is no part of what is tried."""
TIMEOUT_S = 900.0


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine with Python, uv and pipx, on which nobody has heard of Stackroom."""

    folder: Path
    wheel: Path

    @property
    def tools(self) -> Path:
        """The programs that a stranger has."""
        return self.folder / "tools" / "bin"

    def set_up(self) -> None:
        """Install the tools."""
        subprocess.run([sys.executable, "-m", "venv", str(self.tools.parent)], check=True)
        subprocess.run([str(self.tools / "pip"), "install", "-q", "uv", "pipx"], check=True)

    def new_home(self, name: str) -> "Stranger":
        """Return a stranger with an empty home folder that has the wheel and the files of the
        pages' links.
        """
        home = self.folder / name
        shutil.copytree(EXAMPLES, home / "work")
        shutil.copy(self.wheel, home / "work")
        searched = [home / ".local" / "bin", self.tools, Path("/usr/bin"), Path("/bin")]
        kept = {key: os.environ[key] for key in KEPT_VARIABLES if key in os.environ}
        environment = {
            **kept,
            "HOME": str(home),
            "PATH": os.pathsep.join(map(str, searched)),
            "PIP_FIND_LINKS": f"{self.wheel.parent} {os.environ.get('PIP_FIND_LINKS', '')}".strip(),
            "PIP_CONFIG_FILE": str(Path.home() / ".config" / "pip" / "pip.conf"),
            "UV_FIND_LINKS": str(self.wheel.parent),
            "UV_SYSTEM_CERTS": "1",
        }
        return Stranger(home=home, environment=environment)


@dataclass(frozen=True, kw_only=True)
class Stranger:
    """Somebody with an empty home folder, who types what a page says."""

    home: Path
    environment: dict[str, str]

    def type(self, command: str, shown: tuple[str, ...] = (), *, exit_code: int = 0) -> None:
        """Type a command; stop where it fails or does not print what the page shows."""
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.home / "work",
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        printed = (done.stdout + done.stderr).replace(str(self.home), "~")
        print(f"{time.monotonic() - began:7.1f} s  {command}", flush=True)
        missing = missing_lines(shown, printed)
        if done.returncode != exit_code or missing:
            sys.exit(f"exit code {done.returncode}; not printed: {missing}\n{printed}")

    def follow(self, page: Path, *, also: tuple[str, ...]) -> None:
        """Follow a page: save its files, type its commands; `also` are reasons of tests that do not
        count here.
        """
        for step in iter_steps(page):
            if isinstance(step, SavedFile):
                (self.home / "work" / step.name).write_text(step.text, encoding="utf-8")
            elif is_typed(step, also):
                self.type(step.command, step.shown, exit_code=step.exit_code)


def is_typed(step: Step, also: tuple[str, ...]) -> bool:
    """Whether a stranger types a command here."""
    return (
        not step.is_endless
        and not step.run_by
        and (not step.not_run or step.not_run.startswith(also))
    )


def install_lines() -> list[str]:
    """The lines of the README that install it, each for itself."""
    (block,) = re.findall(
        r"^```sh\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [line.split(" #")[0].strip() for line in block.splitlines()]


def main() -> None:
    """Follow the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument(
        "--no-samples", action="store_true", help="skip `stackroom init`, which embeds 1,700 texts"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stranger-") as folder:
        machine = Machine(folder=Path(folder), wheel=asked.wheel.resolve())
        machine.set_up()
        in_clone, with_wheel, from_index = install_lines()
        print("README")
        reader = machine.new_home("reader")
        reader.type(with_wheel)
        if not asked.no_samples:
            reader.type("stackroom init")
            reader.follow(README, also=())
        print("Start")
        starter = machine.new_home("starter")
        starter.follow(START, also=("needs a network",))
        print("the other two ways of the README")
        by_clone = machine.new_home("by-clone")
        by_clone.type(f"cd {shlex.quote(str(ROOT))} && {in_clone}")
        by_clone.type("stackroom --version")
        by_name = machine.new_home("by-name")
        by_name.type(from_index)
        by_name.type("stackroom --version")
    print("the pages are true")


if __name__ == "__main__":
    main()
