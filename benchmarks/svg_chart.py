"""Line charts as SVG, both axes logarithmic, without a plotting library."""

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 595, 40, 320
COLOURS = ("#1b6ca8", "#7fb3d5", "#b03a2e", "#e59866", "#1e8449", "#7dcea0")
TEXT = "font-family='sans-serif' font-size='12' fill='#555'"


def line_chart(title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return a chart of named lines, each of points with positive coordinates."""
    lowest, highest = _decades([y for line in lines.values() for _, y in line])
    first, last = _decades([x for line in lines.values() for x, _ in line])

    def place(x: float, y: float) -> tuple[float, float]:
        along = (math.log10(x) - first) / (last - first)
        up = (math.log10(y) - lowest) / (highest - lowest)
        return LEFT + along * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    parts = [
        f"<text x='{LEFT}' y='20' {TEXT} font-weight='bold'>{escape(title)}, by records</text>"
    ]
    for power in range(first, last + 1):
        x, _ = place(10**power, 10**lowest)
        parts.append(f"<line x1='{x:.0f}' x2='{x:.0f}' y1='{TOP}' y2='{BOTTOM}' stroke='#ddd'/>")
        parts.append(
            f"<text x='{x:.0f}' y='{BOTTOM + 18}' {TEXT} text-anchor='middle'>{10**power:,}</text>"
        )
    for power in range(lowest, highest + 1):
        _, y = place(10**first, 10**power)
        parts.append(f"<line x1='{LEFT}' x2='{RIGHT}' y1='{y:.0f}' y2='{y:.0f}' stroke='#ddd'/>")
        parts.append(
            f"<text x='{LEFT - 8}' y='{y + 4:.0f}' {TEXT} text-anchor='end'>{10**power:,}</text>"
        )
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [place(x, y) for x, y in line]
        parts.append(
            f"<polyline points='{_joined(points)}' fill='none' stroke='{colour}' stroke-width='2'/>"
        )
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/>" for x, y in points]
        parts.append(
            f"<rect x='{LEFT + 8}' y='{TOP + 6 + 16 * number}' width='10' height='10'"
            f" fill='{colour}'/>"
        )
        parts.append(
            f"<text x='{LEFT + 24}' y='{TOP + 15 + 16 * number}' {TEXT}>{escape(name)}</text>"
        )
    inside = "\n".join(parts)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH}"
        f" {HEIGHT}'>\n{inside}\n</svg>\n"
    )


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten that enclose the values, at least one apart."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
