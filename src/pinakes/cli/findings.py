"""What a check found, as commands tell it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from pinakes.cli.json_output import print_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was looked at, what was found, and whether it is well."""

    what: str
    found: str
    ok: bool


def print_findings(findings: Sequence[Finding]) -> None:
    """Print a line for each finding."""
    for one in findings:
        click.echo(f"{'ok ' if one.ok else 'BAD'} {one.what}: {one.found}")


def report_findings(ctx: click.Context, findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print findings, and end with exit code 1 where something is wrong."""
    if as_json:
        print_json([asdict(one) for one in findings])
    else:
        print_findings(findings)
    if not all(one.ok for one in findings):
        ctx.exit(1)
