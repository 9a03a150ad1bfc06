"""Rows that a command prints: CSV, JSON or JSON Lines on its standard output.

    command:python export.py --since 2020                   as it is given
    command:(cd /home/me/shop) python export.py --since …   as it is named: with the folder that it runs in

The command is run once for each source that is opened, without a shell, and its whole output is kept in a temporary
file before the first row is read: one that fails, takes too long or prints too much changes nothing. It has the
environment and the rights of whoever runs it, so that only the owner of a library may give one (see
`assembly/commands`).
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from pinakes.errors import InputError
from pinakes.sources.csv_rows import CsvRows
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.location import COMMAND_PREFIX, SourceLocation
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import RowSource, SourceRow, notes_of
from pinakes.text.safe import safe_line

OPTIONS = frozenset({"skip", "header_rows", "records"})
FOLDER = re.compile(r"\(cd (?P<folder>(?:[^()'\"\\]|'[^']*'|\"[^\"]*\")+)\) ")
BLOCK_BYTES = 1 << 16
MOST_ERROR_BYTES = 4_000
"""How much of what a command says of itself is read for a message."""
SHOWN_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLimits:
    """How long a command may run, and how much it may print."""

    timeout_s: float = 600
    most_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program with its arguments, and the folder that it runs in."""

    words: tuple[str, ...]
    folder: Path

    @classmethod
    def parse(cls, location: str) -> "Command":
        """Return the command of a location; without a folder, it is the current one."""
        text = location.removeprefix(COMMAND_PREFIX).strip()
        stated = FOLDER.match(text)
        folder = Path(shlex.split(stated["folder"])[0]) if stated else Path.cwd()
        try:
            words = tuple(shlex.split(text[stated.end() :] if stated else text))
        except ValueError as error:
            raise InputError(f"{location[:200]}: the command cannot be read: {error}") from error
        if not words:
            raise InputError(f"{COMMAND_PREFIX} names no command; {COMMAND_PREFIX}python export.py is right")
        return cls(words=words, folder=folder)

    @property
    def location(self) -> str:
        """The location that runs the same command again from any folder."""
        return f"{COMMAND_PREFIX}(cd {shlex.quote(str(self.folder))}) {shlex.join(self.words)}"


class CommandRows:
    """Implements `RowSource` for the output of a command, which is run when the first row is asked for."""

    is_whole = True
    """A row that is missing was deleted."""

    def __init__(self, command: Command, options: ReadOptions, *, limits: CommandLimits | None = None) -> None:
        options.require_only(OPTIONS, location=command.location)
        self._command = command
        self._options = options
        self._limits = limits or CommandLimits()

    @property
    def name(self) -> str:
        """The command with its folder, and the options of reading its output."""
        return SourceLocation(location=self._command.location, options=self._options).name

    @property
    def notes(self) -> tuple[str, ...]:
        """The decisions that were made in reading the output."""
        return notes_of(self._rows)

    def count_rows(self) -> int | None:
        """Return the number of rows, where it is known."""
        return self._rows.count_rows()

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; of a second reading, the same."""
        try:
            yield from self._rows.iter_rows(start=start)
        except InputError as error:
            raise InputError(error.message.replace(self._rows.name, self.name)) from error

    @cached_property
    def _rows(self) -> RowSource:
        path = self._run()
        with path.open("rb") as file:
            beginning = file.read(BLOCK_BYTES).lstrip(b"\xef\xbb\xbf \t\r\n")
        if not beginning:
            raise InputError(f"{self.name}: the command printed nothing")
        if beginning.startswith((b"{", b"[")):
            return JsonRows(path, records=self._options.records)
        return CsvRows(path, skip=self._options.skip, header_rows=self._options.header_rows)

    def _run(self) -> Path:
        """Run the command; return the file with its output, which is deleted with the source."""
        descriptor, name = tempfile.mkstemp(prefix="pinakes-", suffix=".output")
        weakref.finalize(self, Path(name).unlink, missing_ok=True)
        with os.fdopen(descriptor, "wb") as output, tempfile.TemporaryFile() as errors:
            problem = self._write_output(output, errors)
            if problem:
                raise InputError(f"{self.name}: {problem}{_reason(errors)}")
        return Path(name)

    def _write_output(self, output: IO[bytes], errors: IO[bytes]) -> str:
        """Run the command to its end, or end it; return what went wrong."""
        command, limits = self._command, self._limits
        try:
            process = subprocess.Popen(
                command.words,
                cwd=command.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            return f"the command cannot be run: {error.strerror}: {error.filename}"
        with process, _ending_late(process, limits.timeout_s) as is_late:
            is_whole = process.stdout is not None and _copy(process.stdout, output, limits.most_bytes)
            if not is_whole:
                _kill(process)
            code = process.wait()
        if not is_whole:
            return f"the command printed more than {limits.most_bytes:,} bytes, and was ended"
        if is_late.is_set():
            return f"the command took longer than {limits.timeout_s:g} s, and was ended"
        return f"the command failed with exit code {code}" if code else ""


@contextmanager
def _ending_late(process: "subprocess.Popen[bytes]", timeout_s: float) -> Iterator[threading.Event]:
    """End a command when its time is over, which sets the event; also where it is given up with an error."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        _kill(process)

    timer = threading.Timer(timeout_s, end)
    timer.start()
    try:
        yield is_late
    except BaseException:
        _kill(process)
        raise
    finally:
        timer.cancel()


def _copy(source: IO[bytes], target: IO[bytes], most_bytes: int) -> bool:
    """Copy a stream; False where it has more than so many bytes."""
    copied = 0
    while block := source.read(BLOCK_BYTES):
        copied += len(block)
        if copied > most_bytes:
            return False
        target.write(block)
    return True


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a command that was not waited for yet, with all processes of its group; Windows has no groups."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _reason(errors: IO[bytes]) -> str:
    """Return the last line of what a command said of itself."""
    size_bytes = errors.seek(0, os.SEEK_END)
    errors.seek(max(size_bytes - MOST_ERROR_BYTES, 0))
    lines = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
    return f": {safe_line(lines[-1])[:SHOWN_REASON]}" if lines else ""
