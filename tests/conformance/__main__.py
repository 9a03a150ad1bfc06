"""The official tools of the protocol against this server: the conformance suite, and the
Inspector's command line.

`python -m conformance` with `tests` on the Python path runs all. It ends with 0 where all is well,
with 1 where a check fails, with 2 where the tools cannot be run here.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Mapping

from conformance.inspector import check_inspector
from conformance.node import Node, find_node, install_packages
from conformance.processes import CannotRunError, ServerTroubleError
from conformance.suite import check_catalogue, check_fixture

PARTS: Mapping[str, Callable[[Node], bool]] = {
    "fixture": check_fixture,
    "catalogue": check_catalogue,
    "inspector": check_inspector,
}


def main() -> int:
    """Run all parts, or the one that the command line names."""
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="one of the parts")
    only = parser.parse_args().only
    names = [only] if only else list(PARTS)
    # A run that is ended leaves nothing running: the exception goes through every `with` block.
    signal.signal(signal.SIGTERM, lambda received, _frame: sys.exit(128 + received))
    started_at = time.monotonic()
    try:
        node = find_node()
        install_packages(node)
        outcomes = {name: _check(PARTS[name], node) for name in names}
    except CannotRunError as error:
        print(f"conformance cannot be run: {error}", file=sys.stderr)
        return 2
    seconds = time.monotonic() - started_at
    print(
        "\n"
        + ", ".join(f"{name}: {'passed' if good else 'FAILED'}" for name, good in outcomes.items()),
        end=" ",
    )
    print(f"({seconds:.0f} s)")
    return 0 if all(outcomes.values()) else 1


def _check(part: Callable[[Node], bool], node: Node) -> bool:
    try:
        return part(node)
    except ServerTroubleError as error:
        print(f"  FAILED: {error}")
        return False


if __name__ == "__main__":
    sys.exit(main())
