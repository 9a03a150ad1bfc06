"""The printed form of an inferred spec, before anything is built."""

from collections.abc import Iterator, Sequence

import click

from stackroom.assembly.proposal import Proposal
from stackroom.catalogue.infer.declare import Inferred
from stackroom.catalogue.infer.fields import InferredField
from stackroom.cli.tables import print_table, shortened
from stackroom.text.safe import safe_line
from stackroom.tools.record_text import summary_of, told_fields

LINE_LENGTH = 160
SHOWN_LEFT_OUT = 10
LINES_AFTER_A_CHANGE = 3
FIELD_HEADINGS = ("field", "type", "for", "because")


def print_proposal(proposal: Proposal) -> None:
    """Print an inferred spec: id, title, fields, the columns left out and why, and the first records."""
    inferred = proposal.inferred
    for line in _naming(inferred):
        click.echo(line)
    print_table(FIELD_HEADINGS, [_field_row(field) for field in inferred.fields])
    for note in (*inferred.notes, *_left_out(inferred.left_out), *proposal.notes):
        click.echo(safe_line(note))
    _print_records(proposal, len(proposal.records))
    for line in _judgement(inferred):
        click.echo(safe_line(line))


def print_changed(before: Proposal, after: Proposal) -> None:
    """Print how a proposal differs from the one before: its id and title, its fields, and the first records."""
    old, new = before.inferred, after.inferred
    for line in _naming(new):
        if line not in _naming(old):
            click.echo(line)
    rows = [_field_row(field) for field in new.fields if field not in old.fields]
    if rows:
        print_table(FIELD_HEADINGS, rows)
    for note in (*new.notes, *_left_out(new.left_out)):
        if note not in (*old.notes, *_left_out(old.left_out)):
            click.echo(safe_line(note))
    _print_records(after, LINES_AFTER_A_CHANGE)


def _naming(inferred: Inferred) -> list[str]:
    """Return the lines that say how records are identified and named."""
    title = inferred.fields[0]
    id_line = f"'{inferred.id_column}'" if inferred.id_column else "made of the row's values"
    if inferred.group:
        id_line = f"'{inferred.group}': all rows with the same value are one record"
    return [safe_line(f"id:    {id_line}"), safe_line(f"title: '{title.column}'")]


def _judgement(inferred: Inferred) -> Iterator[str]:
    """Yield why the table is no catalogue, if it is none, and the questions about it."""
    if inferred.verdict:
        yield f"is it a catalogue? {inferred.verdict}"
    for question in inferred.questions:
        yield f"to decide: {question.asks} Default: {question.default}; otherwise: {question.option}"


def _field_row(field: InferredField) -> tuple[str, str, str, str]:
    return field.name, field.type, field.uses, field.reason


def _left_out(columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a line per column without a field, up to a limit."""
    for column, reason in columns[:SHOWN_LEFT_OUT]:
        yield f"left out: '{column}': {reason}"
    if len(columns) > SHOWN_LEFT_OUT:
        yield f"left out: {len(columns) - SHOWN_LEFT_OUT} more columns"


def _print_records(proposal: Proposal, count: int) -> None:
    """Print the first records as an assistant sees them, a line each."""
    click.echo("first records, as an assistant sees them:")
    spec = proposal.loaded.spec
    has_ids = proposal.inferred.id_column or proposal.inferred.group
    for number, record in enumerate(proposal.records[:count], start=1):
        shown_id = f" [{record.id}]" if has_ids else ""
        told = summary_of(record, spec, told_fields(record, spec))
        line = f"{number}. {spec.title_of(record)}{shown_id}  {told}"
        click.echo(safe_line(shortened(line, LINE_LENGTH)))
