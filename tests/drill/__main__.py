"""A year of running a server, in one sitting: `make drill`.

Accounts, jobs, backups, a backup that fails, a database that is restored under a running server, a
disk that fills, and many clients at once. After each step the four places that tell of it are
asked: `/health`, `stackroom doctor`, `/metrics` and the audit log. It ends with 0 where each told
what it must.
"""

import argparse
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from drill.record import Drill
from drill.steps import STEPS
from drill.world import made_world


def main() -> int:
    """Take every step, or those that are named, and print the table."""
    parser = argparse.ArgumentParser(prog="drill", description=__doc__)
    parser.add_argument(
        "--step", action="append", help="only steps whose name has this in it; can be repeated"
    )
    parser.add_argument(
        "--nights", type=int, default=12, help="how many nights with jobs and a backup (12)"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda received, _frame: sys.exit(128 + received))
    drill, began = Drill(), time.monotonic()
    with (
        tempfile.TemporaryDirectory(
            prefix="stackroom-drill-", ignore_cleanup_errors=True
        ) as temporary,
        made_world(Path(temporary), nights=options.nights) as world,
    ):
        for name, take in STEPS.items():
            if not options.step or any(wanted in name for wanted in options.step):
                drill.run(name, partial(take, world))
    print(drill.report(minutes=(time.monotonic() - began) / 60))
    return 1 if drill.problems() else 0


if __name__ == "__main__":
    sys.exit(main())
