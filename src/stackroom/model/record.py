"""A record: one thing in a catalogue, with its id, kind and named values; and a flag on a text of
it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, NewType

from stackroom.frozen import frozen

# a record's name, chosen by its source; the same on every shelf
RecordId = NewType("RecordId", str)

# a record's handle on one shelf: stable while the record lives, meaningless elsewhere
Key = NewType("Key", int)


class Tag(NamedTuple):
    """A value of a `tag[]` field, and its category."""

    category: str
    value: str


Value = Any
"""A field's value: str, int, float, None, tuple of str, tuple of Tag, or JSON (dict, list) for
`json` fields.
"""

DEFAULT_KIND = "record"


@frozen
class Record:
    """One thing in a catalogue. Without `audiences` it is public."""

    id: RecordId
    fields: Mapping[str, Value]
    kind: str = DEFAULT_KIND
    audiences: tuple[str, ...] = ()

    def get(self, field: str) -> Value:
        """Return the field's value, or None where the record has none."""
        return self.fields.get(field)


@frozen
class Flag:
    """A span of a text in an answer: the path of the text, the span in characters, and its kind."""

    path: str
    start: int
    end: int
    kind: str

    def plain(self) -> dict[str, Any]:
        """Return the flag as JSON values."""
        return {"path": self.path, "start": self.start, "end": self.end, "kind": self.kind}
