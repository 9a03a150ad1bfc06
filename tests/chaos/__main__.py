"""Two servers on one library, and everything that can go wrong, for a while: `make chaos`.

Editors, readers, downloads and jobs go on while servers are killed, the disk fills, the control
database, the embedder and a catalogue's records go away and bits flip. Every acknowledged change is
remembered, every answer is compared with what it must be, and health must tell of each fault. It
ends with 0 where nothing was lost and nothing was wrong.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from chaos.report import write_report
from chaos.run import run_chaos


def main() -> int:
    """Run for the time that the command line says, and write the report."""
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="how long (30)")
    parser.add_argument(
        "--seed",
        type=int,
        default=random.SystemRandom().randrange(10**6),
        help="of the faults' order",
    )
    options = parser.parse_args()
    # A run that is ended leaves nothing running or mounted: the exception goes through every `with`
    # block.
    signal.signal(signal.SIGTERM, lambda received, _frame: sys.exit(128 + received))
    print(f"chaos: {options.minutes:g} minutes, seed {options.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(
        prefix="stackroom-chaos-", ignore_cleanup_errors=True
    ) as temporary:
        outcome = run_chaos(Path(temporary), minutes=options.minutes, seed=options.seed)
    print(write_report(outcome, seed=options.seed, minutes=(time.monotonic() - began) / 60))
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
