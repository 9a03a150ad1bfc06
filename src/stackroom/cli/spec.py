"""`spec infer|check|show|diff`: write, check, print and compare specs of catalogues."""

from dataclasses import asdict
from pathlib import Path

import click

from stackroom.assembly.build import open_rows
from stackroom.catalogue.compiler import load_spec
from stackroom.catalogue.infer.declare import Choices
from stackroom.cli.opening import open_app
from stackroom.cli.output import FILE, HELP, json_option, print_answer, print_as_json
from stackroom.cli.table_options import choice_options, read_options
from stackroom.errors import InputError, NotFoundError, did_you_mean
from stackroom.ingest.mapping import require_derivable_kinds
from stackroom.ingest.proposal import name_of, profile_table
from stackroom.net.addresses import shown_address
from stackroom.packages import PACKAGES
from stackroom.sources.location import ReadOptions


@click.group("spec")
def spec_command() -> None:
    """Make, check, show and compare the specs of catalogues."""


@spec_command.command("infer", help=HELP["spec infer"])
@click.argument("location")
@click.option("--name", help="The catalogue's name; by default after the file.")
@read_options
@click.option("--output", type=FILE, help="The file to write, instead of printing it.")
@choice_options
@json_option
def infer_command(
    location: str, name: str | None, options: ReadOptions, output: Path | None, choices: Choices
) -> None:
    """Propose a catalogue.toml for the table at LOCATION."""
    source = open_rows(None, location, options=options, workshop=open_app())
    proposal = profile_table(source).propose(
        name=name or name_of(location, table=options.table), choices=choices
    )
    inferred = proposal.inferred
    if output is not None:  # an existing file is never replaced
        try:
            with output.open("x", encoding="utf-8") as file:
                file.write(inferred.declaration)
        except FileExistsError as error:
            raise InputError(f"{output}: it is there already; choose another name") from error
        except OSError as error:
            raise InputError(
                f"{output}: cannot be written: {error.strerror}; choose another file"
            ) from error
    left_out = [{"column": column, "reason": why} for column, why in inferred.left_out]
    if print_as_json({**asdict(inferred), "left_out": left_out}):
        pass
    elif output is None:
        click.echo(inferred.declaration, nl=False)
    else:
        build = f"stackroom add {shown_address(location)} --spec {output}"
        click.echo(f"{output} has {len(inferred.fields)} fields; build with it: {build}")
    for note in (*proposal.notes, *inferred.notes):
        click.echo(note, err=True)


@spec_command.command("check")
@click.argument("file", type=FILE)
@json_option
def check_command(file: Path) -> None:
    """Check a catalogue.toml: print what it declares, or every problem with it."""
    loaded = load_spec(file)
    spec = loaded.spec
    if (
        spec.name not in PACKAGES.names
        or PACKAGES.get(spec.name).loaded.declaration != loaded.declaration
    ):
        # that of a package may have a mapping of its own
        require_derivable_kinds(spec, origin=str(file))
    parts = [
        f"{len(spec.fields)} fields",
        f"{len(spec.searched_fields)} searched",
        f"{sum(field.filter is not None for field in spec.fields.values())} filtered by",
        f"{sum(field.facet for field in spec.fields.values())} browsed",
        "embedded" if spec.embed else "not embedded",
        "recommends" if spec.recommend else "does not recommend",
    ]
    told = {
        "name": spec.name,
        "title": spec.title,
        "fields": list(spec.fields),
        "kinds": spec.kinds,
    }
    text = f"ok: '{spec.name}', titled by '{spec.title_field.name}': {', '.join(parts)}"
    print_answer(told, text)


@spec_command.command("show")
@click.argument("name")
@json_option
def show_command(name: str) -> None:
    """Show the spec of an installed catalogue, or of a catalogue package."""
    app = open_app()
    packages = app.packages.names
    if (installed := app.library.find_installed(name)) is not None:
        loaded = app.spec_of(installed)
    elif name in packages:
        loaded = app.packages.get(name).loaded
    else:
        known = sorted({*(one.name for one in app.library.list_installed()), *packages})
        raise NotFoundError(
            f"no catalogue '{name}'{did_you_mean(name, known)}; there are: {', '.join(known)}"
        )
    told = {"name": name, "spec": loaded.spec.name, "declaration": loaded.declaration}
    if not print_as_json(told):
        click.echo(loaded.declaration, nl=False)
