"""A small cache of finished maps: labels, colours and lists of ids take half a second of a core for 20,000 records."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

MOST_KEPT = 6

Finished = Mapping[str, Any]


class FinishedMaps:
    """An LRU cache of finished forms of one map, by what they follow from beside it. Thread-safe."""

    def __init__(self, size: int = MOST_KEPT) -> None:
        self._size = size
        self._kept: OrderedDict[Hashable, Finished] = OrderedDict()
        self._guard = threading.Lock()

    def find_or_make(self, key: Hashable, make: Callable[[], Finished]) -> Finished:
        """Return the form of this key, made where it is not kept; two callers at once may both make it."""
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._guard:
            self._kept[key] = made
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return made
