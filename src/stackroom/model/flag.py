"""A place in an answer whose text reads like an instruction."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A span of a text in an answer: the path of the text, the span in characters, and its kind."""

    path: str
    start: int
    end: int
    kind: str

    def plain(self) -> dict[str, Any]:
        """Return the flag as JSON values."""
        return {"path": self.path, "start": self.start, "end": self.end, "kind": self.kind}
