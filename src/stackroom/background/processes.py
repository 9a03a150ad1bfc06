"""Child processes, which this module alone starts; the identity of this process, and whether
another one has ended.

A child runs with low priority where that is said, has the pipes that are asked for, and is ended by
whoever started it. An identity is from Linux's `/proc`: boot id, namespace of process ids, and
process id. On other platforms, for those of other machines or containers, and where the id was
given to another process, nothing is certain.
"""

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

import orjson

from stackroom.background.threads import start_thread
from stackroom.errors import ExpectedError, UnavailableError

logger = logging.getLogger(__name__)

LOOK_S = 0.25
END_S = 5.0
LONGEST_WORK_S = 86_400.0
WORK_END_S = 10.0
BESIDE_CALLS = 10  # the niceness of work that takes seconds of one core beside a server
DISCARDED = subprocess.DEVNULL
PIPED = subprocess.PIPE

_CHILDREN: "WeakSet[ChildProcess]" = WeakSet()


def python_module(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this Python; nothing is imported from the current
    folder.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


class ChildProcess:
    """A child process. `end` or `kill` it; used as a context, it is ended."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        reads: bool = False,
        writes: bool = False,
        shows_output: bool = False,
        errors: int | IO[bytes] = DISCARDED,
        environment: Mapping[str, str] | None = None,
        folder: str | Path | None = None,
        niceness: int = 0,
    ) -> None:
        """Start it; OSError where that fails.

        `reads` and `writes` ask for pipes to its input and from its output; without, these are
        empty and thrown away, unless it `shows_output` where this process shows its own. Its errors
        are `DISCARDED`, `PIPED`, or written to a file.
        `niceness`: 19 is the lowest priority.
        """
        self.name = name
        self._process = subprocess.Popen(
            command,
            stdin=PIPED if reads else DISCARDED,
            stdout=PIPED if writes else None if shows_output else DISCARDED,
            stderr=errors,
            env=None if environment is None else dict(environment),
            cwd=folder,
        )
        if niceness:
            # it has ended, or this system has no priorities
            with suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)
        _CHILDREN.add(self)

    def __enter__(self) -> "ChildProcess":
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def input(self) -> IO[bytes]:
        """The pipe to its input; only where it was asked for."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def output(self) -> IO[bytes]:
        """The pipe from its output; only where it was asked for."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative: the signal that ended it; None while it runs."""
        return self._process.poll()

    def finish(
        self,
        *,
        longest_s: float,
        given: bytes | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> tuple[bytes, bytes]:
        """Return what it wrote to its pipes until it ended; UnavailableError where that takes too
        long.

        The checkpoint is called a few times a second; after an error of it, or too long a time, the
        process is ended.
        """
        until = time.monotonic() + longest_s
        try:
            while True:
                checkpoint()
                left_s = until - time.monotonic()
                if left_s <= 0:
                    raise UnavailableError(f"{self.name} did not end within {longest_s:,.0f} s")
                with suppress(subprocess.TimeoutExpired):
                    sent, given = given, None
                    # A second call would not write the rest of the input, so the first has all of
                    # the time.
                    look_s = left_s if sent else min(LOOK_S, left_s)
                    output, errors = self._process.communicate(sent, timeout=look_s)
                    return output or b"", errors or b""
        except BaseException:
            self.end()
            raise

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; tell whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        return not self.is_running

    def end(self, within_s: float = END_S) -> None:
        """Ask it to end, kill it where it does not, and close its pipes."""
        self._process.terminate()
        self.wait(within_s)
        self.kill()

    def kill(self) -> None:
        """End it at once, and close its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError, ValueError):  # what was not written has no reader any more
                    pipe.close()


class LibraryCommand(ChildProcess):
    """A `stackroom` command over a library that runs beside calls, with low priority."""

    def __init__(self, name: str, home: Path, *arguments: str) -> None:
        super().__init__(
            name,
            python_module("stackroom", *arguments, "--json"),
            writes=True,
            errors=PIPED,
            environment={**os.environ, "STACKROOM_HOME": str(home)},
            niceness=BESIDE_CALLS,
        )

    def read_report(
        self, *, longest_s: float, checkpoint: Callable[[], None] = lambda: None
    ) -> Any:
        """Return its report when it has ended; UnavailableError with its last words where it
        failed.
        """
        output, errors = self.finish(longest_s=longest_s, checkpoint=checkpoint)
        if self.exit_code:
            said = errors.decode(errors="replace").strip().splitlines() or [
                f"exit code {self.exit_code}"
            ]
            raise UnavailableError(said[-1].removeprefix("stackroom: "))
        return orjson.loads(output)


class LibraryWork:
    """Work beside calls, in a thread of its own: commands over a library, one after another."""

    def __init__(self, what: str, home: Path, hide_places: Callable[[str], str]) -> None:
        """`hide_places` takes the paths of this machine out of a message."""
        self.what = what
        self.hide_places = hide_places
        self.is_running = True
        self.problem: str | None = None
        """Why it failed, without places of this machine."""
        self.report: Any = None
        """What it returned when it had ended."""
        self._home = home
        self._lock = threading.Lock()
        self._child: LibraryCommand | None = None
        self._thread: threading.Thread | None = None
        self._is_ending = False

    def start(self, name: str, work: "Callable[[LibraryWork], Any]") -> None:
        """Begin it, in a thread of this name."""
        self._thread = start_thread(name, lambda: self._do(work))

    def run(self, name: str, *arguments: str) -> Any:
        """Run a command, and return its report; a part of the work."""
        child = LibraryCommand(name, self._home, *arguments)
        with self._lock:
            self._child = child
        if self._is_ending:
            child.kill()
        return child.read_report(longest_s=LONGEST_WORK_S)

    def end(self) -> None:
        """End the command that runs, and wait for the end of the work."""
        with self._lock:
            self._is_ending, child = True, self._child
        if child is not None and self.is_running:
            child.end()
        if self._thread is not None:
            self._thread.join(WORK_END_S)

    def _do(self, work: "Callable[[LibraryWork], Any]") -> None:
        """Do it; nobody is there to be told of an error."""
        try:
            self.report = work(self)
        except ExpectedError as error:
            self.problem = self.hide_places(error.message)
        except Exception:  # a bug, which the log has
            logger.exception("work beside calls failed")
            self.problem = "internal error; the server's log has the details"
        self.is_running = False


def list_children() -> list[tuple[str, int]]:
    """Return name and process id of the children that run now."""
    return sorted((child.name, child.pid) for child in list(_CHILDREN) if child.is_running)


def describe_end(exit_code: int) -> str:
    """Return how a process ended, as the end of a sentence."""
    return f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"


PROC = Path("/proc")


def place_of_this_process() -> str:
    """Return host and process id, for messages."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def identity_of_this_process() -> str:
    """Return the identity of this process; empty where the platform has none."""
    machine = _machine()
    return "" if machine is None else f"{machine} {os.getpid()}"


def is_certainly_gone(identity: str) -> bool:
    """Tell whether the process was on this machine and has ended."""
    machine, _, process = identity.rpartition(" ")
    if not machine or machine != _machine() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)  # sends nothing
    except OSError as error:
        return isinstance(error, ProcessLookupError)  # one of another user exists
    return False


def _machine() -> str | None:
    """Return the boot id of this machine and the namespace of its process ids."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink(PROC / 'self/ns/pid')}".replace(" ", "/")
    except OSError:
        return None
