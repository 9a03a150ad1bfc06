"""Reads that fail in storage are tried again, after short pauses."""

import time
from collections.abc import Callable
from typing import TypeVar

from stackroom.errors import StorageError
from stackroom.shelf.watched import FailingCatalogueError

PAUSES_S = (0.05, 0.2)
"""Pauses between the attempts of a read that fails in storage."""

ResultT = TypeVar("ResultT")


def with_retries(work: Callable[[], ResultT]) -> ResultT:
    """Run a read, and retry it after each pause where storage fails, unless it is known that it would fail again."""
    for pause_s in PAUSES_S:
        try:
            return work()
        except StorageError as error:
            if isinstance(error, FailingCatalogueError) and error.retry_in_s > pause_s:
                raise  # it would fail again
            time.sleep(pause_s)
    return work()
