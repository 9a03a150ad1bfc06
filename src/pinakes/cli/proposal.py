"""The printed form of an inferred spec, before anything is built."""

from collections.abc import Iterator, Sequence

import click

from pinakes.assembly.proposal import Proposal
from pinakes.catalogue.spec import texts_of
from pinakes.cli.tables import print_table, shortened
from pinakes.sources.port import RowSource
from pinakes.sources.sqlite_rows import SqliteRows

SHOWN_LENGTH = 40
SHOWN_LEFT_OUT = 10


def print_proposal(proposal: Proposal, source: RowSource) -> None:
    """Print an inferred spec: its fields, the columns left out, and the first records."""
    inferred = proposal.inferred
    print_table(
        ("field", "type", "for", "because"),
        [(field.name, field.type, field.uses, field.reason) for field in inferred.fields],
    )
    for note in (*inferred.notes, *_left_out(inferred.left_out), *_other_tables(source)):
        click.echo(note)
    _print_records(proposal)


def _left_out(columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a line per column without a field, up to a limit."""
    for column, reason in columns[:SHOWN_LEFT_OUT]:
        yield f"left out: '{column}': {reason}"
    if len(columns) > SHOWN_LEFT_OUT:
        yield f"left out: {len(columns) - SHOWN_LEFT_OUT} more columns"


def _other_tables(source: RowSource) -> Iterator[str]:
    if isinstance(source, SqliteRows) and source.other_tables:
        yield f"also in the file: {', '.join(source.other_tables)}; choose with --table"


def _print_records(proposal: Proposal) -> None:
    """Print the first records as the spec maps them, side by side."""
    records = proposal.records
    rows: list[tuple[str, ...]] = [("id", *(record.id for record in records))]
    for field in proposal.inferred.fields:
        values = [", ".join(texts_of(record.get(field.name))) for record in records]
        rows.append((field.name, *(shortened(value, SHOWN_LENGTH) for value in values)))
    print_table(("", *(f"record {number}" for number in range(1, len(records) + 1))), rows, title="\nfirst records")
