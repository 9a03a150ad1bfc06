"""`pack build|publish|verify|show|diff|export|key`: catalogues as files to ship."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from pinakes.assembly.app import App
from pinakes.assembly.packing import build_installed_pack, export_installed, pack_state
from pinakes.assembly.releases.report import shown_size
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.opening import open_app
from pinakes.cli.pack_publish import publish_release_command
from pinakes.cli.private_files import sharing
from pinakes.cli.safe_streams import terminal_stream
from pinakes.cli.signing_key import ask_password, signer_of
from pinakes.errors import ExpectedError, InputError, StorageError
from pinakes.model.scope import WHOLE
from pinakes.packs.diff import PackDiff, diff_states
from pinakes.packs.manifest import MANIFEST_FILE, SIGNATURE_FILE, Manifest, load_manifest
from pinakes.packs.signing import SecretKey, load_public_key, verify_signature
from pinakes.packs.verify import check_pack

IDS_SHOWN = 10
FOLDER = click.Path(path_type=Path)


@click.group("pack")
def pack_command() -> None:
    """Build, check, show and compare packs: catalogues as files to ship.

    A pack is a folder: a manifest, and blocks of records and vectors that are named by their checksums. The same
    catalogue always gives the same files. Releases are made of packs, and installed with: pinakes init NAME --from URL
    """


pack_command.add_command(publish_release_command)


@pack_command.command("build")
@click.argument("catalogue")
@click.argument("folder", type=FOLDER)
@click.option("--version", help="The version, such as 2026.46; by default the one of the pack there, counted up.")
@click.option("--licence", help="The licence of the data, such as CC0-1.0; by default that of the pack there.")
@click.option("--sign-with", type=FOLDER, metavar="FILE", help="A secret key of minisign or of pinakes pack key.")
@json_option
def build_command(
    catalogue: str, folder: Path, version: str | None, licence: str | None, sign_with: Path | None, as_json: bool
) -> None:
    """Write the pack of CATALOGUE as it is now into FOLDER.

    FOLDER is new, empty, or has an earlier pack of the catalogue, which is replaced; blocks that have not changed stay
    as they are. All records are written, restricted ones too. The password of a secret key is asked for, or read from
    PINAKES_SIGNING_PASSWORD.

    Example: pinakes pack build films films-pack --version 2026.46 --licence CC0-1.0
    """
    sign = signer_of(sign_with) if sign_with else None
    with sharing(folder), _progress(app := open_app(), catalogue, hidden=as_json) as progress:
        manifest = build_installed_pack(
            app, catalogue, folder, version=version, licence=licence, sign=sign, progress=progress
        )
    if as_json:
        print_json({"folder": str(folder), "signed": sign is not None, **_plain(manifest)})
        return
    click.echo(_summary(manifest))
    if (awaiting := manifest.records - manifest.embeddings) and manifest.model:
        click.echo(f"note: {awaiting:,} records have no vector, or no text to embed")
    click.echo(f"written to {folder}" + ("" if sign is None else ", signed"))


@pack_command.command("verify")
@click.argument("folder", type=FOLDER)
@click.option("--key", metavar="KEY", help="The public key that must have signed it: RW…, or its file.")
@json_option
def verify_command(folder: Path, key: str | None, as_json: bool) -> None:
    """Check every file of the pack in FOLDER; the exit code is 1 where something is wrong.

    The manifest is checked by its own checksum, and with --key by its signature; every block by its checksum and by its
    content.
    """
    problems = [*check_pack(folder), *(_check_signature(folder, key) if key else ())]
    if as_json:
        print_json({"folder": str(folder), "whole": not problems, "problems": problems})
    for problem in () if as_json else problems:
        click.echo(f"BAD  {problem}")
    if problems:
        sys.exit(1)
    if not as_json:
        signed = f", signed by {load_public_key(key).name}" if key else ""
        click.echo(f"whole{signed}: {_summary(load_manifest(folder))}")


@pack_command.command("show")
@click.argument("folder", type=FOLDER)
@json_option
def show_command(folder: Path, as_json: bool) -> None:
    """Show what the pack in FOLDER is: its catalogue, version, licence, sizes and measured quality."""
    manifest = load_manifest(folder)
    if as_json:
        print_json(_plain(manifest))
        return
    for name, value in _described(manifest, is_signed=(folder / SIGNATURE_FILE).is_file()):
        click.echo(f"{name:12} {value}")


@pack_command.command("diff")
@click.argument("old")
@click.argument("new")
@click.option("--all", "shows_all", is_flag=True, help=f"Show all ids, not the first {IDS_SHOWN}.")
@json_option
def diff_command(old: str, new: str, shows_all: bool, as_json: bool) -> None:
    """Compare two packs, or a pack and a catalogue of the library, from OLD to NEW.

    Each is the folder of a pack or the name of a catalogue. The exit code is 1 where they differ.

    Example: pinakes pack diff films-pack films
    """
    app = open_app()
    found = diff_states(*pack_state(app, old, new))
    if as_json:
        print_json({"old": old, "new": new, **asdict(found), "update_bytes": found.update_bytes})
    else:
        _print_diff(found, shown=None if shows_all else IDS_SHOWN)
    sys.exit(0 if found.is_empty else 1)


@pack_command.command("export")
@click.argument("catalogue")
@click.argument("folder", type=FOLDER)
@json_option
def export_command(catalogue: str, folder: Path, as_json: bool) -> None:
    """Write CATALOGUE into FOLDER as files that other programs read.

    manifest.json, catalogue.toml, records.jsonl.zst (one record per line) and embeddings.parquet (id, embedding), and
    the formats of its package, where it has some. All records are written, restricted ones too.
    Another library takes it with its vectors: pinakes add FOLDER
    """
    with sharing(folder), _progress(app := open_app(), catalogue, hidden=as_json) as progress:
        manifest = export_installed(app, catalogue, folder, progress=progress)
    if as_json:
        print_json({"folder": str(folder), **manifest})
        return
    click.echo(f"{manifest['records']:,} records and {manifest['embeddings']:,} vectors written to {folder}")


@pack_command.command("key")
@click.argument("file", type=FOLDER)
@click.option("--no-password", is_flag=True, help="Do not encrypt the secret key: for machines that sign unattended.")
def key_command(file: Path, no_password: bool) -> None:
    """Make a key to sign packs with: FILE, which is secret, and FILE.pub, which receivers get.

    The files are those of minisign. The password is asked for, or read from PINAKES_SIGNING_PASSWORD.
    """
    public = file.parent / f"{file.name}.pub"
    for path in (file, public):
        if path.exists():
            raise InputError(f"{path} exists; give another name, or move it away")
    password = "" if no_password else ask_password(is_new=True)
    key = SecretKey.new()
    try:
        _write_private(file, key.dump(password=password))
        public.write_bytes(key.public.dump())
    except OSError as error:
        raise StorageError(f"{error.filename}: the key cannot be written: {error.strerror}") from error
    click.echo(
        f"secret key: {file}\npublic key: {public}\nreceivers pin it: pinakes init NAME --from URL --key {key.public}"
    )


def _check_signature(folder: Path, key: str) -> Iterator[str]:
    public = str(load_public_key(key))
    try:
        content = (folder / MANIFEST_FILE).read_bytes()
        verify_signature(content, (folder / SIGNATURE_FILE).read_bytes(), public)
    except OSError as error:
        yield f"{error.filename}: cannot be read: {error.strerror}; the pack is not signed, or not whole"
    except ExpectedError as error:
        yield f"{folder / SIGNATURE_FILE}: {error.message}"


def _write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


@contextmanager
def _progress(app: App, catalogue: str, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many records were written."""
    total = app.open_catalogue(catalogue).shelf.reader().count(WHOLE)
    is_hidden = hidden or not sys.stderr.isatty()
    with click.progressbar(length=total, label=catalogue, hidden=is_hidden, file=terminal_stream(is_error=True)) as bar:
        yield bar.update


def _plain(manifest: Manifest) -> dict[str, Any]:
    """Return a manifest as JSON has it, with the blocks counted instead of listed."""
    plain = asdict(manifest)
    plain |= {name: len(plain[name]) for name in ("blocks", "deltas", "index")}
    return {**plain, "spec": {"name": manifest.spec.name, "is_package": manifest.spec.is_package}} | {
        "size_bytes": manifest.size_bytes
    }


def _summary(manifest: Manifest) -> str:
    vectors = f", {manifest.embeddings:,} vectors by {manifest.model}" if manifest.model else ", no vectors"
    size = f"{len(manifest.all_blocks)} blocks, {shown_size(manifest.size_bytes)}"
    return f"{manifest.catalogue} {manifest.version}: {manifest.records:,} records{vectors}; {size}"


def _described(manifest: Manifest, *, is_signed: bool) -> Iterator[tuple[str, object]]:
    spec = f"{manifest.spec.name}, of the package of that name" if manifest.spec.is_package else manifest.spec.name
    yield "catalogue", manifest.catalogue
    yield "version", manifest.version
    yield "spec", spec
    yield "records", f"{manifest.records:,}"
    yield "vectors", f"{manifest.embeddings:,} by {manifest.model_id}" if manifest.model else "none"
    yield "licence", manifest.licence or "not stated"
    if (quality := manifest.quality) is not None:
        interval = f"[{quality.ndcg_10_low:.3f}, {quality.ndcg_10_high:.3f}]"
        yield "quality", f"nDCG@10 {quality.ndcg_10:.3f} {interval} on {quality.questions} of its own questions"
    yield "size", f"{shown_size(manifest.size_bytes)} in {len(manifest.all_blocks)} blocks"
    yield "content", manifest.content
    yield "signed", "yes; pinakes pack verify --key KEY checks by whom" if is_signed else "no"


def _print_diff(found: PackDiff, *, shown: int | None) -> None:
    click.echo(f"records {found.records_before:,} → {found.records_after:,}, ", nl=False)
    click.echo(f"vectors {found.embeddings_before:,} → {found.embeddings_after:,}")
    for name in ("added", "changed", "removed"):
        ids = getattr(found, name)
        listed = ", ".join(ids[:shown])
        more = ", …" if shown is not None and len(ids) > shown else ""
        click.echo(f"{name} {len(ids):,}" + (f": {listed}{more}" if ids else ""))
    click.echo(f"spec {'changed' if found.is_spec_changed else 'the same'}")
    click.echo(f"an update moves {shown_size(found.update_bytes)}")
