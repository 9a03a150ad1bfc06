"""Records as commands print them: a block of lines for each, within the width and in colour on a terminal.

In a pipe or a file there is no colour, and no line is folded. The first line of a block has the record's place, title,
id and label, the next one its telling fields with their names, and the last one the beginning of its body text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from stackroom.cli.safe_streams import terminal_stream
from stackroom.text.safe import safe_line
from stackroom.tools.generic.shapes import ShownRecord
from stackroom.tools.record_text import BETWEEN_FIELDS

INDENT = "   "
NARROWEST = 40
"""The width from which a terminal is wide enough to fold lines to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBlock:
    """A record to print."""

    title: str
    address: str
    label: str
    fields: str
    """Its telling fields with their names, on one line."""
    names: tuple[str, ...]
    body: str


def block_of(shown: ShownRecord, *, label: str, with_catalogue: bool) -> RecordBlock:
    """Return the block of a record; its address may name the catalogue."""
    first, _, rest = shown.text.partition("\n")
    fields, body = (first, rest) if shown.fields else ("", shown.text)
    return RecordBlock(
        title=shown.title,
        address=shown.id if with_catalogue else shown.id.removeprefix(f"{shown.catalogue}/"),
        label=label,
        fields=fields,
        names=tuple(shown.fields),
        body=body,
    )


def label_in_words(label: str | None) -> str:
    """Return a label of relevance in words; empty where a record does not answer."""
    return label.replace("_", " ").lower() if label else ""


def print_blocks(blocks: Iterable[RecordBlock]) -> None:
    """Print records, numbered."""
    console = Console(file=terminal_stream(), highlight=False, markup=False, emoji=False)
    width = console.width if console.is_terminal and console.width >= NARROWEST else None
    for number, block in enumerate(blocks, 1):
        for line in _lines(f"{number}.".ljust(len(INDENT)), block, console, width):
            console.print(line, soft_wrap=True)


def _lines(place: str, block: RecordBlock, console: Console, width: int | None) -> Iterator[Text]:
    first = Text.assemble(place, (safe_line(block.title), "bold"), (f" [{safe_line(block.address)}]", "dim"))
    yield first.append(f"  {block.label}", "green") if block.label else first
    if block.fields:
        yield from _folded(_fields_text(block), console, width)
    if block.body:
        body = Text(safe_line(block.body))
        if width is not None:
            body.truncate(width - len(INDENT), overflow="ellipsis")
        yield Text(INDENT) + body


def _fields_text(block: RecordBlock) -> Text:
    text = Text(safe_line(block.fields))
    for name in block.names:
        text.highlight_regex(rf"(?:(?<=^)|(?<={BETWEEN_FIELDS})){re.escape(name)}: ", "cyan")
    return text


def _folded(text: Text, console: Console, width: int | None) -> Iterator[Text]:
    lines = [text] if width is None else text.wrap(console, width - len(INDENT))
    for line in lines:
        yield Text(INDENT) + line
