"""How often somebody may call: so many in any minute, over all connections and transports of this process.

A moving window: a call is taken when fewer than the limit were taken in the minute before it. The times are kept, not
counts, so exactly the limit is taken however calls are spread, and when the next is free is known to the moment.
"""

import ipaddress
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from pinakes.errors import RateLimitedError
from pinakes.model.principal import Cost, Principal

WINDOW_S = 60.0
MOST_KEYS = 100_000
LOGINS_BY_NAME = 10
LOGINS_BY_ADDRESS = 30
IPV6_HOST_BITS = 64


class MovingWindow:
    """The times of what was taken in the last minute, for each key. Safe to use from several threads."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic, most_keys: int = MOST_KEYS) -> None:
        self._monotonic = monotonic
        self._most_keys = most_keys
        self._guard = threading.Lock()
        self._taken: OrderedDict[str, deque[float]] = OrderedDict()

    def take(self, key: str, limit: int) -> float | None:
        """Take one, and return None; where the limit is reached, return after how many seconds one is free."""
        with self._guard:
            now = self._monotonic()
            self._make_room(key, now)
            times = self._taken.setdefault(key, deque())
            self._taken.move_to_end(key)
            while times and times[0] <= now - WINDOW_S:
                times.popleft()
            if len(times) < limit:
                times.append(now)
                return None
            # More than the limit may be there, where it was lowered: the one whose end makes room is not the first.
            return times[len(times) - limit] + WINDOW_S - now if limit else WINDOW_S

    def _make_room(self, key: str, now: float) -> None:
        """Forget keys that took nothing for a minute; for a new one, where there are too many, the longest idle."""
        is_full = key not in self._taken and len(self._taken) >= self._most_keys
        while self._taken:
            longest_idle, times = next(iter(self._taken.items()))
            is_idle = not times or times[-1] <= now - WINDOW_S
            if not is_idle and not is_full:
                return
            del self._taken[longest_idle]
            is_full = False


class RateLimiter:
    """The limits of everybody's calls."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._window = MovingWindow(monotonic=monotonic)

    def require(self, principal: Principal, cost: Cost) -> None:
        """Count a call, or refuse it where its caller has had as many as they may."""
        if principal.quotas is None:
            return
        limit = principal.quotas.of(cost)
        wait_s = self._window.take(f"{cost} {principal.name}", limit)
        if wait_s is not None:
            raise _refusal(f"you have {limit or 'no'} {cost} calls a minute", wait_s)


class LoginLimiter:
    """The limits of attempts to log in."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._window = MovingWindow(monotonic=monotonic)

    def require(self, name: str, address: str) -> None:
        """Count an attempt to log in as somebody from somewhere, or refuse it where there were too many."""
        wait_s = self._window.take(f"from {_network(address)}", LOGINS_BY_ADDRESS)
        if wait_s is None:
            wait_s = self._window.take(f"as {name.lower()[:100]}", LOGINS_BY_NAME)
        if wait_s is not None:
            raise _refusal("too many attempts to log in", wait_s)


def _refusal(what: str, wait_s: float) -> RateLimitedError:
    seconds = max(math.ceil(wait_s), 1)
    return RateLimitedError(f"{what}; try again in {seconds} s", retry_after_s=float(seconds))


def _network(address: str) -> str:
    """Return what counts as one address: of IPv6 the network, whose hosts are all one household's."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:  # IPv4, as a socket for both shows it
        return str(parsed.ipv4_mapped)
    return str(int(parsed) >> IPV6_HOST_BITS)
