"""Processes that end in the middle of their work.

Each is forked from a process that has loaded the code and runs nothing else, so that a kill costs
no start of Python. What it runs is a function of a module in `support`, which tells how far it is
by `say`.
"""

import multiprocessing
import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

KILLED = 9
PATIENCE_S = 120.0
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["stackroom.assembly.app", "stackroom.packs.update", "stackroom.jobs.scheduler"]
)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a process ended, and what it said until then."""

    code: int | None
    said: list[str]


class _Mouth:
    pipe: Connection | None = None


def say(*words: object) -> None:
    """Tell the test something from within a child; what was said before a kill is heard."""
    if _Mouth.pipe is not None:
        _Mouth.pipe.send(" ".join(map(str, words)))


def die_at(target: str, call: int = 1, *, is_before: bool = True) -> None:
    """Make this process end at a call of a function, such as `os:replace`: before it is done, or
    after.
    """
    owner_name, _, attribute = target.replace(":", ".").rpartition(".")
    owner = pkgutil.resolve_name(owner_name)
    real, numbers = getattr(owner, attribute), count(1)

    def dying(*args: Any, **kwargs: Any) -> Any:
        number = next(numbers)
        if number == call and is_before:
            os._exit(KILLED)
        result = real(*args, **kwargs)
        if number == call:
            os._exit(KILLED)
        return result

    setattr(owner, attribute, dying)


class Child:
    """A function that runs in a process of its own."""

    def __init__(self, work: Callable[..., object], *arguments: Any) -> None:
        self.said: list[str] = []
        self._receiver, sender = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(target=_run, args=(sender, work, arguments))
        self._process.start()
        sender.close()

    def hear(self, lines: int | None = None) -> None:
        """Listen until it has said so much, or until it ends."""
        while (lines is None or len(self.said) < lines) and self._receiver.poll(PATIENCE_S):
            try:
                self.said.append(self._receiver.recv())
            except EOFError:
                return

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def wait(self) -> Ended:
        """Listen to its end."""
        self.hear()
        self._process.join(PATIENCE_S)
        return Ended(code=self._process.exitcode, said=self.said)


def run_child(
    work: Callable[..., object], *arguments: Any, kill_after_lines: int | None = None
) -> Ended:
    """Run a function in a process of its own, to its end or until it has said so much."""
    child = Child(work, *arguments)
    if kill_after_lines is not None:
        child.hear(kill_after_lines)
        child.kill()
    return child.wait()


def _run(pipe: Connection, work: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    _Mouth.pipe = pipe
    work(*arguments)
