"""The findings of a check, as commands print them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from stackroom.cli.json_output import print_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding: the subject, its state, and whether that is in order."""

    what: str
    found: str
    ok: bool


def print_findings(findings: Sequence[Finding]) -> None:
    """Print one line per finding."""
    for one in findings:
        click.echo(f"{'ok ' if one.ok else 'BAD'} {one.what}: {one.found}")


def report_findings(ctx: click.Context, findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print the findings, and exit with code 1 if any of them is a problem."""
    if as_json:
        print_json([asdict(one) for one in findings])
    else:
        print_findings(findings)
    if not all(one.ok for one in findings):
        ctx.exit(1)
