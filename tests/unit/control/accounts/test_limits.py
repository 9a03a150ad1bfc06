"""Limits: exactly as many as are allowed in any minute, whoever asks however."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.control.accounts.limits import LoginLimiter, MovingWindow, RateLimiter
from stackroom.errors import RateLimitedError
from stackroom.model.principal import LOCAL_USER, Cost, Principal, Quotas
from support.control import Clock
from support.work import count_calls

pytestmark = pytest.mark.row("Z12")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> RateLimiter:
    return RateLimiter(MovingWindow(monotonic=clock.monotonic))


@pytest.fixture
def logins(clock: Clock) -> LoginLimiter:
    return LoginLimiter(MovingWindow(monotonic=clock.monotonic))


def principal(name: str = "ada", **quotas: int) -> Principal:
    return Principal(
        name=name, actions=frozenset(), quotas=Quotas(**{"read": 0, "write": 0, "sql": 0, **quotas})
    )


def is_taken(work: Callable[[], None]) -> bool:
    try:
        work()
    except RateLimitedError:
        return False
    return True


def test_as_many_calls_are_taken_as_are_allowed_and_the_next_is_told_when_to_come_back(
    clock: Clock, limiter: RateLimiter
) -> None:
    for _ in range(3):
        limiter.require(principal(read=3), Cost.READ)
        clock.advance(10)
    with pytest.raises(
        RateLimitedError, match="you have 3 read calls a minute; try again in 30 s"
    ) as caught:
        limiter.require(principal(read=3), Cost.READ)
    assert caught.value.retry_after_s == 30
    clock.advance(29.5)
    with pytest.raises(RateLimitedError) as caught:
        limiter.require(principal(read=3), Cost.READ)
    assert caught.value.retry_after_s == 1
    clock.advance(0.5)
    limiter.require(principal(read=3), Cost.READ)
    with pytest.raises(RateLimitedError) as caught:
        limiter.require(principal(read=3), Cost.READ)
    assert caught.value.retry_after_s == 10


def test_whoever_has_no_quotas_is_not_limited_and_whoever_has_none_of_them_always_is(
    limiter: RateLimiter,
) -> None:
    for _ in range(1000):
        limiter.require(LOCAL_USER, Cost.SQL)
    with pytest.raises(RateLimitedError, match="you have no sql calls a minute") as caught:
        limiter.require(principal(sql=0), Cost.SQL)
    assert caught.value.retry_after_s == 60


@pytest.mark.parametrize("limit", [1, 120])
def test_fifty_threads_are_given_exactly_as_many_as_are_allowed(limit: int) -> None:
    limiter = RateLimiter()
    with ThreadPoolExecutor(50) as pool:
        asked = [
            pool.submit(is_taken, lambda: limiter.require(principal(read=limit), Cost.READ))
            for _ in range(1000)
        ]
        assert sum(one.result() for one in asked) == limit


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from([0.0, 0.5, 1.0, 19.0, 20.0, 30.0, 60.0, 61.0])
        ),
        max_size=60,
    ),
    limit=st.integers(0, 4),
)
def test_a_moving_window_takes_what_a_list_of_all_times_would(
    steps: list[tuple[str, float]], limit: int
) -> None:
    clock = Clock()
    window = MovingWindow(monotonic=clock.monotonic)
    taken: dict[str, list[float]] = {"a": [], "b": []}
    for key, seconds in steps:
        clock.advance(seconds)
        recent = [at for at in taken[key] if at > clock.monotonic() - 60]
        wait_s = window.take(key, limit)
        assert (wait_s is None) is (len(recent) < limit)
        if wait_s is None:
            taken[key].append(clock.monotonic())
        elif limit:
            free_at = clock.monotonic() + wait_s
            assert len([at for at in recent if at > free_at - 60]) < limit
            assert len([at for at in recent if at >= free_at - 60]) >= limit


def test_keys_that_are_idle_are_forgotten_and_there_are_never_too_many(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stackroom.control.accounts.limits.MOST_KEYS", 3)
    window = MovingWindow(monotonic=clock.monotonic)
    for number in range(10):
        window.take(str(number), 1)
    assert window.take("9", 1) == 60
    assert len(window._taken) == 3
    clock.advance(60)
    window.take("other", 0)
    assert list(window._taken) == ["other"]
    window.take("new", 1)
    assert list(window._taken) == ["new"]


def test_logins_are_limited_by_name(logins: LoginLimiter) -> None:
    for number in range(10):
        logins.require("Ada" if number % 2 else "ada", f"10.0.0.{number}")
    with pytest.raises(RateLimitedError, match="too many attempts to log in; try again in 60 s"):
        logins.require("ada", "10.0.1.1")
    logins.require("bob", "10.0.1.1")


def test_guesses_from_elsewhere_do_not_keep_a_user_out_of_where_they_log_in(
    logins: LoginLimiter,
) -> None:
    logins.require("ada", "10.0.0.1")
    logins.note_success("ada", "10.0.0.1")
    for number in range(9):
        logins.require("ada", f"10.0.1.{number}")
    with pytest.raises(RateLimitedError):
        logins.require("ada", "10.0.2.1")
    for _ in range(10):
        logins.require("Ada", "10.0.0.1")
    with pytest.raises(RateLimitedError):
        logins.require("ada", "10.0.0.1")
    with pytest.raises(RateLimitedError):
        logins.require("ada", "10.0.2.1")


@pytest.mark.parametrize("address", ["10.0.0.1", "2001:db8::{}", "not an address"])
def test_logins_are_limited_by_address_and_an_ipv6_network_is_one(
    logins: LoginLimiter, address: str
) -> None:
    for number in range(30):
        logins.require(f"user{number}", address.format(number + 1))
    with pytest.raises(RateLimitedError):
        logins.require("somebody", address.format("ffff"))
    logins.require("somebody", "10.9.9.9")


def test_ipv4_addresses_that_a_socket_for_both_shows_are_counted_apart(
    logins: LoginLimiter,
) -> None:
    for number in range(30):
        logins.require(f"user{number}", "::ffff:10.0.0.1")
    with pytest.raises(RateLimitedError):
        logins.require("somebody", "10.0.0.1")
    logins.require("somebody", "::ffff:10.0.0.2")
    logins.require("somebody", "::1")


def test_a_limit_costs_next_to_nothing() -> None:
    limiter = RateLimiter()
    caller = principal(read=1_000_000)
    limiter.require(caller, Cost.READ)
    assert count_calls(lambda: limiter.require(caller, Cost.READ)) < 40
