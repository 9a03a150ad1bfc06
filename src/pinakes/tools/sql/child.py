"""The process in which statements of `debug.sql` run: `python -m pinakes.tools.sql.child`.

A question a line comes in, as JSON, and a reply a line goes out. It has no descriptors but those two, nothing of the
server's environment, little memory and little time; it cannot write to a file. Whoever asks puts it behind everybody
else when it starts, and kills it when it does not answer in time.
"""

import json
import signal
import sys
from typing import BinaryIO

import apsw

from pinakes.tools.sql.guard import Reply, SqlQuery, Verdict, ask

try:
    import resource
except ImportError:  # Windows has no such limits; there the killing, and what SQLite counts itself, must do
    resource = None  # type: ignore[assignment]

SQLITE_BYTES = 64 * 2**20
PROCESS_BYTES = 512 * 2**20
"""Of addresses, most of which are never used."""
OPEN_FILES = 16
CPU_S = 2


def main() -> None:
    """Answer until there are no more questions."""
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
    """Bound what this process can use, for as long as it lives."""
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
    """Allow some seconds of the processor from now on; who uses more is ended by the system, whoever else is gone."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + CPU_S, hard))


if __name__ == "__main__":
    main()
