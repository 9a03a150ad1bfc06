"""Pages of the documentation as their readers follow them: files to save, commands to type, output
to see.

In a `console` block a line that begins with `$ ` is a command, and the lines below it are what it
prints: `…` stands for lines that are not shown, or for a part of a line, such as a figure that
differs between processors. Comments directly above a block say more:

- `<!-- file: NAME -->`: the block is a file that the reader saves;
- `<!-- not run: REASON -->`: its commands need something that a test has not; their options are
  checked all the same;
- `<!-- run by: TEST -->`: another test runs them;
- `<!-- exit: CODE -->`: they end with this code, and not with 0.

A comment `<!-- library: anime -->` anywhere on a page says which samples the reader's library has.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from stackroom.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
GENERATED = (
    "tools.md",
    "prompts.md",
    "settings.md",
    "errors.md",
    "cli.md",
    "catalogue-toml.md",
    "python-api.md",
    "package-api.md",
)
FENCED = re.compile(
    r"(?P<notes>(?:^ *<!-- [^\n]*? -->\n)*)^(?P<indent>"
    r" *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
NOTE = re.compile(r"<!-- (file|not run|run by|exit|library): (.*?) -->")
PROMPT = re.compile(r"(Build it\?|Overwrite it\?).*?(?:\): |\]:? )(?P<answer>.*)$")
"""A question of a command, as a page shows it with its answer."""
ASKED = re.compile(r"(Build it\? \[Y/n\]: |Overwrite it\? \[y/N\]: )")
"""The same as it is printed: what is typed is not, so that the next output follows on the same
line.
"""
LEFT_OUT = "…"
SCORE = re.compile(r"\b0\.\d+\b")
NEAR = 0.02
ENDLESS = ("stackroom serve",)


@dataclass(frozen=True, kw_only=True)
class SavedFile:
    """A file that a reader of a page saves."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Step:
    """A command of a page, and the lines that it is shown to print."""

    command: str
    shown: tuple[str, ...] = ()
    not_run: str = ""
    run_by: str = ""
    exit_code: int = 0

    @property
    def typed(self) -> str:
        """The answers to its questions, one per line."""
        asked = (PROMPT.match(line) for line in self.shown)
        return "".join(f"{match['answer']}\n" for match in asked if match)

    @property
    def is_endless(self) -> bool:
        """Whether it runs until it is stopped."""
        return self.command.startswith(ENDLESS) and "--once" not in self.command


def list_pages() -> list[Path]:
    """The pages that are written for readers, without those that are made from the code."""
    docs = [page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED]
    return sorted([*ROOT.glob("*.md"), *docs])


def samples_of(page: Path) -> frozenset[str]:
    """The samples that the library of a page's reader has."""
    notes = NOTE.findall(page.read_text(encoding="utf-8"))
    return frozenset(
        word for kind, value in notes if kind == "library" for word in value.split(", ")
    )


def iter_steps(page: Path) -> Iterator[SavedFile | Step]:
    """Yield what a reader of a page does, in order."""
    for block in FENCED.finditer(page.read_text(encoding="utf-8")):
        notes = dict(NOTE.findall(block["notes"]))
        text = re.sub(rf"^{block['indent']}", "", block["text"], flags=re.MULTILINE)
        if "file" in notes:
            yield SavedFile(name=notes["file"], text=text)
        if block["language"] == "console":
            yield from _commands(text, notes)


def _commands(text: str, notes: dict[str, str]) -> Iterator[Step]:
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield Step(
            command=command,
            shown=tuple(shown),
            not_run=notes.get("not run", ""),
            run_by=notes.get("run by", ""),
            exit_code=int(notes.get("exit", "0")),
        )


def missing_lines(shown: tuple[str, ...], printed: str) -> list[str]:
    """Return the shown lines that were not printed in this order; blanks are not compared."""
    lines = iter([" ".join(line.split()) for line in ASKED.sub("\n", printed).splitlines()])
    missing = []
    for line in shown:
        wanted = " ".join(line.split())
        if wanted in ("", LEFT_OUT) or PROMPT.match(wanted):
            continue
        if not any(is_like(wanted, one) for one in lines):
            missing.append(line)
    return missing


def is_like(shown: str, printed: str) -> bool:
    """Whether a line was printed as it is shown; scores may differ by what another build or
    processor makes of them.
    """
    start = shown.removesuffix(LEFT_OUT).rstrip()
    pattern = (
        SCORE.sub("SCORE", re.escape(start).replace(r"\.", "."))
        .replace(".", r"\.")
        .replace(LEFT_OUT, ".+?")
    )
    end = "" if shown.endswith(LEFT_OUT) else "$"
    found = re.match(pattern.replace("SCORE", f"({SCORE.pattern})") + end, printed)
    if found is None:
        return False
    return all(
        abs(float(a) - float(b)) < NEAR
        for a, b in zip(SCORE.findall(start), found.groups(), strict=True)
    )


def arguments_of(command: str) -> list[str]:
    """The words of a command line, without the comment after it."""
    return shlex.split(re.sub(r"\s+# .*$", "", command))


def check_options(arguments: list[str]) -> None:
    """Parse the arguments of `stackroom` without running the command; raise if there is no such
    command or option.
    """
    command: click.Command = cli
    context = click.Context(cli, info_name="stackroom", **cli.context_settings)
    name: str | None = "stackroom"
    while isinstance(command, click.Group):
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, name
        context, command = click.Context(found, info_name=name, parent=context), found
    command.make_context(name, list(arguments), parent=context.parent)
