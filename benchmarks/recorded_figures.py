"""Figures of quality as they are recorded, and when one has fallen beyond noise."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stackroom.grading.metrics import Figure, build_figure, figure_json

SMALLEST_FALL = 0.005
"""A smaller difference is never a fall: another processor's rounding can make it."""


def flatten(measured: Mapping[str, Any], *, under: str = "") -> dict[str, Figure]:
    """Return every figure of nested results by its path; what is no figure (a count, a note) is
    left out.

    A figure is a `Figure`, a mapping with `mean`, `low` and `high`, or a list of those three.
    """
    found: dict[str, Figure] = {}
    for name, value in measured.items():
        path = f"{under} / {name}" if under else str(name)
        figure = _figure_of(value)
        if figure:
            found[path] = figure
        elif isinstance(value, Mapping):
            found.update(flatten(value, under=path))
    return found


def find_falls(recorded: Mapping[str, Figure], now: Mapping[str, Figure]) -> Iterator[str]:
    """Yield a line for each recorded figure that has fallen beyond noise, or that is gone."""
    for name, before in recorded.items():
        if name not in now:
            yield f"{name}: recorded {before}, not measured any more"
        elif has_fallen(before, now[name]):
            yield f"{name}: {now[name]}, recorded {before}"


def has_fallen(before: Figure, now: Figure) -> bool:
    """Tell whether a figure is worse than the recorded one beyond noise.

    Where both have a value for each question, the differences are resampled: a fall is one whose 95
    % interval has no gain in it. Otherwise the mean has to be outside of the recorded interval.
    """
    worse = -1 if before.lower_is_better else 1
    if worse * (now.mean - before.mean) > -SMALLEST_FALL:
        return False
    if before.values and len(before.values) == len(now.values):
        changes = [worse * (new - old) for old, new in zip(before.values, now.values, strict=True)]
        return build_figure(changes).high < 0
    return now.mean > before.high if before.lower_is_better else now.mean < before.low


def load_recorded(path: Path) -> dict[str, Figure]:
    """Read the recorded figures; none where there is no file yet."""
    if not path.is_file():
        return {}
    return {
        name: Figure(**{**value, "values": tuple(value.get("values", ()))})
        for name, value in json.loads(path.read_text(encoding="utf-8")).items()
    }


def save_recorded(figures: Mapping[str, Figure], path: Path) -> None:
    """Write figures, one a line and in order of their names."""
    lines = [
        f" {json.dumps(name)}: {json.dumps(as_json(figures[name]))}" for name in sorted(figures)
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def as_json(figure: Figure) -> dict[str, Any]:
    """Return a figure as JSON has it, without what is not there."""
    kept: dict[str, Any] = {**figure_json(figure)}
    if figure.lower_is_better:
        kept["lower_is_better"] = True
    if figure.values:
        kept["values"] = [int(value) if value in (0, 1) else value for value in figure.values]
    return kept


def _figure_of(value: Any) -> Figure | None:
    if isinstance(value, Figure):
        return value
    if isinstance(value, Mapping) and {"mean", "low", "high"} <= value.keys():
        return Figure(mean=value["mean"], low=value["low"], high=value["high"])
    is_triple = isinstance(value, list | tuple) and len(value) == 3
    if is_triple and all(isinstance(one, int | float) for one in value):
        return Figure(mean=value[0], low=value[1], high=value[2])
    return None
