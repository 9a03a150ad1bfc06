"""Running a command in this process, and folders with music."""

import io
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from stackroom.cli.main import main


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command did: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output as a program reads it."""
        return orjson.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a command, as a line or its words, with what is typed at it."""

    def run_command(command: str | list[str], *, typed: str = "") -> Ran:
        arguments = shlex.split(command) if isinstance(command, str) else command
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capsys.readouterr()
        try:
            code = int(main(arguments) or 0)
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        return Ran(code=code, out=told.out, err=told.err)

    return run_command


@pytest.fixture
def music(tmp_path: Path, tagged_wav: Callable[..., bytes]) -> Path:
    """A music folder with one piece."""
    folder = tmp_path / "My Music"
    folder.mkdir()
    (folder / "hornpipe.wav").write_bytes(
        tagged_wav(title="Hornpipe", album="Water Music", artist="Handel")
    )
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path, tagged_wav: Callable[..., bytes]) -> Path:
    """Another folder with a piece."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a.wav").write_bytes(tagged_wav(title="A", album="B", artist="C"))
    return folder
