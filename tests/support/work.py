"""Work, counted: how much an action does is the same on every machine, how long it takes is not."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_calls(action: Callable[[], object]) -> int:
    """Return how many functions an action calls in this thread, those of Python and those in C."""
    calls = 0

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(former)
    return calls
