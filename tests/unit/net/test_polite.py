"""The polite getter against a real server on loopback; its clock is the test's own, so nothing here
waits.
"""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from stackroom.errors import UnavailableError
from stackroom.net.polite import (
    Clock,
    Fetched,
    Pace,
    PoliteGetter,
    UnusableAnswerError,
)
from support.loopback import FileServer

pytestmark = pytest.mark.row("P3")

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
PATH = "/papers"
Reply = Callable[[Any], None]


def status(code: int, **headers: str) -> Reply:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(code, b"later", names)


def half(handler: Any) -> None:
    handler.send(200, b"o", length=1_000)


def hang_up(handler: Any) -> None:
    handler.close_connection = True


def broken_gzip(handler: Any) -> None:
    handler.send(200, b"not gzip at all", {"Content-Encoding": "gzip"})


class Timekeeper:
    """A clock that moves only when it is slept on, and notes each sleep."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

    def clock(self, *, chance: float = 0.0) -> Clock:
        return Clock(
            monotonic=lambda: self.now_s,
            utc_now=lambda: NOW,
            sleep=self.sleep,
            chance=lambda: chance,
        )


@pytest.fixture
def server(file_server: FileServer) -> FileServer:
    """A server that answers `ok` where no other replies are set."""
    file_server.files[PATH] = b"ok"
    return file_server


@pytest.fixture
def time() -> Timekeeper:
    return Timekeeper()


def getter(server: FileServer, time: Timekeeper, **changes: Any) -> PoliteGetter:
    pace = Pace(
        **{"interval_s": 3.0, "attempts": 4, "longest_wait_s": 60.0, **changes.pop("pace", {})}
    )
    return PoliteGetter(
        base_url=f"{server.url}{PATH}",
        pace=pace,
        clock=time.clock(chance=changes.pop("chance", 0.0)),
        **changes,
    )


def body_of(answer: Fetched) -> bytes:
    return answer.body


def test_an_answer_is_given_to_its_reader_whole_with_its_status(
    server: FileServer, time: Timekeeper
) -> None:
    assert getter(server, time).fetch(
        {"q": "a b&c", "n": 5}, read=lambda answer: answer
    ) == Fetched(404, b"no such file")
    asked, headers = server.requests[0]
    assert parse_qs(urlsplit(asked).query) == {"q": ["a b&c"], "n": ["5"]}
    assert headers["user-agent"].startswith("stackroom/")


def test_requests_keep_their_distance_and_the_first_does_not_wait(
    server: FileServer, time: Timekeeper
) -> None:
    asking = getter(server, time)
    asking.fetch({}, read=body_of)
    assert time.slept == []
    time.now_s += 1.0
    asking.fetch({}, read=body_of)
    assert time.slept == [2.0]
    time.now_s += 10.0
    asking.fetch({}, read=body_of)
    assert time.slept == [2.0]


@pytest.mark.parametrize(
    "failure", [*(status(code) for code in (429, 500, 502, 503, 504)), half, hang_up, broken_gzip]
)
def test_what_may_pass_is_tried_again(server: FileServer, time: Timekeeper, failure: Reply) -> None:
    server.replies[PATH] = [failure, failure]
    assert getter(server, time).fetch({}, read=body_of) == b"ok"
    assert len(server.requests) == 3


def test_waits_double_and_chance_shortens_them_by_half_at_the_most(
    server: FileServer, time: Timekeeper
) -> None:
    server.replies[PATH] = [status(503)] * 10
    with pytest.raises(UnavailableError):
        getter(server, time, pace={"interval_s": 0.0, "attempts": 6, "longest_wait_s": 5.0}).fetch(
            {}, read=body_of
        )
    assert time.slept == [1.0, 2.0, 4.0, 5.0, 5.0]
    time.slept.clear()
    with pytest.raises(UnavailableError):
        getter(server, time, pace={"interval_s": 0.0}, chance=1.0).fetch({}, read=body_of)
    assert time.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("asked_for", "waited"),
    [
        ("7", 7.0),
        ("100000", 60.0),
        ("Thu, 01 Jan 2026 12:00:20 GMT", 20.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 1.0),
        ("Fri, 01 Jan 2027 12:00:00 GMT", 60.0),
        ("soon", 1.0),
        ("Thu, 01 Jan 2026 12:00:20 +99999999999999999999", 1.0),
        ("", 1.0),
    ],
)
def test_retry_after_is_honoured_up_to_the_longest_wait(
    server: FileServer, time: Timekeeper, asked_for: str, waited: float
) -> None:
    server.replies[PATH] = [status(429, Retry_After=asked_for)]
    assert getter(server, time, pace={"interval_s": 0.0}).fetch({}, read=body_of) == b"ok"
    assert time.slept == [waited]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (status(503), "answered status 503; asked 4 times, given up"),
        (status(429), "answered status 429; asked 4 times, given up"),
        (half, "ended its answer before it was whole .*; asked 4 times"),
        (hang_up, "ended its answer before it was whole"),
        (broken_gzip, "could not be read"),
    ],
)
def test_after_so_many_attempts_it_is_unavailable_and_says_why(
    server: FileServer, time: Timekeeper, failure: Reply, reason: str
) -> None:
    server.replies[PATH] = [failure] * 4
    with pytest.raises(UnavailableError, match=f"{server.url}{PATH} {reason}"):
        getter(server, time).fetch({}, read=body_of)
    assert len(server.requests) == 4


def test_an_answer_that_its_reader_cannot_use_is_asked_for_again(
    server: FileServer, time: Timekeeper
) -> None:
    server.replies[PATH] = [lambda handler: handler.send(200, b"nonsense")]

    def read(answer: Fetched) -> str:
        if answer.body != b"ok":
            raise UnusableAnswerError("answered nonsense")
        return "read"

    assert getter(server, time).fetch({}, read=read) == "read"
    server.files[PATH] = b"nonsense"
    with pytest.raises(UnavailableError, match="answered nonsense; asked 4 times"):
        getter(server, time).fetch({}, read=read)


def test_a_body_that_is_too_large_is_left_unread_and_not_asked_for_again(
    server: FileServer, time: Timekeeper
) -> None:
    for packed in (b"x" * 2_000, gzip.compress(b"x" * 2_000)):
        coding = {"Content-Encoding": "gzip"} if packed.startswith(b"\x1f") else {}
        server.requests.clear()
        server.replies[PATH] = [
            lambda handler, body=packed, more=coding: handler.send(200, body, more)
        ]
        with pytest.raises(UnavailableError, match="answered more than 1,000 bytes"):
            getter(server, time, pace={"max_bytes": 1_000}).fetch({}, read=body_of)
        assert len(server.requests) == 1


def test_a_body_that_trickles_ends_when_its_time_is_over(
    server: FileServer, time: Timekeeper
) -> None:
    """The clock moves on with each block that is read, as if the server took its time over it."""
    moving = Clock(monotonic=lambda: time.sleep(20.0) or time.now_s, sleep=time.sleep)  # type: ignore[func-returns-value]
    server.files[PATH] = b"x" * 1_000_000
    pace = Pace(interval_s=0.0, attempts=1, timeout_s=30.0)
    with pytest.raises(UnavailableError, match="did not answer in time"):
        PoliteGetter(base_url=f"{server.url}{PATH}", pace=pace, clock=moving).fetch(
            {}, read=body_of
        )


def test_offline_nothing_is_asked(server: FileServer, time: Timekeeper) -> None:
    with pytest.raises(UnavailableError, match="is not asked: 'offline' is set"):
        getter(server, time, offline=True).fetch({}, read=body_of)
    assert server.requests == []
