"""The scope of a read: conditions on fields, and the caller's visibility.

Conditions are a small closed language that every shelf translates for itself. A scope is a
conjunction: a record is in scope when it meets every condition and the caller may see it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from stackroom.frozen import frozen

KIND_FIELD = "_kind"
AUDIENCE_FIELD = "_audience"
WORDS_FIELD = "_words"
"""A reserved field: the tokens of all searched text. Its values in conditions are tokens, as
`text.analyser` gives.
"""
# a reserved field: the key of a record. Its values in conditions are keys in digits.
KEY_FIELD = "_key"
KNOWN_FIELD = "_known"  # a reserved number column: how much is known of a record, 0–1
PUBLIC = "*"  # the audience of a public record, which names none


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field has at least one of these values. Text and tags compare without regard to case."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """The field has every one of these values."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The field has none of these values; a record without the field passes."""

    field: str
    values: tuple[str, ...]


TIMES = " × "  # between the fields of a product, as in `episodes × duration`


@dataclass(frozen=True, slots=True)
class Range:
    """The field's number lies between the bounds, both included; a record without the number does
    not pass.

    The field may be a product of several, except where a search by words is limited.
    """

    field: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def fields(self) -> list[str]:
        """The fields whose product is limited: usually one."""
        return self.field.split(TIMES)


Condition = AnyOf | AllOf | NoneOf | Range


@dataclass(frozen=True, slots=True)
class Visibility:
    """The caller's visibility: public records, and those for these audiences. None sees
    everything.
    """

    audiences: frozenset[str] | None = None
    only: frozenset[str] | None = None  # the only catalogues that they may see; None: no limit
    hidden: frozenset[str] = frozenset()  # the catalogues that they may not see

    def sees_catalogue(self, name: str) -> bool:
        """Tell whether the caller may see a catalogue."""
        return name not in self.hidden and (self.only is None or name in self.only)

    def condition(self) -> AnyOf | None:
        """Return the condition that excludes invisible records, or None where all are visible."""
        if self.audiences is None:
            return None
        return AnyOf(AUDIENCE_FIELD, (PUBLIC, *sorted(self.audiences)))

    def sees(self, audiences: Iterable[str]) -> bool:
        """Tell whether the caller may see a record for these audiences (none: public)."""
        wanted = set(audiences)
        return (
            self.audiences is None or not wanted or not wanted.isdisjoint({PUBLIC, *self.audiences})
        )


SEES_EVERYTHING = Visibility(None)
SEES_PUBLIC = Visibility(frozenset())


@frozen
class Scope:
    """The part of a catalogue that a read is about. There is no read without one."""

    conditions: tuple[Condition, ...] = ()
    visibility: Visibility = field(default=SEES_EVERYTHING)

    def all_conditions(self) -> tuple[Condition, ...]:
        """Return the conditions, with the visibility as one of them."""
        hidden = self.visibility.condition()
        return self.conditions if hidden is None else (*self.conditions, hidden)

    def narrowed(self, *conditions: Condition) -> "Scope":
        """Return this scope with further conditions."""
        return Scope(conditions=(*self.conditions, *conditions), visibility=self.visibility)


WHOLE = Scope()  # the whole catalogue, as the local user sees it
