"""Run by the recorded installation: prints the help of every command.

It runs the script `stackroom` itself, again and again, so that modules are loaded once.
"""

import contextlib
import io
import json
import re
import runpy
import sys

NAME = re.compile(r"  (\S+)")


def main(script: str) -> None:
    """Print a line for each command."""
    waiting: list[list[str]] = [[]]
    for words in waiting:
        text = show(script, [*words, "--help"])
        print(json.dumps({"command": " ".join(words), "text": text}), flush=True)
        waiting += [[*words, name] for name in names_in(text)]


def show(script: str, arguments: list[str]) -> str:
    """Return what a command prints."""
    held = io.StringIO()
    sys.argv = [script, *arguments]
    with contextlib.redirect_stdout(held), contextlib.suppress(SystemExit):
        runpy.run_path(script, run_name="__main__")
    return held.getvalue()


def names_in(text: str) -> list[str]:
    """Return the names in the lists of commands of a help."""
    names: list[str] = []
    is_list = False
    for line in text.splitlines():
        if line and not line.startswith(" "):
            is_list = line.startswith("Commands")
        elif is_list and (found := NAME.match(line)) and line[2] != " ":
            names.append(found[1])
    return names


if __name__ == "__main__":
    main(sys.argv[1])
