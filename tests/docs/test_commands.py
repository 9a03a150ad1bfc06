"""Every command on every page works, and prints what the page shows."""

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackroom.cli.main import main
from support.libraries import MODEL_CACHE, copy_samples
from support.pages import (
    FENCED,
    ROOT,
    SavedFile,
    Step,
    arguments_of,
    check_options,
    iter_steps,
    list_pages,
    missing_lines,
    samples_of,
)

EXAMPLES = ROOT / "docs" / "examples"
SHELL = ("cat", "cp", "mkdir", "mv", "printf", "python", "rm", "sed")
"""Programs, apart from `stackroom`, that a page may use without a word about what it needs."""
NOT_RUN_AT_MOST = 40
"""Commands that need root, a network, a container or minutes; a page that adds one says why."""

pytestmark = [pytest.mark.row("N1")]


class Terminal(io.StringIO):
    """Somebody at a terminal, who types this."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Somebody who follows a page: a home folder of their own, with the example files, and a
    terminal.
    """

    home: Path
    folder: Path
    read_output: Callable[[], str]
    patch: pytest.MonkeyPatch

    def save(self, file: SavedFile) -> None:
        """Save a file of the page."""
        path = self.folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")

    def type(self, step: Step) -> str:
        """Type a command; return the lines that it should have printed and did not, with what it
        printed.
        """
        words = arguments_of(step.command)
        set_here = [word for word in words if "=" in word.split("/")[0] and word[0].isupper()]
        words = words[len(set_here) :]
        with self.patch.context() as patch:
            for name, _, value in (word.partition("=") for word in set_here):
                patch.setenv(name, value)
            code, printed = (
                self._run_stackroom(words[1:], step)
                if words[0] == "stackroom"
                else self._run_shell(step)
            )
        assert code == step.exit_code, f"{step.command}: exit code {code}\n{printed}"
        missing = missing_lines(step.shown, self._as_shown(printed))
        return (
            "\n".join(
                [f"$ {step.command}", "lacks:", *missing, "printed:", self._as_shown(printed)]
            )
            if missing
            else ""
        )

    def _run_stackroom(self, arguments: list[str], step: Step) -> tuple[int, str]:
        self.patch.setattr("sys.stdin", Terminal(step.typed) if step.typed else io.StringIO())
        self.read_output()
        try:
            code = int(main(arguments) or 0)
        except SystemExit as end:
            code = int(end.code or 0)
        return code, self.read_output()

    def _run_shell(self, step: Step) -> tuple[int, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", step.command],
            cwd=self.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def _as_shown(self, printed: str) -> str:
        library = os.environ.get("STACKROOM_HOME", str(self.home / ".local/share/stackroom"))
        return printed.replace(library, "HOME").replace(str(self.home), "~")


def install_sample(name: str, library: Path, request: pytest.FixtureRequest) -> None:
    """Give a library a sample: anime as it is built with the model, others without vectors, which
    take long.
    """
    if name == "anime":
        built = request.getfixturevalue("sample_home") / "catalogues" / name
        shutil.copytree(built, library / "catalogues" / name)
    else:
        copy_samples(library, name)


@pytest.fixture
def new_reader(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[Path], Reader]:
    """Make a reader of a page, whose library has the samples that the page names."""

    def make(page: Path) -> Reader:
        home = tmp_path / "reader"
        folder = home / "work"
        shutil.copytree(EXAMPLES, folder)
        (home / ".local" / "share" / "stackroom").mkdir(parents=True, mode=0o700)
        (home / ".local" / "share" / "stackroom" / "models").symlink_to(
            MODEL_CACHE, target_is_directory=True
        )
        for name in (
            "STACKROOM_HOME",
            "STACKROOM_MODELS",
            "XDG_DATA_HOME",
            "XDG_CONFIG_HOME",
            "NO_COLOR",
            "COLUMNS",
        ):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("STACKROOM_MODELS", str(MODEL_CACHE))
        monkeypatch.chdir(folder)
        library = home / ".local" / "share" / "stackroom"
        for name in sorted(samples_of(page)):
            install_sample(name, library, request)

        def read_output() -> str:
            told = capsys.readouterr()
            return str(told.out + told.err)

        return Reader(home=home, folder=folder, read_output=read_output, patch=monkeypatch)

    return make


PAGES = [page for page in list_pages() if any(isinstance(step, Step) for step in iter_steps(page))]


@pytest.mark.model
@pytest.mark.usefixtures("models_folder")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_work_in_order_and_print_what_is_shown(
    page: Path, new_reader: Callable[[Path], Reader]
) -> None:
    reader = new_reader(page)
    wrong = []
    for step in iter_steps(page):
        if isinstance(step, SavedFile):
            reader.save(step)
        elif step.not_run or step.run_by or step.is_endless:
            words = arguments_of(step.command)
            if words[0] == "stackroom":
                check_options(words[1:])
        elif said := reader.type(step):
            wrong.append(said)
    assert not wrong, "\n\n".join(wrong)


def test_lines_are_compared_in_order_to_the_end_and_scores_nearly() -> None:
    printed = "a.b 0.44 (x 0.1)\nsecond line\nthird"

    assert missing_lines(("a.b 0.45 (x 0.10)", "second …", "t…d"), printed) == []
    for wrong in ("a.b 0.47 (x 0.1)", "a.b 0.44", "aXb …", "second", "t…r", "fourth"):
        assert missing_lines((wrong,), printed) == [wrong]
    assert missing_lines(("second line", "a.b …"), printed) == ["a.b …"]


def test_every_line_that_is_typed_in_a_console_block_is_found() -> None:
    typed = 0
    for page in list_pages():
        is_console = False
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith("```"):
                is_console = line.lstrip() == "```console"
            typed += is_console and line.lstrip().startswith("$ ")
    found = [step for page in PAGES for step in iter_steps(page) if isinstance(step, Step)]

    assert typed == len(found) > 100


def test_commands_are_shown_in_console_blocks_only() -> None:
    typed = re.compile(r"^(\$ |stackroom |pip install |uvx |# (?:apt|systemctl|cp) )", re.MULTILINE)
    others = [
        (str(page.relative_to(ROOT)), block["text"])
        for page in list_pages()
        if "decisions" not in page.parts
        for block in FENCED.finditer(page.read_text(encoding="utf-8"))
        if block["language"] not in ("console", "sh") and typed.search(block["text"])
    ]

    assert others == []


def test_commands_that_are_not_run_are_few_and_say_why() -> None:
    steps = [(page, step) for page in PAGES for step in iter_steps(page) if isinstance(step, Step)]
    unmarked = [step.command for _, step in steps if not (step.not_run or step.run_by)]

    assert sum(bool(step.not_run) for _, step in steps) <= NOT_RUN_AT_MOST
    assert [one for one in unmarked if next(iter_words(one)) not in ("stackroom", *SHELL)] == []
    assert [
        step.run_by for _, step in steps if step.run_by and not (ROOT / step.run_by).is_file()
    ] == []


def iter_words(command: str) -> Iterator[str]:
    """The words of a command after the variables that are set before it."""
    return iter(word for word in arguments_of(command) if not ("=" in word and word[0].isupper()))
