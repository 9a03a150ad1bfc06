"""Records as commands print them: a block of lines for each, within the width and in colour on a terminal.

In a pipe or a file there is no colour, and no line is folded. The first line of a block has the record's place, title,
id and label, the next one its telling fields with their names, and the last one the beginning of its body text.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.cli.safe_streams import terminal_stream
from pinakes.model.hits import Label
from pinakes.model.record import Record
from pinakes.text.safe import safe_line
from pinakes.tools.budget import shorten
from pinakes.tools.record_text import BETWEEN_FIELDS, SNIPPET_CHARS, body_of, short_value, told_fields

INDENT = "   "
NARROWEST = 40
"""The width from which a terminal is wide enough to fold lines to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBlock:
    """A record to print."""

    title: str
    address: str
    label: str
    fields: tuple[tuple[str, str], ...]
    body: str


def block_of(
    record: Record, spec: CatalogueSpec, *, label: str, catalogue: str = "", asked: Collection[str] = ()
) -> RecordBlock:
    """Return the block of a record, with the fields that were asked for; its address may name the catalogue."""
    fields = told_fields(record, spec, asked=asked)
    return RecordBlock(
        title=spec.title_of(record),
        address=f"{catalogue}/{record.id}" if catalogue else str(record.id),
        label=label,
        fields=tuple((field.name, short_value(record.get(field.name), field)) for field in fields),
        body=shorten(" ".join(body_of(record, spec).split()), SNIPPET_CHARS),
    )


def label_in_words(label: Label | None) -> str:
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
    parts = [Text.assemble((f"{name}: ", "cyan"), safe_line(value)) for name, value in block.fields]
    return Text(BETWEEN_FIELDS).join(parts)


def _folded(text: Text, console: Console, width: int | None) -> Iterator[Text]:
    lines = [text] if width is None else text.wrap(console, width - len(INDENT))
    for line in lines:
        yield Text(INDENT) + line
