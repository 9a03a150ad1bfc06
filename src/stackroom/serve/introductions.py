"""The instructions that clients get when they connect: kept for a while, so that connecting waits for no worker."""

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import anyio
import anyio.to_thread

from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.model.principal import Principal
from stackroom.tools.instructions import GENERAL
from stackroom.tools.plain_names import with_plain_names

logger = logging.getLogger(__name__)

KEPT_S = 60.0
MOST_KEPT = 256
WAIT_S = 2.0
"""How long a client that connects is kept waiting for the catalogues, to be told about them."""
THREADS = 4


@dataclass(frozen=True, slots=True)
class _Kept:
    """Instructions, and until when they are used."""

    text: str
    until: float


class Introductions:
    """The instructions of callers; those with the same rights share them."""

    def __init__(self, gate: Callable[[], Gate], *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`gate` returns the gate, and blocks while it loads."""
        self._gate = gate
        self._monotonic = monotonic
        self._kept: dict[Hashable, _Kept] = {}
        self._limiter: anyio.CapacityLimiter | None = None

    async def text_for(self, principal: Principal, *, is_plain: bool) -> str:
        """Return a caller's instructions; general ones where the catalogues take long to load, or cannot be."""
        key = (principal.visibility, principal.actions, is_plain)
        kept = self._kept.get(key)
        if kept is not None and self._monotonic() < kept.until:
            return kept.text
        with anyio.move_on_after(WAIT_S):
            text = await self._make(principal, is_plain=is_plain)
            if text is not None:
                self._keep(key, text)
                return text
        return GENERAL

    def forget(self) -> None:
        """Forget every text: there are other catalogues now."""
        self._kept.clear()

    async def _make(self, principal: Principal, *, is_plain: bool) -> str | None:
        self._limiter = self._limiter or anyio.CapacityLimiter(THREADS)

        def make() -> str:
            guide = self._gate().guide
            text = guide.instructions(principal)
            return with_plain_names(text, guide.plain_names(principal)) if is_plain else text

        try:
            return await anyio.to_thread.run_sync(make, abandon_on_cancel=True, limiter=self._limiter)
        except ExpectedError:  # the catalogues could not be loaded, which is reported elsewhere
            return None
        except Exception:
            logger.exception("instructions could not be made")
            return None

    def _keep(self, key: Hashable, text: str) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = _Kept(text, self._monotonic() + KEPT_S)
