"""Following the library while a server runs: catalogues that are added, replaced or removed."""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from pinakes.errors import BusyError
from pinakes.library import Installed, Library

logger = logging.getLogger(__name__)

LOOKS_BETWEEN_TRIES = 10
"""A catalogue that could not be opened is tried again after so many looks at the library."""


@dataclass(slots=True, kw_only=True)
class FollowedLibrary:
    """The catalogues that are served: the named ones, or all that are installed, as far as they can be opened."""

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
    forget: Callable[[str], None]
    """Forgets a catalogue that was removed."""
    _stamps: Mapping[str, Hashable] = field(init=False)
    _looks: int = 0

    def __post_init__(self) -> None:
        self._stamps = self._read_stamps()

    def look(self) -> bool:
        """Follow the library; tell whether other catalogues are served now, or one of them is another."""
        stamps = self._read_stamps()
        touched = {name for name, stamp in stamps.items() if self._stamps.get(name) != stamp}
        gone = self._stamps.keys() - stamps.keys()
        self._stamps = stamps
        self._looks += 1
        if self._looks % LOOKS_BETWEEN_TRIES == 0:
            touched |= self.unserved.keys() & stamps.keys()
        followed = [self._follow(name) for name in sorted(touched)]
        lost = [self._lose(name) for name in gone]
        return any(followed) or any(lost)

    def _follow(self, name: str) -> bool:
        """Open a catalogue that is new or was touched; tell whether that makes a difference."""
        installed = next((one for one in self.library.list_installed() if one.name == name), None)
        if installed is None or (name in self.served and not self.is_other(installed)):
            return False
        try:
            problem = self.reopen(installed)
        except BusyError:
            self._stamps = {other: stamp for other, stamp in self._stamps.items() if other != name}  # look again
            return False
        if problem is None:
            self.unserved.pop(name, None)
            self.served[name] = installed
            logger.info("catalogue '%s' is served from now on", name)
            return True
        if self.unserved.get(name) != problem:
            logger.warning("catalogue '%s' is not served: %s", name, problem)
        self.unserved[name] = problem
        return self.served.pop(name, None) is not None

    def _lose(self, name: str) -> bool:
        self.forget(name)
        self.unserved.pop(name, None)
        logger.info("catalogue '%s' was removed", name)
        return self.served.pop(name, None) is not None

    def _read_stamps(self) -> Mapping[str, Hashable]:
        return {name: stamp for name, stamp in self.library.stamps().items() if not self.only or name in self.only}
