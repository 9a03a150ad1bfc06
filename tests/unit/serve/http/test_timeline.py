"""Calls by slots of time: bounded, and with percentiles that are near the truth."""

from datetime import UTC, datetime

import pytest

from pinakes.model.audit import AuditEntry, Outcome
from pinakes.serve.http.timeline import SPANS, CallTimeline


def entry(duration_ms: float, outcome: Outcome = Outcome.OK) -> AuditEntry:
    return AuditEntry(
        at=datetime.now(UTC),
        call_id="x",
        principal="reader",
        via="rest",
        operation="tools/call",
        target="search",
        parameters={},
        outcome=outcome,
        duration_ms=duration_ms,
    )


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 1_000_000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.at


def test_calls_are_counted_in_the_slot_in_which_they_ended() -> None:
    clock = Clock()
    timeline = CallTimeline(now=clock)
    for outcome in (Outcome.OK, Outcome.ERROR):
        timeline.add(entry(5, outcome), "search")
    clock.at += 20
    timeline.add(entry(5), "search")
    assert [(slot.at, slot.counts.calls, slot.counts.errors) for slot in timeline.slots("hour")] == [
        (1_000_000, 2, 1),
        (1_000_020, 1, 0),
    ]
    assert [slot.counts.calls for slot in timeline.slots("day")] == [3]


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_percentiles_are_within_a_tenth_of_the_exact_ones(share: float) -> None:
    timeline = CallTimeline()
    durations = [1.003**number for number in range(2_000)]
    for duration_ms in durations:
        timeline.add(entry(duration_ms), "search")
    exact = durations[int(len(durations) * share)]
    assert timeline.by_tool()["search"].percentile_ms(share) == pytest.approx(exact, rel=0.1)


def test_slots_that_are_older_than_the_span_are_dropped() -> None:
    clock = Clock()
    timeline = CallTimeline(now=clock)
    step_s, kept = SPANS["hour"]
    for _ in range(kept + 50):
        timeline.add(entry(5), "")
        clock.at += step_s
    assert len(timeline.slots("hour")) == kept
    clock.at += step_s * kept
    assert timeline.slots("hour") == []
    assert timeline.by_tool() == {}
