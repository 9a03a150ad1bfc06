"""The process in which a statement of `debug.sql` runs: `python -m stackroom.admin.sql.child`.

It reads a query and writes the reply, each one line of JSON. It has no other descriptors, nothing
of the server's environment, bounded memory and time, and cannot write to a file. The parent gives
it the lowest priority when it starts, and kills it when it does not answer in time.
"""

import json
import signal
import sys

import apsw

from stackroom.admin.sql.guard import Reply, SqlQuery, Verdict, ask

try:
    import resource
except ImportError:  # Windows has no such limits; killing and SQLite's own limits must suffice
    resource = None  # type: ignore[assignment]

SQLITE_BYTES = 64 * 2**20
PROCESS_BYTES = 512 * 2**20  # of address space, most of which is never used
OPEN_FILES = 16
CPU_S = 3  # beyond it the kernel ends the process, even without a parent


def main() -> None:
    """Answer the query on standard input."""
    _give_up_rights()
    try:
        reply = ask(SqlQuery(**json.loads(sys.stdin.buffer.readline())))
    except MemoryError:
        reply = Reply(verdict=Verdict.LIMIT, message="too much for one statement: out of memory")
    sys.stdout.buffer.write(json.dumps(reply._asdict(), allow_nan=False).encode() + b"\n")


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
        (resource.RLIMIT_CPU, CPU_S),
    ):
        resource.setrlimit(limit, (most, most))


if __name__ == "__main__":
    main()
