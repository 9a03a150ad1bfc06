"""A worker process from the side of the server: one request, its progress, its result, a time limit, and its end."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from stackroom.background.processes import BESIDE_CALLS, SHOWN, ChildProcess, describe_end, python_module
from stackroom.background.threads import start_timer
from stackroom.errors import ExpectedError, InputError, StorageError, UnavailableError

WORKER = "stackroom.assembly.tables.worker"

Message = Mapping[str, Any]
Progress = Callable[[Message], None]


def run_worker(
    request: Message,
    *,
    timeout_s: float | None,
    on_start: Callable[[ChildProcess], None],
    on_progress: Progress = lambda _progress: None,
) -> Message:
    """Carry out a request in a process of its own, and return its result; raise the error that it answers with."""
    name = "the process that reads the table"
    child = ChildProcess(name, python_module(WORKER), reads=True, writes=True, errors=SHOWN, niceness=BESIDE_CALLS)
    timer = start_timer("table", timeout_s, child.kill) if timeout_s is not None else None
    try:
        on_start(child)
        return _exchange(child, request, on_progress)
    except (OSError, ValueError) as error:  # its pipes are closed, or what it writes is cut
        if timer is not None and not timer.is_alive():
            message = "reading the table took too long; send a smaller part of it, or use: stackroom add"
            raise UnavailableError(message) from error
        child.end(within_s=0.0)
        how = describe_end(child.exit_code or 0)
        raise StorageError(f"{name} ended {how}; try again, or use: stackroom add") from error
    finally:
        if timer is not None:
            timer.cancel()
        child.end()


def _exchange(child: ChildProcess, request: Message, on_progress: Progress) -> Message:
    child.input.write(orjson.dumps(request) + b"\n")
    child.input.flush()
    for line in child.output:
        answer = orjson.loads(line)
        if "error" in answer:
            raise _error_of(answer["error"])
        if "result" in answer:
            result: Message = answer["result"]
            return result
        on_progress(answer["progress"])
    raise OSError("it ended without an answer")


def _error_of(told: Mapping[str, str]) -> ExpectedError:
    kinds = ExpectedError.__subclasses__()
    kind = next((kind for kind in kinds if kind.code == told["code"]), InputError)
    try:
        return kind(told["message"])
    except TypeError:  # one that needs more than a message
        return InputError(told["message"])
