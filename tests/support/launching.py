"""Processes of `stackroom` that are forked from one that has read its modules, since reading them
is most of a start.

What runs in them is `python -m stackroom` or a script, with arguments, environment and standard
streams of its own.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import stackroom_catalogues

httpx_transport: Any = importlib.import_module("httpx._transports.default")
httpx_transport.create_ssl_context = functools.cache(httpx_transport.create_ssl_context)
"""Each of thousands of clients would read all certificates, which takes longer than most of what
they ask for.
"""

STACKROOM = (sys.executable, "-m", "stackroom")
"""The command of this tree, whichever is installed."""
SCRIPT = (sys.executable, "-c")
"""The command that runs a script, which follows it."""
READ_FIRST = (
    "stackroom.cli.add",
    "stackroom.cli.connect",
    "stackroom.cli.opening",
    "stackroom.cli.operations",
    "stackroom.cli.host",
    "stackroom.admin.uploads",
    "stackroom.assembly.serving",
    "stackroom.assembly.upkeep",
    "stackroom.serve.http.app",
    "stackroom.serve.stdio",
)
"""Modules of a server, besides those of the catalogues."""
LARGEST_REQUEST = 128 * 1024
READ_AT_START = ("PYTHON", "LD_", "OPENBLAS", "OMP_", "MALLOC_", "COVERAGE")
"""How variables begin that a process reads before it runs anything: where one differs, it is
started from nothing.
"""


def launch(
    command: Sequence[str], *, env: Mapping[str, str], text: bool = False, **streams: Any
) -> "Started":
    """Start a command; one of `stackroom`, or a script, is forked where that is possible."""
    is_ours = tuple(command[:3]) == STACKROOM or tuple(command[:2]) == SCRIPT
    if is_ours and sys.platform == "linux" and read_at_start(env) == read_at_start(os.environ):
        return Launched(command[1:], env, text=text, **streams)
    return subprocess.Popen(command, env=env, text=text, **streams)


def run(
    *arguments: str,
    environment: Mapping[str, str],
    timeout_s: float = 300,
    program: Sequence[str] = STACKROOM,
) -> subprocess.CompletedProcess[str]:
    """Run a command of `stackroom`, or of a program like it, to its end."""
    command = [*program, *arguments]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = launch(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        try:
            code = process.wait(timeout_s)
        finally:
            process.kill()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


def read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are read before anything runs."""
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


class Launched:
    """A process of `stackroom`, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        text: bool,
        **streams: Any,
    ) -> None:
        self.returncode: int | None = None
        self.stdin: Any = None
        self.stdout: Any = None
        self.stderr: Any = None
        theirs = [
            self._connect(name, place, streams.get(name), text) for place, name in enumerate(NAMES)
        ]
        self._told, telling = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": str(Path.cwd()),
        }
        socket.send_fds(launcher(), [json.dumps(request).encode()], [*theirs, telling.fileno()])
        telling.close()
        for place, number in enumerate(theirs):
            if number != place and streams.get(NAMES[place]) in (
                subprocess.PIPE,
                subprocess.DEVNULL,
            ):
                os.close(number)
        self.pid = int(self._told.recv(32))

    def poll(self) -> int | None:
        """Return the exit code once it has ended."""
        if self.returncode is None:
            self._told.setblocking(False)
            try:
                self._end(self._told.recv(32))
            except BlockingIOError:
                return None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended, and return its exit code."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self._end(self._told.recv(32))
            except TimeoutError:
                raise subprocess.TimeoutExpired(["stackroom"], timeout or 0.0) from None
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Read what it writes until it has ended."""
        with ThreadPoolExecutor(2) as pool, self.stdout, self.stderr:
            output, errors = (pool.submit(one.read) for one in (self.stdout, self.stderr))
            try:
                self.wait(timeout)
            finally:
                self.kill()
            return output.result(), errors.result()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> "Launched":
        return self

    def __exit__(self, *_error: object) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()

    def _connect(self, name: str, place: int, wanted: Any, text: bool) -> int:
        if wanted is None:
            return place
        if wanted == subprocess.DEVNULL:
            return os.open(os.devnull, os.O_RDWR)
        if wanted != subprocess.PIPE:
            return wanted if isinstance(wanted, int) else wanted.fileno()
        reads, writes = os.pipe()
        ours, theirs = (writes, reads) if name == "stdin" else (reads, writes)
        mode = ("w" if name == "stdin" else "r") + ("" if text else "b")
        setattr(self, name, os.fdopen(ours, mode))
        return theirs

    def _end(self, status: bytes) -> None:
        self.returncode = os.waitstatus_to_exitcode(int(status))
        self._told.close()


Started = subprocess.Popen[Any] | Launched
NAMES = ("stdin", "stdout", "stderr")


@functools.cache
def launcher() -> socket.socket:
    """Start the process that the others are forked from; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "support.launching", str(theirs.fileno())]
    process = subprocess.Popen(
        command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
    )
    theirs.close()
    atexit.register(process.wait, 60)
    atexit.register(ours.close)
    return ours


def main() -> None:
    """Fork a process for each request, until whoever asks has gone."""
    catalogues = pkgutil.walk_packages(stackroom_catalogues.__path__, "stackroom_catalogues.")
    for name in (*READ_FIRST, *(one.name for one in catalogues)):
        importlib.import_module(name)
    httpx_transport.create_ssl_context(verify=True, cert=None, trust_env=True)  # as clients do
    gc.collect()
    gc.freeze()
    requests = socket.socket(fileno=int(sys.argv[1]))
    heard, hearing = socket.socketpair()
    heard.setblocking(False)
    hearing.setblocking(False)
    signal.set_wakeup_fd(hearing.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as ready:
        ready.register(requests, selectors.EVENT_READ)
        ready.register(heard, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is heard:
                    heard.recv(4096)
                    bury(running)
                    continue
                request, numbers, _flags, _address = socket.recv_fds(requests, LARGEST_REQUEST, 4)
                if not request:
                    return
                *streams, told = numbers
                pid = os.fork()
                if not pid:
                    for one in (requests, heard, hearing, *running.values()):
                        one.close()
                    os.close(told)
                    become(json.loads(request), streams)
                    return
                running[pid] = socket.socket(fileno=told)
                running[pid].send(str(pid).encode())
                for number in streams:
                    os.close(number)


def bury(running: dict[int, socket.socket]) -> None:
    """Tell of each process that has ended."""
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with running.pop(pid) as told:
                try:
                    told.send(str(status).encode())
                except OSError:
                    continue  # nobody wants to know


def become(request: dict[str, Any], streams: list[int]) -> None:
    """Run `python -m stackroom`, or a script, in this process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # also where a shell started the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, number in enumerate(streams):
        os.dup2(number, place)
        os.close(number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    kind, code, *arguments = request["arguments"]
    sys.argv = [code if kind == "-m" else kind, *arguments]
    if kind == "-m":
        runpy.run_module(code, run_name="__main__", alter_sys=True)
    else:
        exec(compile(code, "<script>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    main()
