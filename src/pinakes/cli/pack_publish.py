"""`pack publish`: a pack as the next release in a folder."""

from datetime import UTC, datetime
from pathlib import Path

import click

from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.signing_key import signer_of
from pinakes.packs.releases.mirror import mirror_releases
from pinakes.packs.releases.places import open_place
from pinakes.packs.releases.publishing import DELTAS, Publication, PublishOptions, publish_pack
from pinakes.settings import load_settings

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("publish")
@click.argument("pack", type=FOLDER)
@click.argument("folder", type=FOLDER)
@click.option("--tag", default="", help="The name of the release; by default its version.")
@click.option("--notes", default="", help="A text about the release, for people.")
@click.option("--sign-with", type=click.Path(path_type=Path), metavar="FILE", help="A secret key to sign it with.")
@click.option(
    "--deltas",
    default=DELTAS,
    show_default=True,
    type=click.IntRange(0, 50),
    help="From how many earlier releases there is a short way to this one.",
)
@click.option("--keep", type=click.IntRange(1), help="Remove the oldest releases beyond so many.")
@click.option(
    "--after",
    "place",
    metavar="PLACE",
    help="First bring the last releases of a place into FOLDER, which is new: a folder, URL or github:OWNER/REPO.",
)
@json_option
def publish_release_command(
    pack: Path,
    folder: Path,
    tag: str,
    notes: str,
    sign_with: Path | None,
    deltas: int,
    keep: int | None,
    place: str | None,
    as_json: bool,
) -> None:
    """Add PACK as a release to FOLDER, which any web server can serve, and catalogues are installed from.

    Only blocks that no earlier release has are written, and readers find the releases before or the new one. A pack
    that is the newest release already is left alone. The files to upload elsewhere are listed with --json.

    Example: pinakes pack publish films-pack /srv/films --sign-with films.key --keep 12
    """
    if place is not None:
        brought = mirror_releases(open_place(place, load_settings()), folder, count=max(deltas, 1))
        click.echo(f"releases before: {', '.join(brought) or 'none'}", err=True)
    options = PublishOptions(tag=tag, notes=notes, deltas=deltas, keep=keep)
    sign = signer_of(sign_with) if sign_with else None
    published = publish_pack(pack, folder, published_at=datetime.now(UTC), sign=sign, options=options)
    if as_json:
        print_json(_as_json(published))
    else:
        click.echo(_summary(published, folder))


def _as_json(published: Publication) -> dict[str, object]:
    manifest = published.manifest
    return {
        "catalogue": manifest.catalogue,
        "version": manifest.version,
        "tag": published.tag,
        "content": manifest.content,
        "published": bool(published.files),
        "files": [str(path) for path in published.files],
        "size_bytes": published.size_bytes,
        "deltas": [{"base": delta.base, "size_bytes": delta.block.size_bytes} for delta in manifest.deltas],
        "removed": list(published.removed),
    }


def _summary(published: Publication, folder: Path) -> str:
    manifest = published.manifest
    name = f"{manifest.catalogue} {manifest.version}"
    removed = f"; removed: {', '.join(published.removed)}" if published.removed else ""
    if not published.files:
        return f"{name} is the newest release of {folder} already{removed}"
    size = f"{len(published.files)} new files, {published.size_bytes / 1e6:,.1f} MB"
    short = f"; deltas from {len(manifest.deltas)} earlier releases" if manifest.deltas else ""
    return f"{name} is published in {folder}: {size}{short}{removed}"
