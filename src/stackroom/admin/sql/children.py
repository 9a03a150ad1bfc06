"""The processes in which statements run: one for each, killed after a time limit."""

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import stackroom
from stackroom.admin.sql.guard import Reply, SqlQuery, Verdict, too_slow
from stackroom.background.processes import ChildProcess
from stackroom.errors import OverloadedError, StorageError, UnavailableError

COMMAND = (sys.executable, "-P", "-s", "-m", "stackroom.admin.sql.child")
"""Without the current folder and the user's site packages on its path."""
PASSED_ON = ("SYSTEMROOT", "LD_LIBRARY_PATH")
"""Environment variables that the interpreter itself may need; no others are passed on."""
ANSWER_S = 10.0
"""How long a statement may take with the start of its process, which is killed then. A statement's own limit is of
processor time, since a busy machine is not its fault."""
PATIENCE_S = 0.1
"""How long a statement waits for its turn before it is refused."""
MOST_AT_ONCE = 10
LOWEST_PRIORITY = 19
"""So that searches are not slowed. The processes stay in the server's session, since Linux divides time among sessions
before it looks at priorities."""
GONE = Reply(verdict=Verdict.LIMIT, message="too much for one statement: it used more memory or time than it may")


class SqlChildren:
    """Runs statements, several at once, each in a process of its own. Safe to use from several threads."""

    def __init__(self, *, command: Sequence[str] = COMMAND, answer_s: float = ANSWER_S) -> None:
        """`answer_s` bounds a call, the start of its process included."""
        self._command = tuple(command)
        self._answer_s = answer_s
        self._environment = _bare_environment()
        self._turns = threading.BoundedSemaphore(MOST_AT_ONCE)

    def ask(self, query: SqlQuery) -> Reply:
        """Run a statement, and return its reply in time, whatever it is."""
        if not self._turns.acquire(timeout=PATIENCE_S):
            raise OverloadedError("too many statements are running; try again in a second")
        try:
            given = json.dumps({**query._asdict(), "views": dict(query.views)}).encode() + b"\n"
            output, _errors = self._start().finish(longest_s=self._answer_s, given=given)
        except UnavailableError:
            return Reply(verdict=Verdict.TIMEOUT, message=too_slow(query))
        finally:
            self._turns.release()
        return _reply(output)

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
            raise StorageError(
                f"no process can be started for the statement: {error.strerror}; try again later"
            ) from error


def _bare_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "PYTHONPATH": str(Path(stackroom.__file__).parent.parent), "PYTHONUTF8": "1"}


def _reply(output: bytes) -> Reply:
    """Parse a reply; other output is of a process that was ended for what it used."""
    try:
        known = json.loads(output)
        return Reply(**{**known, "verdict": Verdict(known["verdict"])})
    except (ValueError, TypeError, KeyError):
        return GONE
