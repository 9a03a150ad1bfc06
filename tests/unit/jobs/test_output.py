"""What is kept of what a job writes."""

import pytest

from stackroom.jobs.job import MOST_OUTPUT_BYTES, OutputTail

pytestmark = pytest.mark.row("Z11")


def test_of_what_does_not_fit_the_last_whole_lines_are_kept() -> None:
    tail = OutputTail(most_bytes=100)
    for number in range(1000):
        tail.write(f"line {number:03}")
    lines = tail.text().splitlines()
    assert lines == [f"line {number:03}" for number in range(989, 1000)]
    assert tail.dropped_bytes == 989 * 9


def test_a_line_of_any_length_stays_within_the_bound() -> None:
    tail = OutputTail()
    tail.write("ü" * 1_000_000)
    tail.write("end")
    assert len(tail.text().encode()) <= MOST_OUTPUT_BYTES
    assert tail.text().endswith("ü\nend\n")
