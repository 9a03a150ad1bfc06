"""`pack build|publish|verify`: catalogues as files to ship."""

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from stackroom.cli.opening import open_app
from stackroom.cli.output import json_option, print_answer, print_json
from stackroom.cli.private_files import sharing
from stackroom.cli.progress import progress_line
from stackroom.errors import InputError
from stackroom.model.scope import WHOLE
from stackroom.packs.build import build_pack, label_installed
from stackroom.packs.held import shown_size
from stackroom.packs.manifest import Manifest, load_manifest
from stackroom.packs.patches import PATCH_ENDING
from stackroom.packs.publish import publish_pack
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
        app = open_app()
        if folder.resolve().is_relative_to(app.library.folder.resolve()):
            raise InputError(f"{folder} is inside the library; give a folder elsewhere")
        installed = app.library.get_installed(catalogue)
        reader = app.open_catalogue(catalogue).shelf.reader()
        label = label_installed(installed, app.spec_of(installed), reader, version=version, licence=licence)
        with progress_line(catalogue, hidden=as_json) as line:
            count = partial(line.add, "records written", total=reader.count(WHOLE))
            manifest = build_pack(reader, label, folder, progress=count)
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
    release = publish_pack(pack, folder)
    manifest, files = release.manifest, release.files
    count = sum(path.suffix == PATCH_ENDING for path in files)
    patches = f", {count} of them patches" if count else ""
    where = f"is published in {folder}: {len(files)} files{patches}, {shown_size(release.size_bytes)}"
    text = f"{manifest.catalogue} {manifest.version} "
    text += where if release.is_new else f"is the newest release of {folder} already"
    told = {
        "catalogue": manifest.catalogue,
        "version": manifest.version,
        "tag": release.tag,
        "content": manifest.content,
        "published": release.is_new,
        "files": [str(path) for path in files] if release.is_new else [],
        "size_bytes": release.size_bytes,
    }
    print_answer(told, text, as_json=as_json)


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
    text = "\n".join(f"BAD  {problem}" for problem in problems)
    if not problems:
        signed = f", signed by {public.name}" if public else ""
        text = f"whole{signed}: {_summary(load_manifest(folder))}"
    print_answer({"folder": str(folder), "whole": not problems, "problems": problems}, text, as_json=as_json)
    if problems:
        sys.exit(1)


def _summary(manifest: Manifest) -> str:
    vectors = f", {manifest.embeddings:,} vectors by {manifest.model}" if manifest.model else ", no vectors"
    size = shown_size(manifest.size_bytes)
    return f"{manifest.catalogue} {manifest.version}: {manifest.records:,} records{vectors}; {size}"
