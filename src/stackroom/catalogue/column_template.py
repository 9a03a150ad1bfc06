"""Templates of texts that are composed of columns: `"{departure} – {arrival}, {month}"`."""

import re
from collections.abc import Callable, Iterable

from stackroom.frozen import frozen

COLUMN = re.compile(r"\{([^{}]+)\}")
OPENING = re.compile(r"[(\[«“‘„]*$")
CLOSING = re.compile(r"[)\]»”’]*")


@frozen
class ColumnPart:
    """A column in a template, and the text around it."""

    # the text between it and a column before it; omitted where no column before it has a value
    joint: str
    opening: str
    column: str
    closing: str


def parse_column_template(template: str) -> tuple[ColumnPart, ...]:
    """Split `"{title} ({year})"` into its columns, each with the text and brackets around it; empty
    if malformed.
    """
    columns, texts = COLUMN.findall(template), COLUMN.split(template)[::2]
    if not columns or any("{" in text or "}" in text for text in texts):
        return ()
    between = [_cut(text) for text in texts[1:-1]]
    around = [("", "", texts[0]), *between, (texts[-1], "", "")]
    return tuple(
        ColumnPart(joint=joint, opening=opening, column=column, closing=around[place + 1][0])
        for place, (column, (_, joint, opening)) in enumerate(zip(columns, around, strict=False))
    )


def _cut(text: str) -> tuple[str, str, str]:
    """Split the text between two columns into the closing of the first, the joint, and the opening
    of the second.
    """
    closing = CLOSING.match(text)
    rest = text[closing.end() :] if closing else text
    opening = OPENING.search(rest)
    start = opening.start() if opening else len(rest)
    return text[: len(text) - len(rest)], rest[:start], rest[start:]


def compose(parts: Iterable[ColumnPart], text_at: Callable[[str], str]) -> str:
    """Return the text composed of columns; a column whose text is empty is omitted with the text
    around it.
    """
    text = ""
    for part in parts:
        if words := text_at(part.column):
            text += f"{part.joint if text else ''}{part.opening}{words}{part.closing}"
    return text
