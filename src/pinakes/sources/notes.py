"""The decisions that a source made while it was read, as sentences for people."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Tally:
    """How often something was decided, and where first."""

    say: Callable[[int, str], str]
    first: str
    count: int = 0


class ReadingNotes:
    """Collects decisions; reading again starts anew."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._tallies: dict[str, _Tally] = {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The notes, in the order in which they were first needed."""
        return (*self._said, *(tally.say(tally.count, tally.first) for tally in self._tallies.values()))

    def clear(self) -> None:
        """Forget all notes."""
        self._said.clear()
        self._tallies.clear()

    def add(self, text: str) -> None:
        """Note a decision once."""
        self._said[text] = None

    def count(self, key: str, place: str, say: Callable[[int, str], str]) -> None:
        """Count a decision that may be made for many rows; `say` makes the note of the number and the first place."""
        self._tallies.setdefault(key, _Tally(say=say, first=place)).count += 1
