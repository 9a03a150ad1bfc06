"""Answers about records as the terminal shows them: hits, notes on them, and figures."""

import re
from collections.abc import Iterable, Iterator

import click
from rich.console import Console
from rich.text import Text

from stackroom.cli.output import print_as_json, print_table, shortened
from stackroom.generic.aggregate import FIGURES, AggregateParts, lacking_text
from stackroom.generic.record_text import BETWEEN_FIELDS
from stackroom.generic.shapes import SearchResult, ShownRecord
from stackroom.model.hits import Evidence
from stackroom.text.safe import safe_line, terminal_stream
from stackroom.tools.spec import VERDICTS

NOT = "not-"
ARGUMENT = re.compile(r"\b(filters|exclude)\.(?=\w)")
INDENT = "   "
TITLE_CHARS = 40
NARROWEST = 40  # the width from which a terminal is wide enough to fold lines to it


def with_options(text: str) -> str:
    """Return a message or a note with the options that its arguments were given by."""
    return ARGUMENT.sub(lambda found: "--" if found[1] == "filters" else f"--{NOT}", text)


def print_results(found: SearchResult, *, is_listed: bool, with_names: bool) -> None:
    """Print what a search found, and how sure it is."""
    verdicts = [note for note in found.notes if note in VERDICTS]
    for verdict in verdicts:
        click.echo(verdict if found.results else "Nothing was found.")
    labelled = [
        (result, (result.relevance or "").replace("_", " ").lower()) for result in found.results
    ]
    print_records(labelled, with_catalogue=with_names)
    shown, answering = len(labelled), sum(bool(label) for _, label in labelled)
    if shown and (is_listed or found.only_orders):
        click.echo(f"{shown} of {found.total} records")
    elif shown and found.evidence is Evidence.NONE:
        click.echo(f"evidence: {found.evidence}")
    elif shown:
        others = f", {shown - answering} more near" if answering < shown else ""
        click.echo(f"{answering} of {found.total} that answer{others}; evidence: {found.evidence}")
    if found.left_out and found.left_out.adult:
        click.echo(f"{found.left_out.adult} adult records are left out; --adult lists them too")
    for note in found.notes:
        if note not in verdicts:
            click.echo(with_options(note))


def print_records(labelled: Iterable[tuple[ShownRecord, str]], *, with_catalogue: bool) -> None:
    """Print records, numbered: title, id and label on the first line, then telling fields and the
    body text.
    """
    console = Console(file=terminal_stream(), highlight=False, markup=False, emoji=False)
    width = console.width if console.is_terminal and console.width >= NARROWEST else None
    for number, (shown, label) in enumerate(labelled, 1):
        address = shown.id if with_catalogue else shown.id.removeprefix(f"{shown.catalogue}/")
        place = f"{number}.".ljust(len(INDENT))
        first = Text.assemble(
            place, (safe_line(shown.title), "bold"), (f" [{safe_line(address)}]", "dim")
        )
        console.print(first.append(f"  {label}", "green") if label else first, soft_wrap=True)
        for line in _lines(shown, console, width):
            console.print(line, soft_wrap=True)


def _lines(shown: ShownRecord, console: Console, width: int | None) -> Iterator[Text]:
    """Yield the lines below the title of a record; on a terminal they are as wide as that."""
    if told := shown.line():
        text = Text(safe_line(told))
        for name in shown.fields:
            text.highlight_regex(rf"(?:(?<=^)|(?<={BETWEEN_FIELDS})){re.escape(name)}: ", "cyan")
        lines = [text] if width is None else text.wrap(console, width - len(INDENT))
        yield from (Text(INDENT) + line for line in lines)
    if shown.text:
        line = Text(safe_line(shown.text))
        if width is not None:
            line.truncate(width - len(INDENT), overflow="ellipsis")
        yield Text(INDENT) + line


def show_figures(found: AggregateParts) -> None:
    """Print the figures of all records, of groups, and the records at the ends."""
    if print_as_json(found.model_dump(mode="json")):
        return
    groups, overall = found.groups or [], found.overall
    if overall is None:
        return
    known = "" if overall.known is None else f", {overall.known} with {found.of}"
    click.echo(f"{overall.count} records{known}")
    of_all = []
    for name in FIGURES:
        record, figure = getattr(overall, f"{name}_record", None), getattr(overall, name)
        told = "" if record is None else f"{shortened(record.title, TITLE_CHARS)} [{record.id}]"
        of_all += [] if figure is None else [(name, figure, told)]
    if of_all:
        print_table((found.number_in_words, "", ""), of_all)
    if groups:
        figures = [
            name for name in FIGURES if any(getattr(one, name) is not None for one in groups)
        ]
        rows = [
            (*one.values.values(), one.count, *(getattr(one, name) for name in figures))
            for one in groups
        ]
        shown = [["" if value is None else value for value in row] for row in rows]
        print_table((*groups[0].values, "count", *figures), shown)
    if found.ranked:
        print_table(
            (found.number_in_words, "title", "id"),
            [(one.value, one.title, one.id) for one in found.ranked],
        )
    if found.group_count is not None:
        of_what = "groups" if groups else "records"
        click.echo(
            f"{len(groups) + len(found.ranked or ())} of {found.group_count} {of_what}; more with"
            " --limit"
        )
    for name, count in found.without.items():
        click.echo(lacking_text(name, count).strip())
