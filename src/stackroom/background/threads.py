"""Threads, timers and pools of threads: the only module that starts one; and a check that may hang,
in a thread.

All are daemons or end with their pool: none keeps the process from ending.
"""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from stackroom.errors import ExpectedError

logger = logging.getLogger(__name__)


def start_thread(name: str, work: Callable[[], object]) -> threading.Thread:
    """Do work in a thread of its own, which does not keep the process from ending."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def start_timer(name: str, after_s: float, work: Callable[[], object]) -> threading.Timer:
    """Do work after a while, unless the timer is cancelled before."""
    timer = threading.Timer(after_s, work)
    timer.name, timer.daemon = name, True
    timer.start()
    return timer


def new_pool(name: str, size: int) -> ThreadPoolExecutor:
    """Return a pool of so many threads, which are started as work comes."""
    return ThreadPoolExecutor(size, name)


def lower_priority() -> None:
    """Run this thread where other work leaves a core idle; only on Linux, where a thread has a
    priority of its own.
    """
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, 0, min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19))


@contextmanager
def hearing_ctrl_c(say: Callable[[], None]) -> Iterator[None]:
    """Call a function at once on Ctrl-C: Python heeds it after the call that runs, as of a model
    for some texts.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, noted = socket.socketpair()
    noted.setblocking(False)
    listener = start_thread(
        "Ctrl-C", lambda: say() if heard.recv(1) == bytes([signal.SIGINT]) else None
    )
    before = signal.set_wakeup_fd(noted.fileno())
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        noted.close()
        listener.join()
        heard.close()


def list_threads() -> list[str]:
    """Return the names of the threads that run now, sorted."""
    return sorted(thread.name for thread in threading.enumerate())


class BoundedCheck:
    """Runs a check that returns a problem, or None where all is well."""

    def __init__(
        self, check: Callable[[], str | None], *, name: str, fresh_s: float = 2.0, wait_s: float = 1
    ) -> None:
        self._check = check
        self._name = name
        self._fresh_s = fresh_s
        self._wait_s = wait_s
        self._guard = threading.Lock()
        self._problem: str | None = None
        self._ended_at: float | None = None
        self._running: threading.Thread | None = None
        self._began_at = 0.0

    def find_problem(self) -> str | None:
        """Return the problem that the last check found; run another where that is some time ago."""
        with self._guard:
            is_fresh = (
                self._ended_at is not None and time.monotonic() - self._ended_at < self._fresh_s
            )
            running = self._running if is_fresh else self._begin()
        if is_fresh or running is None:
            return self._problem
        running.join(self._wait_s)
        if running.is_alive():
            return (
                f"the {self._name} has not answered for"
                f" {max(1, round(time.monotonic() - self._began_at))} s"
            )
        return self._problem

    def forget(self) -> None:
        """Run another check at the next question, however fresh the last one is."""
        self._ended_at = None

    def _begin(self) -> threading.Thread:
        """Return the thread of the check that runs, or of a new one."""
        if self._running is None or not self._running.is_alive():
            self._began_at = time.monotonic()
            self._running = start_thread(f"check of the {self._name}", self._run)
        return self._running

    def _run(self) -> None:
        try:
            problem = self._check()
        except ExpectedError as error:
            problem = error.full_message
        except Exception as error:
            logger.exception("the %s could not be checked", self._name)
            problem = f"the check failed: {type(error).__name__}"
        self._problem, self._ended_at = problem, time.monotonic()
