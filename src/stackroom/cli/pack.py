"""`pack build|publish|verify`: catalogues as files to ship."""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from stackroom.assembly.app import App
from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_json
from stackroom.cli.private_files import sharing
from stackroom.cli.progress import progress_line
from stackroom.errors import InputError
from stackroom.model.scope import WHOLE
from stackroom.packs.build import build_pack, label_installed
from stackroom.packs.held import shown_size
from stackroom.packs.manifest import Manifest, load_manifest
from stackroom.packs.publish import PublishedRelease, publish_pack
from stackroom.packs.signing import load_public_key
from stackroom.packs.verify import check_pack, check_signature

FOLDER = click.Path(path_type=Path)


@click.group("pack")
def pack_command() -> None:
    """Build, check and publish packs: catalogues as files to ship.

    A pack is a folder: a manifest, and the records, vectors and spec of a catalogue in files that other programs read.
    The same catalogue always gives the same files. Releases are made of packs, and installed with: stackroom init NAME
    --from URL
    """


@pack_command.command("build")
@click.argument("catalogue")
@click.argument("folder", type=FOLDER)
@click.option("--version", help="The version, such as 2026.46; by default the one of the pack there, counted up.")
@click.option("--licence", help="The licence of the data, such as CC0-1.0; by default that of the pack there.")
@json_option
def build_command(catalogue: str, folder: Path, version: str | None, licence: str | None, as_json: bool) -> None:
    """Write the pack of CATALOGUE as it is now into FOLDER.

    FOLDER is new, empty, or has an earlier pack of the catalogue, which is replaced. All records are written,
    restricted ones too. To sign it: minisign -Sm FOLDER/manifest.json

    Example: stackroom pack build films films-pack --version 2026.46 --licence CC0-1.0
    """
    with sharing(folder):
        manifest = _build(open_app(), catalogue, folder, version=version, licence=licence, is_quiet=as_json)
    if as_json:
        print_json({"folder": str(folder), **asdict(manifest), "size_bytes": manifest.size_bytes})
        return
    click.echo(_summary(manifest))
    if (awaiting := manifest.records - manifest.embeddings) and manifest.model:
        click.echo(f"note: {awaiting:,} records have no vector, or no text to embed")
    click.echo(f"written to {folder}")


@pack_command.command("publish")
@click.argument("pack", type=FOLDER)
@click.argument("folder", type=FOLDER)
@json_option
def publish_release_command(pack: Path, folder: Path, as_json: bool) -> None:
    """Add PACK as a release to FOLDER, which any web server can serve, and catalogues are installed from.

    The signature of the pack is published with it, if minisign has signed it. Readers find the releases before or the
    new one. A pack that is the newest release already is left alone. The files to upload elsewhere are listed with
    --json.

    Example: stackroom pack publish films-pack /srv/films
    """
    published = publish_pack(pack, folder)
    if as_json:
        print_json(_publication_json(published))
    else:
        click.echo(_publication_summary(published, folder))


@pack_command.command("verify")
@click.argument("folder", type=FOLDER)
@click.option("--key", metavar="KEY", help="The public key that must have signed it: RW…, or its file.")
@json_option
def verify_command(folder: Path, key: str | None, as_json: bool) -> None:
    """Check every file of the pack in FOLDER; the exit code is 1 where something is wrong.

    The manifest is checked by its own checksum, and with --key by its signature; every file by its checksum and by its
    content.
    """
    public = load_public_key(key) if key else None
    problems = [*check_pack(folder), *(check_signature(folder, public) if public else ())]
    if as_json:
        print_json({"folder": str(folder), "whole": not problems, "problems": problems})
    for problem in () if as_json else problems:
        click.echo(f"BAD  {problem}")
    if problems:
        sys.exit(1)
    if not as_json:
        signed = f", signed by {public.name}" if public else ""
        click.echo(f"whole{signed}: {_summary(load_manifest(folder))}")


def _build(
    app: App, catalogue: str, folder: Path, *, version: str | None, licence: str | None, is_quiet: bool
) -> Manifest:
    """Build a pack, and show how many records were written."""
    if folder.resolve().is_relative_to(app.library.folder.resolve()):
        raise InputError(f"{folder} is inside the library; give a folder elsewhere")
    installed = app.library.get_installed(catalogue)
    reader = app.open_catalogue(catalogue).shelf.reader()
    label = label_installed(installed, app.spec_of(installed), reader, version=version, licence=licence)
    with progress_line(catalogue, hidden=is_quiet) as line:
        count = partial(line.add, "records written", total=reader.count(WHOLE))
        return build_pack(reader, label, folder, progress=count)


def _publication_json(release: PublishedRelease) -> dict[str, object]:
    return {
        "catalogue": release.manifest.catalogue,
        "version": release.manifest.version,
        "tag": release.tag,
        "content": release.manifest.content,
        "published": release.is_new,
        "files": [str(path) for path in release.files] if release.is_new else [],
        "size_bytes": release.size_bytes,
    }


def _publication_summary(release: PublishedRelease, folder: Path) -> str:
    name = f"{release.manifest.catalogue} {release.manifest.version}"
    if not release.is_new:
        return f"{name} is the newest release of {folder} already"
    patches = f", {len(release.patches)} of them patches" if release.patches else ""
    size = f"{len(release.files)} files{patches}, {shown_size(release.size_bytes)}"
    return f"{name} is published in {folder}: {size}"


def _summary(manifest: Manifest) -> str:
    vectors = f", {manifest.embeddings:,} vectors by {manifest.model}" if manifest.model else ", no vectors"
    size = shown_size(manifest.size_bytes)
    return f"{manifest.catalogue} {manifest.version}: {manifest.records:,} records{vectors}; {size}"
