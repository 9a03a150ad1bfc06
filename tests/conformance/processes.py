"""Programs that run for a bounded time, and servers that live for a `with` block. Only what was
started is ended.
"""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10


class CannotRunError(Exception):
    """What the checks need is not here; says what would be right."""


class ServerTroubleError(Exception):
    """A server answered, and had an error of its own that it logged, or did not end when it was
    told to.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A program that has ended. `code` is None where it was stopped because its time was up."""

    code: int | None
    output: str
    errors: str


def run_bounded(
    command: Sequence[str], *, environment: Mapping[str, str], timeout_s: float
) -> Finished:
    """Run a program to its end, or for the time given; then it and what it started are stopped."""
    with _started(command, environment, subprocess.PIPE) as process:
        try:
            output, errors = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            output, errors = process.communicate()
            return Finished(
                code=None, output=output, errors=f"{errors}\nstopped after {timeout_s:g} s"
            )
        return Finished(code=process.returncode, output=output, errors=errors)


@contextmanager
def serving(command: Sequence[str], *, environment: Mapping[str, str], port: int) -> Iterator[None]:
    """Run a server while the block lasts, from the moment it accepts connections at a port of this
    machine.

    Raises ServerTroubleError at the end where the server logged an exception, or would not end.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
        _started(command, environment, log) as process,
    ):
        _await_port(process, port, log)
        yield
        _signal(process, signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise ServerTroubleError(f"the server did not end within {STOP_TIMEOUT_S} s") from error
        log.seek(0)
        logged = log.read()
        if "Traceback" in logged:
            raise ServerTroubleError(f"the server logged an exception:\n{logged[-3_000:]}")


def find_free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def _started(
    command: Sequence[str], environment: Mapping[str, str], target: int | IO[str]
) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a process group of its own, so that what it starts can be ended with
    it.
    """
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=target,
        stderr=target,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                _signal(process, signal.SIGKILL)


def _await_port(process: subprocess.Popen[str], port: int, log: IO[str]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    log.seek(0)
    raise CannotRunError(f"the server does not listen at port {port}:\n{log.read()[-2_000:]}")


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return
