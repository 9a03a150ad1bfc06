"""A pool of the processes in which statements run: started when needed, kept warm, killed after a time limit."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pinakes
from pinakes.errors import OverloadedError, StorageError
from pinakes.tools.sql.guard import Reply, SqlQuery, Verdict, too_slow

COMMAND = (sys.executable, "-P", "-s", "-m", "pinakes.tools.sql.child")
"""Without the current folder and the user's site packages on its path."""
PASSED_ON = ("SYSTEMROOT", "LD_LIBRARY_PATH")
"""Environment variables that the interpreter itself may need; no others are passed on."""
ANSWER_S = 1.15
"""The time limit of a statement, after which its process is killed."""
PATIENCE_S = 0.1
"""How long a statement waits for a free process before it is refused."""
MOST_AT_ONCE = 10
MOST_WARM = 2
MOST_QUERIES = 200
"""How many queries a process answers before it is replaced."""
LOWEST_PRIORITY = 19
LONGEST_REPLY = 4 * 2**20
GONE = Reply(verdict=Verdict.LIMIT, message="too much for one statement: it used more memory or time than it may")


class _Child:
    """One process, and the thread that talks to it; one query at a time."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(environment),
                cwd=Path(sys.executable).anchor,
                close_fds=True,
            )
        except OSError as error:
            raise StorageError(f"no process can be started for the statement: {error.strerror}") from error
        _lower_priority(self._process.pid)
        self.queries = 0
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self._replies: SimpleQueue[Reply] = SimpleQueue()
        self._thread = threading.Thread(target=self._exchange, name="sql-child", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, query: SqlQuery, *, timeout_s: float) -> Reply | None:
        """Return the reply, or None if it does not come in time."""
        self.queries += 1
        self._lines.put(_encoded(query))
        try:
            return self._replies.get(timeout=max(timeout_s, 0.0))
        except Empty:
            return None

    def end(self) -> None:
        """Kill the process; its thread cleans up in the background, since even dying takes time on a busy machine."""
        self._process.kill()
        self._lines.put(b"")

    def wait(self) -> None:
        """Return when the process is gone."""
        self._thread.join()

    def _exchange(self) -> None:
        """Carry queries to the process and replies from it, until it is gone or sends nonsense."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        reply = None
        while reply is not GONE and (line := self._lines.get()):
            try:
                stdin.write(line)
                stdin.flush()
                reply = _reply(stdout.readline(LONGEST_REPLY))
            except OSError:
                reply = GONE
            self._replies.put(reply)
        self._process.kill()
        self._process.wait()
        for stream in (stdin, stdout):
            with suppress(OSError):  # unwritten input has no reader any more
                stream.close()


class SqlChildren:
    """Runs statements, several at once, each in a process of its own. Safe to use from several threads."""

    def __init__(
        self, *, most_at_once: int = MOST_AT_ONCE, command: Sequence[str] = COMMAND, answer_s: float = ANSWER_S
    ) -> None:
        """`answer_s` bounds a call, the start of its process included."""
        self._command = tuple(command)
        self._answer_s = answer_s
        self._environment = _bare_environment()
        self._turns = threading.BoundedSemaphore(most_at_once)
        self._guard = threading.Lock()
        self._idle: list[_Child] = []
        self._is_closed = False

    @property
    def idle_pids(self) -> list[int]:
        """The ids of the idle processes."""
        with self._guard:
            return [child.pid for child in self._idle]

    def ask(self, query: SqlQuery) -> Reply:
        """Run a statement, and return its reply within a second and a half, whatever it is."""
        ends_at = time.monotonic() + self._answer_s
        if not self._turns.acquire(timeout=PATIENCE_S):
            raise OverloadedError("too many statements are running; try again in a second")
        try:
            return self._ask_child(query, ends_at)
        finally:
            self._turns.release()

    def close(self) -> None:
        """End every process."""
        with self._guard:
            self._is_closed = True
            ended, self._idle = self._idle, []
        for child in ended:
            child.end()
        for child in ended:
            child.wait()

    def _ask_child(self, query: SqlQuery, ends_at: float) -> Reply:
        child = self._take()
        reply = child.ask(query, timeout_s=ends_at - time.monotonic())
        if reply is GONE and child.queries > 1:  # it may have died while idle
            child.end()
            child = _Child(self._command, self._environment)
            reply = child.ask(query, timeout_s=ends_at - time.monotonic())
        if reply is None or reply is GONE or not self._keep(child):
            child.end()
        return reply or Reply(verdict=Verdict.TIMEOUT, message=too_slow(query))

    def _take(self) -> _Child:
        """Return an idle process, or a new one."""
        with self._guard:
            if self._is_closed:
                raise StorageError("the server is ending: no more statements are run")
            if self._idle:
                return self._idle.pop()
        return _Child(self._command, self._environment)

    def _keep(self, child: _Child) -> bool:
        """Keep a process for the next statement unless there are enough; tell whether it is kept."""
        with self._guard:
            if self._is_closed or len(self._idle) >= MOST_WARM or child.queries >= MOST_QUERIES:
                return False
            self._idle.append(child)
            return True


def _lower_priority(pid: int) -> None:
    """Give a process the lowest priority from its start, so that searches are not slowed.

    It stays in the server's session, since Linux divides time among sessions before it looks at priorities.
    """
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, LOWEST_PRIORITY)


def _encoded(query: SqlQuery) -> bytes:
    return json.dumps({**query._asdict(), "views": dict(query.views)}).encode() + b"\n"


def _bare_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "PYTHONPATH": str(Path(pinakes.__file__).parent.parent), "PYTHONUTF8": "1"}


def _reply(line: bytes) -> Reply:
    """Parse a reply; a line that is not one comes from a process that must be replaced."""
    try:
        known: dict[str, Any] = json.loads(line)
        return Reply(**{**known, "verdict": Verdict(known["verdict"])})
    except (ValueError, TypeError, KeyError):
        return GONE
