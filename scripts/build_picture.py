"""Draws `docs/picture.svg`, a terminal with commands of `docs/start.md` and what they print.

The tests run these commands and compare their output with the page, and this picture with the page:
so it shows what the program prints today. `python scripts/build_picture.py` draws it again,
`--check` only says whether it lags.
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "start.md"
TARGET = ROOT / "docs" / "picture.svg"
SHOWN = ("stackroom add", "stackroom search", "stackroom install")
"""Commands of the page that are in the picture, by how they begin."""
WIDTH = 96
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts from the web, which a picture in a page does not load."""


def iter_lines() -> list[str]:
    """Return the lines of the terminal: commands of the page, each with its output."""
    lines: list[str] = []
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            if part.startswith(SHOWN):
                lines += [f"$ {part.rstrip()}".replace("\n\n", "\n"), ""]
    return "\n".join(lines).rstrip().splitlines()


def styled(line: str) -> Text:
    """Return a line in the colours of a terminal: commands bright, names of records bold, fields
    dim.
    """
    if line.startswith("$ "):
        return Text("$ ", style="bold green") + Text(line[2:], style="bold white")
    if found := re.match(r"(\d+\. )(.*?)( \[.*)$", line):
        number, title, rest = found.groups()
        return Text(number) + Text(title, style="bold cyan") + Text(rest, style="dim")
    return Text(line, style="dim" if line.startswith("   vintage") else "")


def draw() -> str:
    """Return the picture."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in iter_lines():
        console.print(styled(line), no_wrap=True, overflow="ellipsis", crop=True)
    drawn = console.export_svg(title="stackroom", theme=MONOKAI, unique_id="stackroom")
    return FONT.sub("", drawn)


def main() -> int:
    """Draw the picture, or with `--check` say whether it lags behind the page."""
    drawn = draw()
    if "--check" in sys.argv[1:]:
        lags = not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != drawn
        if lags:
            print("docs/picture.svg lags; run: make picture", file=sys.stderr)
        return int(lags)
    TARGET.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
