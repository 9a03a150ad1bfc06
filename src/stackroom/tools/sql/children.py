"""The processes in which statements run: started when needed, kept warm, killed after a time limit."""

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stackroom
from stackroom.background.processes import ChildProcess
from stackroom.background.threads import new_pool, start_thread
from stackroom.errors import OverloadedError, StorageError
from stackroom.tools.sql.guard import Reply, SqlQuery, Verdict, too_slow

COMMAND = (sys.executable, "-P", "-s", "-m", "stackroom.tools.sql.child")
"""Without the current folder and the user's site packages on its path."""
PASSED_ON = ("SYSTEMROOT", "LD_LIBRARY_PATH")
"""Environment variables that the interpreter itself may need; no others are passed on."""
ANSWER_S = 1.15
"""The time limit of a statement, after which its process is killed."""
PATIENCE_S = 0.1
"""How long a statement waits for its turn before it is refused."""
MOST_AT_ONCE = 10
MOST_WARM = 2
LONGEST_REPLY = 4 * 2**20
LOWEST_PRIORITY = 19
"""So that searches are not slowed. The processes stay in the server's session, since Linux divides time among sessions
before it looks at priorities."""
GONE = Reply(verdict=Verdict.LIMIT, message="too much for one statement: it used more memory or time than it may")


class SqlChildren:
    """Runs statements, several at once, each in a process that runs no other. Safe to use from several threads."""

    def __init__(
        self, *, most_at_once: int = MOST_AT_ONCE, command: Sequence[str] = COMMAND, answer_s: float = ANSWER_S
    ) -> None:
        """`answer_s` bounds a call, the start of its process included."""
        self._command = tuple(command)
        self._answer_s = answer_s
        self._environment = _bare_environment()
        self._turns = threading.BoundedSemaphore(most_at_once)
        self._exchanges = new_pool("statement", 2 * most_at_once)  # some wait for processes that are dying
        self._guard = threading.Lock()
        self._idle: list[ChildProcess] = []
        self._is_closed = False

    def ask(self, query: SqlQuery) -> Reply:
        """Run a statement, and return its reply within a second and a half, whatever it is."""
        ends_at = time.monotonic() + self._answer_s
        if not self._turns.acquire(timeout=PATIENCE_S):
            raise OverloadedError("too many statements are running; try again in a second")
        try:
            child = self._take()
            reply = self._exchanges.submit(_exchange, child, query).result(ends_at - time.monotonic())
        except TimeoutError:
            start_thread("end of a statement", child.kill)  # even dying takes time on a busy machine
            return Reply(verdict=Verdict.TIMEOUT, message=too_slow(query))
        finally:
            self._turns.release()
        if reply is GONE or not self._keep(child):
            child.kill()
        return reply

    def close(self) -> None:
        """End the processes that wait; those that answer are killed at their time limits."""
        with self._guard:
            self._is_closed = True
            ended, self._idle = self._idle, []
        for child in ended:
            child.kill()
        self._exchanges.shutdown(wait=False)

    def _take(self) -> ChildProcess:
        """Return an idle process, or a new one."""
        with self._guard:
            if self._is_closed:
                raise StorageError("the server is ending: no more statements are run")
            if self._idle and self._idle[-1].is_running:
                return self._idle.pop()
        return self._start()

    def _keep(self, child: ChildProcess) -> bool:
        """Keep a process for the next statement unless there are enough; tell whether it is kept."""
        with self._guard:
            self._idle = [one for one in self._idle if one.is_running]
            if self._is_closed or len(self._idle) >= MOST_WARM:
                return False
            self._idle.append(child)
            return True

    def _start(self) -> ChildProcess:
        try:
            return ChildProcess(
                "the process of a statement",
                self._command,
                reads=True,
                writes=True,
                environment=self._environment,
                folder=Path(sys.executable).anchor,
                niceness=LOWEST_PRIORITY,
            )
        except OSError as error:
            raise StorageError(f"no process can be started for the statement: {error.strerror}") from error


def _exchange(child: ChildProcess, query: SqlQuery) -> Reply:
    """Send a query to a process, and return its reply; `GONE` where it has ended or sends nonsense."""
    try:
        child.input.write(_encoded(query))
        child.input.flush()
        return _reply(child.output.readline(LONGEST_REPLY))
    except (OSError, ValueError):  # its pipes are closed
        return GONE


def _encoded(query: SqlQuery) -> bytes:
    return json.dumps({**query._asdict(), "views": dict(query.views)}).encode() + b"\n"


def _bare_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "PYTHONPATH": str(Path(stackroom.__file__).parent.parent), "PYTHONUTF8": "1"}


def _reply(line: bytes) -> Reply:
    """Parse a reply; a line that is not one comes from a process that must be replaced."""
    try:
        known: dict[str, Any] = json.loads(line)
        return Reply(**{**known, "verdict": Verdict(known["verdict"])})
    except (ValueError, TypeError, KeyError):
        return GONE
