"""`new` and `packages`: write a catalogue package to start from, and list those that are
installed.
"""

import keyword
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

import click

from stackroom.cli.output import FILE, command, json_option, print_as_json
from stackroom.errors import InputError
from stackroom.library import require_name
from stackroom.packages import PACKAGES
from stackroom.tools.operation import Rest

TEMPLATE = files("stackroom.cli") / "new_package"
# of a template's file, so that no tool takes it for code; the written file is named without it
ENDING = ".txt"
MODULE_FOLDER = "module"  # the folder that is written under the name of the module


@command("new")
@click.argument("name")
@click.option("--output", type=FILE, help="The folder to write; by default ./NAME.")
def new_command(name: str, output: Path | None) -> None:
    """Write a catalogue package called NAME: a declaration, sample data, a tool, an endpoint, a job
    and a test.
    """
    require_name(name)
    module = name.replace("-", "_")
    if not module.isidentifier() or keyword.iskeyword(module):
        raise InputError(
            f"'{name}' cannot name a Python module; begin with a letter, and avoid Python's"
            " keywords"
        )
    if name in PACKAGES.names:
        raise InputError(f"a catalogue package '{name}' is installed already; choose another name")
    found = find_spec(module)
    # without an origin, it is only a folder of this name
    if found is not None and found.origin is not None:
        raise InputError(
            f"'{module}' is a Python module that is installed already; choose another name"
        )
    folder = output or Path(name)
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: the folder is not empty; choose another --output")
    names = {
        "name": name,
        "module": module,
        "title": name.replace("-", " ").replace("_", " ").capitalize(),
    }
    with as_file(TEMPLATE) as root:
        for path in root.rglob(f"*{ENDING}"):
            written = str(path.relative_to(root)).removesuffix(ENDING)
            target = folder / written.replace(MODULE_FOLDER, module, 1)
            text = Template(path.read_text(encoding="utf-8")).substitute(names)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            except OSError as error:
                raise InputError(
                    f"{target}: cannot be written: {error.strerror}; choose another --output"
                ) from error
    click.echo(f"written: {folder}")
    # pip takes a bare name for one of the package index
    place = folder if folder.is_absolute() else f"./{folder}"
    click.echo(f"install it: pip install {place}")
    click.echo(f"build it:   stackroom add {folder / module / 'sample.jsonl'} --as {name}")


@click.command("packages")
@json_option
def packages_command() -> None:
    """List the catalogue packages that are installed, and what each adds: tools, endpoints, samples
    and sources.
    """
    rows: list[dict[str, Any]] = [
        {
            "name": package.name,
            "from": PACKAGES.find_origin(package.name),
            "summary": package.spec.summary,
            "tools": [tool.name for tool in package.tools(())],
            "endpoints": [
                one.faces.rest.address
                for one in package.endpoints()
                if isinstance(one.faces.rest, Rest)
            ],
            "samples": [sample.name for sample in package.samples],
            "sources": [f"{prefix}:QUERY" for prefix in package.providers],
        }
        for package in PACKAGES.iter_packages()
    ]
    if print_as_json(rows):
        return
    for row in rows:
        click.echo(f"{row['name']} ({row['from']}): {row['summary']}")
        for part in ("tools", "endpoints", "samples", "sources"):
            if row[part]:
                click.echo(f"  {part}: {', '.join(row[part])}")
