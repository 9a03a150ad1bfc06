"""Threads that the gate's work is done in."""

import threading
from functools import partial

import anyio
import anyio.to_thread

from stackroom.serve.async_gate import WAITING_THREADS, Workers


def test_what_only_waits_is_not_bounded_by_the_threads_that_work_and_keeps_none_of_them() -> None:
    anyio.run(wait_and_work)


async def wait_and_work() -> None:
    workers = Workers(threads=1)
    all_wait = threading.Barrier(WAITING_THREADS + 1)
    async with anyio.create_task_group() as tasks:
        for _ in range(WAITING_THREADS):
            tasks.start_soon(partial(workers.run, lambda: all_wait.wait(10), of="ada", waits=True))
        assert await workers.run(lambda: "done", of="ada") == "done"
        await anyio.to_thread.run_sync(all_wait.wait, 10)
    assert workers.in_flight == 0
