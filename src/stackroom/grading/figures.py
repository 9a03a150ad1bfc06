"""Figures of quality with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stackroom.grading.metrics import estimate

DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A mean or share with its 95 % interval, and one value for each question where these are kept."""

    mean: float
    low: float
    high: float
    lower_is_better: bool = False
    values: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def build_figure(values: Sequence[float], *, lower_is_better: bool = False) -> Figure:
    """Return the mean of the questions' values with its bootstrap interval."""
    found = estimate(values)
    rounded = tuple(round(float(value), DIGITS) for value in values)
    return Figure(
        mean=found.mean, low=found.low, high=found.high, lower_is_better=lower_is_better, values=rounded
    )  # fmt: skip


def as_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON has it, without what is not there."""
    kept: dict[str, Any] = {name: round(getattr(figure, name), DIGITS) for name in ("mean", "low", "high")}
    if figure.lower_is_better:
        kept["lower_is_better"] = True
    if figure.values:
        kept["values"] = [int(value) if value in (0, 1) else value for value in figure.values]
    return kept
