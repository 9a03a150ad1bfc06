"""What is kept of what a job writes."""

import pytest

from stackroom.jobs.job import OutputTail

pytestmark = pytest.mark.row("Z11")


def test_of_what_does_not_fit_the_last_whole_lines_are_kept() -> None:
    tail = OutputTail(most_bytes=100)
    for number in range(1000):
        tail.write(f"line {number:03}")
    lines = tail.text().splitlines()
    assert lines == [f"line {number:03}" for number in range(989, 1000)]
    assert tail.dropped_bytes == 989 * 9
