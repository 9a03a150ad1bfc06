"""The entry point of the bundle: serves the library that the user chose in the client, over stdio.

Options come as environment variables. One without a value is empty, or still the placeholder of the
manifest.
"""

import os
import subprocess
import sys
from pathlib import Path

import platformdirs

from stackroom.cli.main import main

PENDING = ".samples-pending"
"""A file in the library while its samples lack what needs the embedding model."""
FINISH = "--finish-samples"


def option(name: str) -> str:
    """Return what the user chose; empty where nothing was."""
    value = os.environ.get(name, "").replace("${HOME}", str(Path.home())).strip()
    return "" if "${" in value else value


def run_stackroom(*arguments: str) -> int:
    """Run a command in a process of its own, apart from the messages of the protocol."""
    command = [sys.executable, "-m", "stackroom", *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False
    ).returncode


def fill(library: Path) -> None:
    """Build the samples of an empty library by words, and let another process fetch the model and
    embed them.
    """
    if not any((library / "catalogues").glob("*")):
        library.mkdir(parents=True, exist_ok=True)
        (library / PENDING).touch()
        run_stackroom("init", "--no-model")
    if (library / PENDING).exists():
        command = [sys.executable, __file__, FINISH]
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def finish(library: Path) -> int:
    """Complete the samples; what is interrupted, or needs a network that is away, is completed at
    another start.
    """
    code = run_stackroom("init") or run_stackroom("model", "check")
    if code == 0:
        (library / PENDING).unlink(missing_ok=True)
    return code


def start(arguments: list[str]) -> int:
    """Serve, or do what the process in the background does."""
    home = option("STACKROOM_HOME") or platformdirs.user_data_dir("stackroom")
    library = Path(home).expanduser().absolute()
    os.environ["STACKROOM_HOME"] = str(library)
    if FINISH in arguments:
        return finish(library)
    if option("STACKROOM_BUNDLE_SAMPLES") != "false":
        fill(library)
    names = [name.strip() for name in option("STACKROOM_BUNDLE_CATALOGUES").split(",")]
    sys.argv = ["stackroom", "serve", *filter(None, names)]
    return int(main() or 0)


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
