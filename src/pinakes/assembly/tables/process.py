"""A worker process from the side of the server: requests, answers, time limits, and its end."""

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

import orjson

from pinakes.errors import ExpectedError, InputError, StorageError, UnavailableError

WORKER = "pinakes.assembly.tables.worker"
END_S = 5.0

Message = Mapping[str, Any]


class TableProcess:
    """One process of `worker`; requests are answered one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_late = False
        command = [sys.executable, "-P", "-m", WORKER]  # -P: nothing is imported from the current folder
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def ask(
        self, message: Message, *, timeout_s: float | None, on_progress: Callable[[Message], None] = lambda _: None
    ) -> Message:
        """Send a request and return its result; raise the error that it is answered with."""
        with self._lock:
            timer = threading.Timer(timeout_s, self._give_up) if timeout_s is not None else None
            if timer is not None:
                timer.start()
            try:
                return self._exchange(message, on_progress)
            except (OSError, ValueError) as error:  # its pipes are closed, or what it writes is cut
                raise self._ended() from error
            finally:
                if timer is not None:
                    timer.cancel()

    def end(self) -> None:
        """End the process; what it was building stays as far as it is whole."""
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _close(pipe)

    def _exchange(self, message: Message, on_progress: Callable[[Message], None]) -> Message:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(orjson.dumps(message) + b"\n")
        requests.flush()
        for line in answers:
            answer = orjson.loads(line)
            if "progress" in answer:
                on_progress(answer["progress"])
            elif "error" in answer:
                raise _error_of(answer["error"])
            else:
                result: Message = answer["result"]
                return result
        raise self._ended()

    def _give_up(self) -> None:
        self._is_late = True
        self._process.kill()

    def _ended(self) -> ExpectedError:
        if self._is_late:
            return UnavailableError("reading the table took too long; send a smaller part of it, or use: pinakes add")
        self._process.kill()  # no effect where it has ended
        code = self._process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return StorageError(f"the process that reads the table ended {how}; try again, or use: pinakes add")


def _error_of(told: Mapping[str, str]) -> ExpectedError:
    known = {one.code: one for one in _subclasses(ExpectedError)}
    kind = known.get(told["code"], StorageError)
    try:
        return kind(told["message"])
    except TypeError:  # one that needs more than a message
        return InputError(told["message"])


def _subclasses(kind: type[ExpectedError]) -> list[type[ExpectedError]]:
    found = kind.__subclasses__()
    return [*found, *(inner for one in found for inner in _subclasses(one))]


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        try:
            pipe.close()
        except OSError:
            return
