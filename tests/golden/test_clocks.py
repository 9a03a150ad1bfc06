"""No test measures time: beside other work, or on a slower machine, it would fail by chance.

Work is counted (`support.work`), what comes later is waited for (`support.processes.wait_until`),
and what must be timed is compared with a reference in the same run by a program in `benchmarks/`.
"""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
CLOCK = re.compile(r"\b(?:perf_counter|process_time)(?:_ns)?\(|(?:monotonic|_time)\(\) - \w+ <")
"""A clock that only serves to measure, or a bound on what another one measured."""


def test_no_test_measures_time() -> None:
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__)]
    assert [
        str(path.relative_to(TESTS)) for path in files if CLOCK.search(path.read_text("utf-8"))
    ] == []


def test_a_test_that_measures_time_is_found() -> None:
    assert CLOCK.search("assert time.monotonic() - began < 1")
    assert CLOCK.search("began = time.perf_counter()")
