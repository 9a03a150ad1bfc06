"""Edited rows of a table without ids: matched with the records of its former version, so that these keep their ids.

A row is an edit of a record that no other row gives if one value differs, or a fifth of many; half of them may where
the title is the same. The row with most in common comes first, and of rows that are alike the one in the same place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from stackroom.model.record import Record, RecordId

MOST_MATCHED = 10_000
"""How many new rows, and how many former records without a row, are compared."""
MOST_ALIKE = 20
"""A value that more former records have tells none of them."""
FEWEST_EQUAL = 3
"""How many values are equal at least where the title is another."""
PLACE = ""
Values = Mapping[str, str]
"""The values of a record as texts, by field, and the place of its row."""


class PlacedRecord(NamedTuple):
    """A record and the place of its row."""

    record: Record
    place: str

    @property
    def values(self) -> Values:
        """The values of the record, and its place."""
        return {name: repr(value) for name, value in self.record.fields.items()} | {PLACE: self.place}


class _Match(NamedTuple):
    """A new record that may be an edit of a former one; the greatest is the likeliest."""

    equal: int
    is_in_place: bool
    new: RecordId
    former: RecordId


def match_edited(
    new: Sequence[PlacedRecord], former: Sequence[PlacedRecord], *, title: str, is_named: bool
) -> dict[RecordId, RecordId]:
    """Return the ids of new records that are edits, each with the id of the former record.

    `title` is the field of the title, which is the same in both where `is_named` says that ids are made of it.
    """
    matched: dict[RecordId, RecordId] = {}
    taken: set[RecordId] = set()
    for match in sorted(_iter_matches(new, former, title=title, is_named=is_named), reverse=True):
        if match.new not in matched and match.former not in taken:
            matched[match.new] = match.former
            taken.add(match.former)
    return matched


def _iter_matches(
    new: Sequence[PlacedRecord], former: Sequence[PlacedRecord], *, title: str, is_named: bool
) -> Iterator[_Match]:
    """Yield the former records that each new one may be, of those with the same place or a value that few have."""
    known = [one.values for one in former]
    holders: dict[tuple[str, str], list[int]] = {}
    for number, values in enumerate(known):
        for value in values.items():
            holders.setdefault(value, []).append(number)
    for one in new:
        values = one.values
        few = (some for value in values.items() if len(some := holders.get(value, [])) <= MOST_ALIKE)
        for number in {number for some in few for number in some}:
            other = known[number]
            is_in_place, is_same = values[PLACE] == other[PLACE], values.get(title) == other.get(title)
            equal, fields = len(values.items() & other.items()) - is_in_place, len(values.keys() | other.keys()) - 1
            fewest = fields - fields // 2 if is_same else max(FEWEST_EQUAL, fields - max(1, fields // 5))
            if equal >= fewest and (is_same or not is_named):
                yield _Match(equal, is_in_place, one.record.id, former[number].record.id)
