"""Rate limits: calls per minute of a user, over all connections and transports, and all servers of
one PostgreSQL.

A sliding window: a call is accepted if fewer than the limit were accepted in the minute before it.
The times are kept, not counts, so exactly the limit is accepted however calls are spread, and the
time of the next one is known.
"""

import ipaddress
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress

from stackroom.control.database import DatabaseAwayError
from stackroom.control.database.engine import ControlDatabase
from stackroom.errors import RateLimitedError
from stackroom.model.principal import Cost, Principal

WINDOW_S = 60.0
MOST_KEYS = 100_000
LOGINS_BY_NAME = 10
LOGINS_BY_ADDRESS = 30
MOST_KNOWN = 10_000  # how many networks of users are remembered
IPV6_HOST_BITS = 64


class MovingWindow:
    """The times of the calls accepted in the last minute, for each key. Safe to use from several
    threads.

    With `shared`, all servers of a PostgreSQL count together; while it cannot be reached, each
    counts for itself.
    """

    def __init__(
        self,
        shared: Callable[[str, int], float | None] | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.waits = shared is not None
        """Whether `take` may wait for another process."""
        self._shared = shared
        self._monotonic = monotonic
        self._guard = threading.Lock()
        self._taken: OrderedDict[str, deque[float]] = OrderedDict()

    def take(self, key: str, limit: int) -> float | None:
        """Count a call and return None; if the limit is reached, return in how many seconds the
        next is accepted.
        """
        if self._shared is not None:
            with suppress(DatabaseAwayError):
                return self._shared(key, limit)
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
            # The limit may have been lowered since: then the first to expire does not make room
            # yet.
            return times[len(times) - limit] + WINDOW_S - now if limit else WINDOW_S

    def _make_room(self, key: str, now: float) -> None:
        """Evict keys that were idle for a minute, and the longest idle one if there are too
        many.
        """
        is_full = key not in self._taken and len(self._taken) >= MOST_KEYS
        while self._taken:
            longest_idle, times = next(iter(self._taken.items()))
            is_idle = not times or times[-1] <= now - WINDOW_S
            if not is_idle and not is_full:
                return
            del self._taken[longest_idle]
            is_full = False


def open_window(database: ControlDatabase) -> MovingWindow:
    """Return the window of calls, counted over all servers that share a database."""
    if database.round_trips is None:
        return MovingWindow()
    database.create_missing(database.round_trips.tables)
    return MovingWindow(database.round_trips.take)


class RateLimiter:
    """The rate limits of calls."""

    def __init__(self, window: MovingWindow | None = None) -> None:
        self._window = window or MovingWindow()
        self.waits = self._window.waits

    def require(self, principal: Principal, cost: Cost) -> None:
        """Count a call; raise RateLimitedError if its caller is over the limit."""
        if principal.quotas is None:
            return
        limit = principal.quotas.of(cost)
        wait_s = self._window.take(f"{cost} {principal.name}", limit)
        if wait_s is not None:
            raise _refusal(f"you have {limit or 'no'} {cost} calls a minute", wait_s)


class LoginLimiter:
    """The rate limits of login attempts.

    Attempts from a network where the user has logged in before are counted apart, so that guesses
    from elsewhere do not keep them out. Such networks are remembered by this process only.
    """

    def __init__(self, window: MovingWindow | None = None) -> None:
        self._window = window or MovingWindow()
        self._guard = threading.Lock()
        self._known: OrderedDict[str, None] = OrderedDict()
        """Users with a network of theirs, the one used last at the end."""

    def require(self, name: str, address: str) -> None:
        """Count a login attempt by its user name and address; raise RateLimitedError if there were
        too many.
        """
        wait_s = self._window.take(f"from {_network(address)}", LOGINS_BY_ADDRESS)
        if wait_s is None:
            known = _known_key(name, address)
            with self._guard:
                key = known if known in self._known else f"as {name.lower()[:100]}"
            wait_s = self._window.take(key, LOGINS_BY_NAME)
        if wait_s is not None:
            raise _refusal("too many attempts to log in", wait_s)

    def note_success(self, name: str, address: str) -> None:
        """Remember that a user has logged in from this network."""
        key = _known_key(name, address)
        with self._guard:
            self._known[key] = None
            self._known.move_to_end(key)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)


def _refusal(what: str, wait_s: float) -> RateLimitedError:
    seconds = max(math.ceil(wait_s), 1)
    return RateLimitedError(f"{what}; try again in {seconds} s", retry_after_s=float(seconds))


def _known_key(name: str, address: str) -> str:
    return f"as {name.lower()[:100]} from {_network(address)}"


def _network(address: str) -> str:
    """Return the key of an address: of IPv6 its /64 network, which belongs to one subscriber."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:  # an IPv4 address on a dual-stack socket
        return str(parsed.ipv4_mapped)
    return str(int(parsed) >> IPV6_HOST_BITS)
