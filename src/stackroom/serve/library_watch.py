"""Watching the library while a server runs: catalogues that come or go change the lists of every connection."""

import logging

import anyio
import anyio.to_thread

from stackroom.serve.async_gate import AsyncGate
from stackroom.serve.list_changes import ListChanges

logger = logging.getLogger(__name__)

LOOK_S = 0.5
"""The interval at which the library is looked at."""


async def watch_library(gate: AsyncGate, lists: ListChanges) -> None:
    """Follow the library from when the gate is loaded, and tell every connection when its lists change."""
    async with anyio.create_task_group() as telling:
        while True:
            await anyio.sleep(LOOK_S)
            loaded = gate.find_loaded()
            try:
                is_changed = loaded is not None and await anyio.to_thread.run_sync(loaded.refresh)
            except Exception:  # the catalogues that are open go on being served
                logger.exception("the library could not be looked at")
                continue
            if is_changed:
                gate.introductions.forget()
                for tell in lists.tell_all():
                    telling.start_soon(tell)
