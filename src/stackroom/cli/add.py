"""`add`: build a catalogue from a table, or update it; the inferred spec is shown before anything
is built.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from stackroom.assembly.build import (
    Order,
    Recipe,
    add_catalogue,
    find_own_recipe,
    own_recipe,
    read_order,
)
from stackroom.assembly.model_choice import find_brought_model, want_model
from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.infer.declare import NO_CHOICES, Choices
from stackroom.cli.move import place_at, place_options
from stackroom.cli.output import (
    FILE,
    command,
    flag,
    json_option,
    print_as_json,
    print_table,
    shortened,
    wants_json,
)
from stackroom.cli.progress import build_progress, summary
from stackroom.cli.table_options import choice_options, read_options
from stackroom.cli.workshop import open_workshop, require_model
from stackroom.errors import (
    ExpectedError,
    InputError,
    InterruptedByUser,
    ModelError,
    UnavailableError,
    list_some,
)
from stackroom.generic.record_text import field_line, telling_of
from stackroom.ingest.pipeline import IngestReport, Progress
from stackroom.ingest.proposal import Proposal, profile_table
from stackroom.ingest.renamed_columns import find_renamed_columns, with_columns
from stackroom.model.scope import WHOLE
from stackroom.net.addresses import shown_address
from stackroom.packages import load_target
from stackroom.shelf.embedded.index_process import prepare_indexing
from stackroom.sources.compressed import find_path
from stackroom.sources.location import ReadOptions
from stackroom.text.safe import safe_line

LINE_LENGTH = 160
SHOWN_LEFT_OUT = 80
LARGE_BYTES = 2_000_000
"""The size of a file from which the process that indexes its records is started while its spec is
inferred.
"""
PLAN = "stackroom.assembly.update_plan:plan_update"
"""Loaded for --plan: it makes a copy of the catalogue, as backups do."""
FIELD_HEADINGS = ("field", "type", "for", "because")


def print_proposal(proposal: Proposal) -> None:
    """Print an inferred spec: id, title, fields, the columns left out and why, and the first
    records.
    """
    inferred = proposal.inferred
    id_line = f"'{inferred.id_column}'" if inferred.id_column else "made of the row's values"
    if inferred.group:
        id_line = f"'{inferred.group}': all rows with the same value are one record"
    click.echo(safe_line(f"id:    {id_line}"))
    click.echo(safe_line(f"title: '{inferred.fields[0].column}'"))
    print_table(
        FIELD_HEADINGS, [(one.name, one.type, one.uses, one.reason) for one in inferred.fields]
    )
    for note in (*inferred.notes, *_left_out(inferred.left_out), *proposal.notes):
        click.echo(safe_line(note))
    click.echo("first records, as an assistant sees them:")
    spec, has_ids = proposal.loaded.spec, inferred.id_column or inferred.group
    for number, record in enumerate(proposal.records, start=1):
        shown_id = f" [{record.id}]" if has_ids else ""
        telling = telling_of(spec, record.kind)
        fields = field_line(record, spec, telling.fields_of(record))
        told = f"{fields}\n{telling.snippet_of(record)}".strip()
        line = f"{number}. {spec.title_of(record)}{shown_id}  {told}"
        click.echo(safe_line(shortened(line, LINE_LENGTH)))
    if inferred.verdict:
        click.echo(safe_line(f"is it a catalogue? {inferred.verdict}"))


def _left_out(columns: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a line for each reason with the columns that have no field for it, up to a limit of
    names.
    """
    by_reason: dict[str, list[str]] = {}
    for column, reason in columns:
        by_reason.setdefault(reason, []).append(f"'{column}'")
    for reason, names in by_reason.items():
        yield f"left out: {list_some(names, SHOWN_LEFT_OUT)}: {reason}"


@command("add")
@click.argument("locations", metavar="LOCATION", nargs=-1, required=True)
@click.option(
    "--as",
    "spec_name",
    help="The catalogue package whose layout the rows have; folders have a default one.",
)
@click.option("--spec", "spec_file", type=FILE, help="A catalogue.toml that declares the fields.")
@click.option(
    "--name", help="The catalogue's name; by default that of the package or spec, or of the file."
)
@read_options
@flag("--yes", help="Build without confirmation of the inferred spec.")
@flag("--accept-losses", help="Build although rows or letters cannot be read, also with --yes.")
@flag("--no-embed", help="Embed nothing: existing vectors stay, new records have none.")
@click.option(
    "--model",
    help="The model to embed it with, from now on; by default that of the spec or the settings.",
)
@flag("--replace", help="The table takes the place of the only one that the catalogue has.")
@flag("--plan", help="Say what an update would change, with examples, and change nothing.")
@flag("--force", help="Update a graded catalogue even if it answers worse than before.")
@click.option(
    "--to",
    "target",
    help="Keep the records of a new catalogue in a database: postgresql://USER@HOST/DATABASE.",
)
@place_options
@choice_options
@json_option
def add_command(
    locations: tuple[str, ...],
    spec_name: str | None,
    spec_file: Path | None,
    name: str | None,
    options: ReadOptions,
    yes: bool,
    accept_losses: bool,
    no_embed: bool,
    model: str | None,
    replace: bool,
    plan: bool,
    force: bool,
    target: str | None,
    schema: str | None,
    search_there: bool,
    choices: Choices,
) -> None:
    """Build a catalogue from LOCATION, or update it."""
    workshop = open_workshop()
    order = read_order(
        workshop, locations, spec_name=spec_name, spec_file=spec_file, name=name, options=options
    )
    store = place_at(target, order.name, schema, search_there=search_there)
    recipe = _settle(workshop, order, choices, show=not wants_json(), ask=not yes)
    if recipe is None:
        click.echo(
            "nothing was built; --title, --type and the like change the spec, or write it to a"
            f" file: stackroom spec infer {shown_address(order.location)} --output catalogue.toml"
        )
        return
    losses = None if accept_losses else order.source.measure_losses()
    if (
        losses
        and losses.are_grave
        and (yes or not _agrees(f"{losses}. Build it without them?", default=False))
    ):
        raise InputError(
            f"{shown_address(order.location)}: {losses}; nothing was built. Mend the file, or say"
            " how it is read (--skip, --encoding); to build it without them: --accept-losses"
        )
    if plan:
        made = load_target(PLAN)(
            workshop, order.source, recipe=recipe, name=order.name, replaces=replace
        )
        _print_plan(made)
        return
    spec, is_own = recipe.loaded.spec, recipe.is_own
    model = model or find_brought_model(workshop, order.name, order.source, spec, is_own=is_own)
    if not no_embed:
        installed = workshop.library.find_installed(order.name)
        require_model(workshop, want_model(workshop, spec, installed, asked=model, is_own=is_own))
    with _reporting(workshop, order) as report_progress:
        report = add_catalogue(
            workshop,
            order.source,
            recipe=recipe,
            name=order.name,
            progress=report_progress,
            embed=not no_embed,
            replaces_samples=True,
            model=model,
            force=force,
            replaces=replace,
            store=store,
        )
    _print_report(order.name, report)


def _settle(
    workshop: Workshop, order: Order, choices: Choices, *, show: bool, ask: bool
) -> Recipe | None:
    """Return the recipe that is given, that the catalogue has, or that the user agrees to; None
    where they decline.
    """
    if order.recipe is not None:
        if choices != NO_CHOICES:
            raise InputError(
                "--title, --id, --type and the like are for a spec that is inferred; with --as or"
                " --spec, change the spec"
            )
        return order.recipe
    own = find_own_recipe(workshop, order.name) if choices == NO_CHOICES else None
    if own is None:
        # its spec keeps its name when it is renamed
        known = workshop.library.find_installed(order.name)
        name = known.spec_name if known and known.own_declaration else order.name
        return _proposed_recipe(order, choices, name=name, show=show, ask=ask)
    # Where columns were renamed, the recipe is changed as the user agrees to.
    renamed = find_renamed_columns(
        workshop, order.source, workshop.library.get_installed(order.name), own.loaded.spec
    )
    if not renamed:
        return own
    if show:
        told = (
            f"'{column}' looks like the column of '{name}' renamed"
            for name, column in renamed.items()
        )
        click.echo(safe_line("; ".join(told)))
    if ask and not (show and _agrees("Change the spec accordingly?", default=True)):
        return own
    return own_recipe(with_columns(own.loaded, renamed))


def _agrees(question: str, *, default: bool) -> bool:
    """Ask on a terminal; nobody agrees where there is none."""
    return sys.stdin.isatty() and click.confirm(question, default=default)


@contextmanager
def _reporting(workshop: Workshop, order: Order) -> Iterator[Progress]:
    """Show the progress of a build; of one that is stopped, or whose embedder fails, say what there
    is.
    """
    searchable = f'search it now: stackroom search {order.name} "..."'
    total = order.source.count_rows()
    try:
        with build_progress(order.name, total=total, when_searchable=searchable) as report_progress:
            yield report_progress
    except KeyboardInterrupt as error:
        there = describe_built(workshop, order.name)
        raise InterruptedByUser(f"stopped; everything finished so far is kept: {there}") from error
    except (ModelError, UnavailableError):
        click.echo(f"stackroom: {describe_built(workshop, order.name)}", err=True)
        raise


def describe_built(workshop: Workshop, name: str) -> str:
    """Say in a sentence what can be searched of a catalogue whose build has not finished, and how
    to go on.
    """
    again = "to go on, run the same command again"
    try:
        with closing(workshop.open_shelf(workshop.library.get_installed(name))) as shelf:
            reader = shelf.reader()
            records, awaiting = reader.count(WHOLE), reader.awaiting_vectors
    except ExpectedError:
        return f"'{name}' cannot be searched before all its rows are read; {again}"
    by_meaning = f", {records - awaiting:,} of them by meaning" if reader.model else ""
    return f"the {records:,} records of '{name}' can be searched by words{by_meaning}; {again}"


def _proposed_recipe(
    order: Order, choices: Choices, *, name: str, show: bool, ask: bool
) -> Recipe | None:
    """Return the recipe inferred from the rows, as the user agrees to it; None where they
    decline.
    """
    if ask and not (show and sys.stdin.isatty()):
        raise InputError(
            "the inferred spec cannot be confirmed without a terminal; give --yes to build with it,"
            " or see it first: stackroom spec infer"
        )
    if (
        (path := find_path(order.location))
        and path.is_file()
        and path.stat().st_size >= LARGE_BYTES
    ):
        prepare_indexing()
    proposal = profile_table(order.source).propose(name=name, choices=choices)
    if show:
        print_proposal(proposal)
    is_agreed = not ask or click.confirm("Build it?", default=True)
    return own_recipe(proposal.loaded) if is_agreed else None


def _print_plan(plan: dict[str, Any]) -> None:
    if print_as_json(plan):
        return
    counts = ("added", "changed", "removed", "unchanged", "rejected")
    click.echo("it would be: " + ", ".join(f"{plan[name]:,} {name}" for name in counts))
    for one in plan["examples"]:
        fields = "; ".join(
            f"{field['field']}: {field['before']} → {field['after']}" for field in one["fields"]
        )
        click.echo(
            safe_line(shortened(f"{one['op']} {one['title']} {fields}".rstrip(), LINE_LENGTH))
        )
    for place, reason in plan["rejects"]:
        click.echo(safe_line(f"left out: {place}: {reason}"))


def _print_report(name: str, report: IngestReport) -> None:
    if print_as_json({"catalogue": name, **asdict(report)}):
        return
    click.echo(summary(report))
    for note in report.notes:
        click.echo(f"note: {note}")
    if report.rejects:
        has_rejected = report.rejected or report.duplicates
        click.echo(f"{'rejected rows' if has_rejected else 'left out'}: stackroom rejects {name}")
    elif report.cells or report.dangling:
        click.echo(
            f"{'cells left out' if report.cells else 'rows with such ids'}: stackroom rejects"
            f" {name}"
        )
    click.echo(f'search it: stackroom search {name} "..."')
    click.echo(f"serve it:  stackroom serve {name}")
