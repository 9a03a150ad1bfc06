"""Threads, timers and pools of threads: the only module that starts one.

All are daemons or end with their pool: none keeps the process from ending.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


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


def list_threads() -> list[str]:
    """Return the names of the threads that run now, sorted."""
    return sorted(thread.name for thread in threading.enumerate())
