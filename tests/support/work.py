"""Work, counted: how much an action does is the same on every machine, how long it takes is not."""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import stackroom

SOURCE = str(Path(stackroom.__file__).parent.parent)
FILE_CALLS = frozenset({"open", "stat", "lstat", "scandir", "listdir"})
FILE_MODULES = frozenset({"posix", "nt", "io", "_io"})
STATEMENTS = frozenset({"execute", "executemany", "executescript"})
DATABASES = frozenset({"apsw", "sqlite3"})


@dataclass
class Recorder:
    """Counts what is called while it is on: functions of all kinds, our own, looks at files, and
    statements of SQL.
    """

    is_on: bool = False
    calls: int = 0
    own: Counter[CodeType] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    statements: int = 0

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count a call; the interpreter calls this (`sys.setprofile`)."""
        if not self.is_on or event not in {"call", "c_call"}:
            return
        self.calls += 1
        if event == "call":
            if frame.f_code.co_filename.startswith(SOURCE):
                self.own[frame.f_code] += 1
        elif argument.__name__ in FILE_CALLS and argument.__module__ in FILE_MODULES:
            self.files[f"{argument.__name__} in {frame.f_code.co_filename}:{frame.f_lineno}"] += 1
        elif argument.__name__ in STATEMENTS and type(argument.__self__).__module__ in DATABASES:
            self.statements += 1

    def own_files(self) -> Counter[str]:
        """Return the calls of our own functions by file."""
        files: Counter[str] = Counter()
        for code, count in self.own.items():
            files[code.co_filename.removeprefix(f"{SOURCE}/")] += count
        return files

    def times(self, function: Callable[..., Any]) -> int:
        """Return how often one of our functions was called."""
        return self.own[function.__code__]


def record(action: Callable[[], object]) -> Recorder:
    """Return what an action calls in this thread."""
    recorder, former = Recorder(is_on=True), sys.getprofile()
    sys.setprofile(recorder.note)
    try:
        action()
    finally:
        recorder.is_on = False
        sys.setprofile(former)
    return recorder


def count_calls(action: Callable[[], object]) -> int:
    """Return how many functions an action calls in this thread, those of Python and those in C."""
    return record(action).calls
