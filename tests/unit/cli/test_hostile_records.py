"""Every command on catalogues with hostile text: no character that controls a terminal is
printed.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stackroom.cli.main import COMMANDS
from support.hostile import (
    DOCUMENTS,
    FILMS,
    INSTRUCTION,
    SECRECY,
    TITLES,
    write_documents,
    write_films,
)
from support.loopback import EmbeddingServer
from support.terminals import Run

CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\ufeff\U000e0000-\U000e007f]"
)

OF_CATALOGUES = {
    "packages",
    "backup",
    "restore",
    "remove",
    "rename",
    "describe",
    "undo",
    "move",
    "embed",
}
WITHOUT_RECORDS = {
    "init",
    "new",
    "serve",
    "install",
    "model",
    "publish",
    "map",
    "export",
    *OF_CATALOGUES,
}
"""Commands that print nothing of records, or only through the commands that are run here."""

RUNS = [
    "list",
    f"search {FILMS} harbour",
    f"search {FILMS} harbour --json",
    f"search {FILMS} harbour --genre tragedy",
    f"search {DOCUMENTS} lantern",
    f"explain {FILMS} harbour --json",
    f"get {FILMS} film-0",
    f"get {FILMS} film-1 --json",
    f"get {FILMS} Lantern",
    f"get {FILMS} 'no such title at all'",
    f"get {FILMS} '{TITLES[0]}'",
    f"browse {FILMS}",
    f"browse {FILMS} --field tags --json",
    f"browse {FILMS} --field \x1b[31mgenre",
    f"recommend {FILMS} Lantern",
    f"recommend {FILMS} 'Rain over the harbor' --exclude Lantern",
    f"recommend {FILMS} Lantern --json",
    f"similar {FILMS}/Lantern",
    f"explain {FILMS} harbour film-0",
    f"rejects {FILMS}",
    f"rejects {FILMS} --json",
    "doctor",
    "doctor --json",
    f"spec show {FILMS}",
    f"eval {FILMS}",
    f"eval {FILMS} --json",
    "user add 'e\x1b[31mvil\u202e' --role reader",
    "token list",
    "role list",
    "access list",
    "job run integrity_check",
    "job output integrity_check",
    "job history",
    "job show '\x1b[31mno job\u202e'",
    "update",
    f"update {FILMS}",
    "rollback '\x1b[31mno catalogue\u202e'",
    "pack verify '\x1b[31mno folder\u202e'",
    f"pack diff {FILMS} '\x1b[31mno folder\u202e'",
    "sync '\x1b[31mno folder\u202e'",
    "audit tail",
    "audit tail --json",
    "'no\x1b[31msuch\u202ecommand'",
]


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a library with hostile catalogues, which the first test builds."""
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture
def at_home(
    hostile_home: Path, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, run: Run
) -> Path:
    """The library of this process is the hostile one; it is built with vectors, and searched by
    words alone.
    """
    monkeypatch.setenv("STACKROOM_HOME", str(hostile_home / "home"))
    if not (hostile_home / "home").exists():
        films, documents = write_films(hostile_home), write_documents(hostile_home)
        for source, name in ((films, FILMS), (documents, DOCUMENTS)):
            with monkeypatch.context() as patch:
                for variable, value in embedding_server.environment().items():
                    patch.setenv(variable, value)
                built = run(f"add '{source}' --name {name} --yes --accept-losses")
            assert built.code == 0, built.err
            assert_safe(built)
    return hostile_home / "home"


def assert_safe(ran: Any) -> None:
    for printed in (ran.out, ran.err):
        assert CONTROLS.search(printed) is None, repr(printed)
    assert "Traceback" not in ran.err


@pytest.mark.row("N10")
@pytest.mark.parametrize("command", RUNS)
def test_no_command_prints_a_character_that_controls_the_terminal(
    at_home: Path, run: Run, command: str
) -> None:
    assert_safe(run(command))


def test_every_command_that_prints_records_is_run() -> None:
    assert {command.split()[0] for command in RUNS} | WITHOUT_RECORDS | {"add"} >= COMMANDS.keys()


def test_packs_of_them_print_none_either(at_home: Path, run: Run, tmp_path: Path) -> None:
    folder = str(tmp_path / "pack")
    for arguments in (["build", FILMS, folder], ["verify", folder]):
        ran = run(["pack", *arguments])
        assert ran.code == 0, ran.err
        assert_safe(ran)


def test_text_of_records_is_printed_without_what_was_removed(at_home: Path, run: Run) -> None:
    told = run(f"get {FILMS} film-0 --json").json
    assert told["title"] == "Rain \nover the harbour 0"
    assert "over the harbour 0" in run(f"get {FILMS} film-0").out


def test_a_program_that_reads_json_gets_no_escape_in_it_either(at_home: Path, run: Run) -> None:
    printed = run(f"search {FILMS} harbour --json").out
    assert "u001b" not in printed
    assert any(f"{INSTRUCTION}! It rains." in hit["text"] for hit in json.loads(printed)["results"])


def test_a_suggestion_does_not_repeat_instructions(at_home: Path, run: Run) -> None:
    ran = run(f"get {FILMS} Lantern")
    assert "did you mean Lantern … 3 (1983, film-3)" in ran.err
    assert SECRECY not in ran.err


@pytest.mark.row("N10")
def test_cells_of_a_table_on_a_terminal_have_no_escapes_of_their_own(
    at_home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    printed = run(f"search {FILMS} harbour").out
    assert "\x1b[1m" in printed
    assert CONTROLS.search(re.sub(r"\x1b\[[\d;]*m", "", printed)) is None
    assert "\x1b[31m" not in printed
