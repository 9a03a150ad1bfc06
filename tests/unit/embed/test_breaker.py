"""The circuit breaker, with a clock that is turned by hand."""

from collections.abc import Sequence

import numpy as np
import pytest

from stackroom.embed.adapters import FAILURES_TO_OPEN, PAUSE_S, GuardedEmbedder
from stackroom.errors import UnavailableError
from stackroom.model.vectors import ModelId, Vector


class Moody:
    """Implements `Embedder`: fails while `failure` is set, and counts how often it is asked."""

    model = ModelId(name="moody", dimension=2)

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.asked = 0

    def embed_query(self, text: str) -> Vector:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return np.array([1, 0], np.float32)

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        return np.stack([self.embed_query(text) for text in texts])

    def check(self) -> str | None:
        return None if self.failure is None else "moody today"


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def inner() -> Moody:
    return Moody()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def guarded(inner: Moody, clock: Clock) -> GuardedEmbedder:
    return GuardedEmbedder(inner, clock=clock)


def fail(guarded: GuardedEmbedder, times: int) -> str:
    message = ""
    for number in range(times):
        with pytest.raises(UnavailableError) as failed:
            guarded.embed_query(f"failing {number}")
        message = failed.value.message
    return message


def test_after_a_failure_a_kept_query_is_asked_again_to_see_whether_it_works(
    guarded: GuardedEmbedder, inner: Moody
) -> None:
    guarded.embed_query("x")
    inner.failure = UnavailableError("no answer")
    guarded.embed_query("x")
    assert fail(guarded, 1) == "no answer"
    with pytest.raises(UnavailableError):
        guarded.embed_query("x")
    inner.failure = None
    guarded.embed_query("x")
    assert guarded.problem is None
    assert inner.asked == 4


def test_after_repeated_failures_it_is_left_alone_and_the_reason_is_told(
    guarded: GuardedEmbedder, inner: Moody
) -> None:
    inner.failure = UnavailableError("no answer")
    fail(guarded, FAILURES_TO_OPEN)
    message = fail(guarded, 3)
    assert inner.asked == FAILURES_TO_OPEN
    assert message == f"no answer (trying again in {PAUSE_S:.0f} s)"


def test_after_the_pause_one_call_tries_and_success_closes_it(
    guarded: GuardedEmbedder, inner: Moody, clock: Clock
) -> None:
    inner.failure = UnavailableError("no answer")
    fail(guarded, FAILURES_TO_OPEN)
    inner.failure = None
    clock.now_s += PAUSE_S - 0.01
    fail(guarded, 1)
    clock.now_s += 0.02
    guarded.embed_query("x")
    guarded.embed_query("x")
    assert inner.asked == FAILURES_TO_OPEN + 2


def test_a_failed_try_opens_it_for_another_pause(
    guarded: GuardedEmbedder, inner: Moody, clock: Clock
) -> None:
    inner.failure = UnavailableError("no answer")
    fail(guarded, FAILURES_TO_OPEN)
    clock.now_s += PAUSE_S
    fail(guarded, 3)
    assert inner.asked == FAILURES_TO_OPEN + 1
    clock.now_s += PAUSE_S
    fail(guarded, 1)
    assert inner.asked == FAILURES_TO_OPEN + 2


def test_while_one_call_tries_the_others_fail_at_once(
    guarded: GuardedEmbedder, inner: Moody, clock: Clock
) -> None:
    inner.failure = UnavailableError("no answer")
    fail(guarded, FAILURES_TO_OPEN)
    clock.now_s += PAUSE_S
    guarded._require_closed()  # the one that tries, and has not ended yet
    fail(guarded, 2)
    assert inner.asked == FAILURES_TO_OPEN


def test_a_build_and_a_health_check_pass_through_an_open_breaker(
    guarded: GuardedEmbedder, inner: Moody
) -> None:
    inner.failure = UnavailableError("no answer")
    fail(guarded, FAILURES_TO_OPEN)
    assert guarded.check() == "moody today"
    inner.failure = None
    assert guarded.embed_documents(["a", "b"]).shape == (2, 2)
