"""The hash chain of the audit: each row's hash covers the row and the hash before it, so any change is detected.

Nothing here writes. A person who can write the database could build a whole new chain; that is detected by a head that
was kept elsewhere (`expect`).

Rows may be pruned from the beginning. The chain then begins at its anchor, the last row that was pruned, and a later
row of the chain records it: rows that were removed without such a row are detected.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stackroom.control.database.tables import FIRST_HASH
from stackroom.errors import InputError

HASHED_COLUMNS = (
    "number",
    "at",
    "call_id",
    "principal",
    "via",
    "operation",
    "target",
    "parameters",
    "outcome",
    "error_code",
    "duration_us",
    "result_bytes",
    "result_digest",
)
"""Every column but the hash itself, in the order in which they are hashed."""
OPERATION, TARGET = HASHED_COLUMNS.index("operation"), HASHED_COLUMNS.index("target")
MOST_DIGITS = 18
_CANONICAL = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=repr)
PRUNING = "audit/prune"
"""The operation of a row that records a pruning; its target is the head of the last row that was pruned."""

__all__ = ["FIRST_HASH", "HASHED_COLUMNS", "PRUNING", "AuditReport", "ChainCheck", "Head", "hash_of", "parse_head"]


@dataclass(frozen=True, slots=True)
class Head:
    """The number and the hash of a row, such as the last."""

    number: int
    hash: str

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The result of checking the audit."""

    rows: int
    first_problem: str | None
    """The first row that is not as it was written, and why; None if all are."""
    head: str
    """`NUMBER:HASH` of the last row; kept elsewhere, it later proves that nothing before it was rewritten."""
    pruned: int = 0
    """How many older rows were pruned; they are not counted in `rows`."""


def hash_of(previous: str, values: Sequence[Any]) -> str:
    """Return the hash of a row with these values in the order of `HASHED_COLUMNS`, after a row with that hash."""
    canonical = _CANONICAL.encode(list(values))
    return hashlib.sha256(f"{previous}{canonical}".encode("ascii")).hexdigest()


def parse_head(text: str, *, name: str = "expect") -> Head:
    """Parse a head of the form `NUMBER:HASH`."""
    number, _, digest = text.strip().partition(":")
    is_number = number.isdecimal() and len(number) <= MOST_DIGITS
    if not is_number or len(digest) != len(FIRST_HASH):
        raise InputError(f"'{name}' must be NUMBER:HASH as an earlier check printed it, not {text[:100]!r}")
    return Head(int(number), digest.lower())


BEGINNING = Head(0, FIRST_HASH)


class ChainCheck:
    """Follows the chain from its first row, or from the row after its anchor, as rows are given to it."""

    def __init__(self, *, expect: Head | None, anchor: Head = BEGINNING, is_part: bool = False) -> None:
        """`is_part`: the rows up to `anchor` were checked before, or are known to be pruned."""
        self.problem: str | None = None
        self.last = anchor
        self.is_part = is_part
        self._anchor = anchor
        self._is_anchor_noted = is_part or anchor == BEGINNING
        self._expect = expect

    @property
    def rows(self) -> int:
        """How many rows are as they were written."""
        return self.last.number - self._anchor.number

    def follow(self, rows: Iterable[Sequence[Any]]) -> None:
        """Check further rows, each the values of `HASHED_COLUMNS` and then the hash; stop at the first problem."""
        for *values, digest in rows:
            self.problem = self._problem_with(values, digest)
            if self.problem is not None:
                return
            self.last = Head(values[0], digest)
            if values[OPERATION] == PRUNING and values[TARGET] == str(self._anchor):
                self._is_anchor_noted = True

    def end(self, head: Head | None) -> str | None:
        """Compare the last row with the head and with the expected one, and return the first problem, or None."""
        return self.problem or self._problem_with_end(head) or self._problem_with_beginning()

    def _problem_with_end(self, head: Head | None) -> str | None:
        last = self.last.number
        if head is None:
            return "the head of the audit is missing"
        written = max(head.number, 0 if self._expect is None else self._expect.number)
        if last < written:
            return f"row {last + 1} is missing: {written} rows were written"
        if last > head.number:
            return f"row {head.number + 1} was not written by Stackroom, which wrote {head.number}"
        if self.last.hash != head.hash:
            return f"row {last} is not the one that was written last"
        return None

    def _problem_with_beginning(self) -> str | None:
        pruned = self._anchor.number
        if not self._is_anchor_noted:
            return f"rows up to {pruned} are missing, and no row says that they were pruned"
        if self._expect is None or self._expect.number > pruned or self._expect == self._anchor:
            return None
        if self._expect.number == pruned:
            return f"row {pruned} does not have the expected hash: rows up to it were rewritten"
        return f"row {self._expect.number}, which is expected, was pruned with all rows up to {pruned}"

    def _problem_with(self, values: Sequence[Any], digest: str) -> str | None:
        number, wanted = values[0], self.last.number + 1
        if number != wanted:
            is_late = isinstance(number, int) and number > wanted
            return f"row {wanted} is missing" if is_late else f"row {number} was not written by Stackroom"
        if hash_of(self.last.hash, values) != digest:
            return f"row {number} is not as it was written, or the row before it is not"
        if self._expect is not None and self._expect.number == number and self._expect.hash != digest:
            return f"row {number} does not have the expected hash: rows up to it were rewritten"
        return None
