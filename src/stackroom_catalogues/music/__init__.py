"""Artists, albums and tracks."""

from importlib.resources import files

from stackroom.api import CataloguePackage, Sample, deferred
from stackroom_catalogues.music.rows import MAPPING, keep_files, name_file, open_rows

FOLDER = files(__package__)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    open_rows=open_rows,
    keep_files=keep_files,
    samples=(Sample(name="music", files=FOLDER / "sample" / "library.jsonl"),),
    tools=deferred("stackroom_catalogues.music.tools:TOOLS"),
    replaces_generic_tools=True,
    own_kinds=deferred("stackroom_catalogues.music.player.own:own_kinds"),
    media=name_file,
    endpoints=deferred("stackroom_catalogues.music.subsonic.methods:ENDPOINTS"),
    server="stackroom_catalogues.music.downloads.tools:build_server_parts",
)
