"""Fifty records whose text would run, load or mislead, if a page took it for anything but text."""

import json
from pathlib import Path

CATALOGUE = "traps"
ELSEWHERE = "http://192.0.2.1"
"""An address that nobody has (RFC 5737): whatever asks for it is noticed."""
DONE = "window.trapped=true"
_KEPT = json.loads(
    (Path(__file__).parent.parent / "web" / "traps.json").read_text(encoding="utf-8")
)
MARKUP: list[str] = _KEPT["markup"]
TEXTS: list[str] = [*MARKUP, *_KEPT["others"]]
"""Markup, hidden and reversed letters, and instructions."""


def write_traps(folder: Path) -> Path:
    """Write the records as a table; every field has the text in it."""
    path = folder / "traps.jsonl"
    rows = [
        {
            "id": f"trap-{number:02}",
            "title": f"Trap {number:02} {text}",
            "genre": f"genre {number % 7} {text}"[:80],
            "tags": [text[:60], "trap"],
            "year": 1970 + number,
            "url": f"javascript:{DONE}" if number % 2 else f"{ELSEWHERE}/{number}",
            "description": f"What is in it: {text} And it goes on for a while after that.",
        }
        for number, text in enumerate(TEXTS)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path
