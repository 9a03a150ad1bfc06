"""Following the library while a server runs: catalogues that are added, replaced or removed, and files that vanish.

A catalogue whose folder is gone leaves the lists. It stays a condition of the server for a while, since nobody can
tell a folder that was removed from a disk that went away; one that the command line names stays one for good. Where
the whole library is gone, the lists stay as they are, and every catalogue fails until it is back.
"""

import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from stackroom.errors import BusyError
from stackroom.library import Installed, Library

logger = logging.getLogger(__name__)

LOOKS_BETWEEN_TRIES = 10
"""A catalogue that could not be opened is tried again after so many looks at the library."""
GONE_S = 600.0
"""A catalogue whose folder is gone for so long is taken for removed."""


@dataclass(slots=True, kw_only=True)
class FollowedLibrary:
    """The catalogues that are served: the named ones, or all that are installed."""

    library: Library
    served: dict[str, Installed]
    unserved: dict[str, str]
    """Catalogue → why it is not served."""
    only: Sequence[str]
    """The catalogues to serve; none means all."""
    reopen: Callable[[Installed], str | None]
    """Opens a catalogue that is new or was replaced, and returns why that fails; BusyError: later, it is written."""
    is_other: Callable[[Installed], bool]
    """Tells whether a catalogue that is open was replaced since, or follows another spec."""
    find_store: Callable[[str], Hashable]
    """Returns the identity of the file of a catalogue's records; None where there is none."""
    let_go: Callable[[str], None]
    """Lets go of a catalogue whose files are gone: its reads fail until they are back."""
    forget: Callable[[str], None]
    """Forgets a catalogue that was removed."""
    monotonic: Callable[[], float] = time.monotonic
    absent: dict[str, float] = field(default_factory=dict)
    """Catalogue whose folder is gone → since when."""
    _stamps: Mapping[str, Hashable] = field(init=False)
    _looks: int = 0

    def __post_init__(self) -> None:
        self._stamps = self._read_stamps()

    def look(self) -> bool:
        """Follow the library; tell whether other catalogues are served now, or one of them is another."""
        before, self._stamps = self._stamps, self._read_stamps()
        if not self._stamps:
            self._let_all_go()
            return False
        touched = {name for name, stamp in self._stamps.items() if before.get(name) != stamp}
        self._looks += 1
        if self._looks % LOOKS_BETWEEN_TRIES == 0:
            touched |= self.unserved.keys() & self._stamps.keys()
        followed = [self._follow(name) for name in sorted(touched)]
        lost = [self._lose(name) for name in sorted(self.served.keys() - self._stamps.keys())]
        given_up = [self._give_up(name) for name in self._list_removed()]
        return any([*followed, *lost, *given_up])

    def _let_all_go(self) -> None:
        """Let go of every catalogue: the library is gone, or empty."""
        for name in self.served:
            self.let_go(name)

    def _follow(self, name: str) -> bool:
        """Open a catalogue that is new or was touched; tell whether that makes a difference."""
        installed = next((one for one in self.library.list_installed() if one.name == name), None)
        if installed is None:
            return False
        if name in self.served and self.find_store(name) is None:
            self.let_go(name)
            return False
        if name in self.served and not self.is_other(installed):
            return False
        try:
            problem = self.reopen(installed)
        except BusyError:
            self._stamps = {other: stamp for other, stamp in self._stamps.items() if other != name}  # look again
            return False
        if problem is None:
            self.unserved.pop(name, None)
            self.absent.pop(name, None)
            self.served[name] = installed
            logger.info("catalogue '%s' is served from now on", name)
            return True
        if self.unserved.get(name) != problem:
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        self.unserved[name] = problem
        return self.served.pop(name, None) is not None

    def _lose(self, name: str) -> bool:
        """Take a catalogue whose folder is gone out of the lists."""
        del self.served[name]
        self.absent[name] = self.monotonic()
        self.let_go(name)
        logger.warning("catalogue '%s' is not served: its folder is gone", name)
        return True

    def _list_removed(self) -> list[str]:
        """Return the catalogues that are gone for so long that they count as removed."""
        now, removed = self.monotonic(), self.library.removed
        gone = [
            name
            for name, since in self.absent.items()
            if name in removed or (name not in self.only and now - since >= GONE_S)
        ]
        return [*gone, *(name for name in self.unserved if not (self.library.folder / name).is_dir())]

    def _give_up(self, name: str) -> bool:
        self.absent.pop(name, None)
        self.unserved.pop(name, None)
        self.library.removed.discard(name)
        self.forget(name)
        logger.info("catalogue '%s' was removed", name)
        return True

    def _read_stamps(self) -> Mapping[str, Hashable]:
        stamps = self.library.stamps()
        return {
            name: (stamp, self.find_store(name)) for name, stamp in stamps.items() if not self.only or name in self.only
        }
