"""What a part of the load benchmark gives back: figures, and checks against what was promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A promise, what was measured, and whether it held."""

    promise: str
    measured: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The figures of one part, row by row, and its checks."""

    title: str
    rows: Sequence[Mapping[str, Any]]
    checks: Sequence[Check]

    def as_text(self) -> str:
        """Return the part as a table and a line a check."""
        lines = [self.title, *_table(self.rows)]
        lines += [
            f"  {'ok   ' if check.holds else 'FAILS'} {check.promise}: {check.measured}"
            for check in self.checks
        ]
        return "\n".join(lines)


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_cell(row.get(name, "")) for name in names] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    return [
        "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.3g}" if abs(value) < 10 else f"{value:,.1f}"
