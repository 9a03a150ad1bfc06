"""The process in which statements of `debug.sql` run: `python -m stackroom.tools.sql.child`.

It reads queries and writes replies, each one line of JSON. It has no other descriptors, nothing of the server's
environment, bounded memory and time, and cannot write to a file. The parent gives it the lowest priority when it
starts, and kills it when it does not answer in time.
"""

import json
import signal
import sys
from typing import BinaryIO

import apsw

from stackroom.tools.sql.guard import Reply, SqlQuery, Verdict, ask

try:
    import resource
except ImportError:  # Windows has no such limits; killing and SQLite's own limits must suffice
    resource = None  # type: ignore[assignment]

SQLITE_BYTES = 64 * 2**20
PROCESS_BYTES = 512 * 2**20
"""Of address space, most of which is never used."""
OPEN_FILES = 16
CPU_S = 2


def main() -> None:
    """Answer queries until standard input ends."""
    _give_up_rights()
    for line in sys.stdin.buffer:
        _allow_time()
        _answer(line, sys.stdout.buffer)


def _answer(line: bytes, out: BinaryIO) -> None:
    try:
        reply = ask(SqlQuery(**json.loads(line)))
    except MemoryError:
        reply = Reply(verdict=Verdict.LIMIT, message="too much for one statement: out of memory")
    out.write(json.dumps(reply._asdict(), allow_nan=False).encode() + b"\n")
    out.flush()


def _give_up_rights() -> None:
    """Lower the resource limits of this process for good."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    apsw.hard_heap_limit(SQLITE_BYTES)
    if resource is None:
        return
    for limit, most in (
        (resource.RLIMIT_AS, PROCESS_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ):
        resource.setrlimit(limit, (most, most))


def _allow_time() -> None:
    """Allow some seconds of CPU time from now on; beyond them the kernel ends the process, even without a parent."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + CPU_S, hard))


if __name__ == "__main__":
    main()
