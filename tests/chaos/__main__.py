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
    parser.add_argument("--fault", help="only faults whose name has this in it")
    parser.add_argument("--folder", type=Path, help="keep logs here; by default a temporary folder")
    parser.add_argument(
        "--report", type=Path, help="write the report to this file too, as Markdown"
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
        folder = options.folder or Path(temporary)
        outcome = run_chaos(folder, minutes=options.minutes, seed=options.seed, only=options.fault)
    text = write_report(outcome, seed=options.seed, minutes=(time.monotonic() - began) / 60)
    print(text)
    if options.report:
        options.report.write_text(text)
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
