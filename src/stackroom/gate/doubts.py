"""Reads that fail by a bug: where a damaged index is the cause, it is rebuilt, and the read is run again."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from stackroom.errors import ExpectedError
from stackroom.tools.catalogue import OpenCatalogue

PAUSE_S = 30.0
"""How long the outcome of a look for damage holds: a bug that is no damage must not cost a look at every call."""

ResultT = TypeVar("ResultT")

logger = logging.getLogger(__name__)


class Doubts:
    """Looks for damage in catalogues after reads of them have failed by a bug."""

    def __init__(self) -> None:
        self._outcomes: dict[str, tuple[float, bool]] = {}
        """Catalogue → when it was looked at, and whether something was mended."""
        self._guard = threading.Lock()

    def run(self, work: Callable[[], ResultT], list_catalogues: Callable[[], Iterable[OpenCatalogue]]) -> ResultT:
        """Run a read; where it fails by a bug and a catalogue that it may have read was damaged, run it again."""
        try:
            return work()
        except ExpectedError:
            raise
        except Exception:
            mended = [one.name for one in list_catalogues() if self._mend(one)]
            if not mended:
                raise
            logger.warning("a call failed by damage to %s, which is mended; it is run again", mended, exc_info=True)
        return work()

    def _mend(self, catalogue: OpenCatalogue) -> bool:
        with self._guard:
            looked_at, was_mended = self._outcomes.get(catalogue.name, (-PAUSE_S, False))
            if time.monotonic() - looked_at >= PAUSE_S:
                was_mended = bool(catalogue.shelf.mend())
                self._outcomes[catalogue.name] = (time.monotonic(), was_mended)
            return was_mended
